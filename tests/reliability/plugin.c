/* SPDX-License-Identifier: Apache-2.0
 *
 * A module of the program: copies of it are loaded, so that the tracer has files to read.
 */
#include "tests/reliability/plugin.h"

#include <stdint.h>
#include <stdlib.h>

/* The program's function while the module is being loaded, if it says one. */
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
