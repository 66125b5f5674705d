/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/version.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "preload/libraries/math.h"

#define MAJOR_VERSION 0 /* libraryPropertyType */

/* Whether it is of the library that was asked first. */
static bool is_of_first(struct library_version *version, void *getter)
{
	void *first = NULL;

	return atomic_compare_exchange_strong(&version->asked, &first, getter) || first == getter;
}

/* 1: yes, 2: no. */
static int find_out(struct library_version *version, uint64_t *ret_number)
{
	void *getter = real_symbol(version->library, version->getter);
	int (*ask)(int, int *) = (int (*)(int, int *))getter;
	int number = 0;

	if (getter && !is_of_first(version, getter))
		return 2;
	if (ask && ask(MAJOR_VERSION, &number))
		number = 0;
	*ret_number = (uint64_t)number;
	return number >= version->first && number <= version->last ? 1 : 2;
}

bool library_is_known(struct library_version *version)
{
	_Atomic int *known = &version->known[gt_behind_caller()];
	int is = atomic_load_explicit(known, memory_order_relaxed);
	uint64_t number = UINT64_MAX;

	if (__builtin_expect(is != 0, 1))
		return is == 1;
	is = find_out(version, &number);
	atomic_store_explicit(known, is, memory_order_relaxed);
	if (is == 2 && number != UINT64_MAX && !atomic_exchange(&version->is_said, true))
		math_unknown(version->library->name, number);
	return is == 1;
}
