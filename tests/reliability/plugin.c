/* SPDX-License-Identifier: Apache-2.0
 *
 * A module of the program, loaded in several copies, so that the tracer has files to read.
 */
#include "tests/reliability/plugin.h"

#include <stdint.h>
#include <stdlib.h>

/* Calls the program's function, if it names one, while the module is being loaded. */
static void __attribute__((constructor)) construct(void)
{
	const char *address = getenv("CONSTRUCTOR_CALLS");

	if (address)
		((void (*)(void))(uintptr_t)strtoull(address, NULL, 16))();
}

static void __attribute__((noinline)) inner(void (*launch)(void *), void *data)
{
	launch(data);
	__asm__ volatile("");
}

void plugin_first(void (*launch)(void *), void *data)
{
	inner(launch, data);
	__asm__ volatile("");
}

void plugin_second(void (*launch)(void *), void *data)
{
	inner(launch, data);
	__asm__ volatile("");
}
