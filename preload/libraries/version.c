/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/version.h"

#include <stdatomic.h>

#include "preload/libraries/math.h"

#define MAJOR_VERSION 0 /* libraryPropertyType */

bool library_is_known(struct library_version *version)
{
	int is = atomic_load_explicit(&version->known, memory_order_relaxed), number = 0;
	int (*ask)(int, int *);

	if (__builtin_expect(is != 0, 1))
		return is == 1;
	ask = (int (*)(int, int *))real_symbol(version->library, version->getter);
	if (ask && ask(MAJOR_VERSION, &number))
		number = 0;
	is = number >= version->first && number <= version->last ? 1 : 2;
	if (atomic_exchange_explicit(&version->known, is, memory_order_relaxed) != is && is == 2)
		math_unknown(version->library->name, (uint64_t)number);
	return is == 1;
}
