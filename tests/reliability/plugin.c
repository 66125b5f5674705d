/* SPDX-License-Identifier: Apache-2.0
 *
 * A module of the program: copies of it are loaded, so that the tracer has files to read.
 */
#include "tests/reliability/plugin.h"

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
