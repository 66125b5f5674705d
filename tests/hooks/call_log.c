/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory behind call_log.h: a library of its own, so that two runtimes write into one place.
 */
#include "tests/hooks/call_log.h"

#include <string.h>

static __thread struct call_log last;

/* Of the session under test, when there is one: begins it, if it waits for that. */
extern void gputrace_test_begin(void) __attribute__((weak));

struct call_log *call_log_last(void)
{
	return &last;
}

void call_log_begin(int runtime, const char *name)
{
	if (gputrace_test_begin)
		gputrace_test_begin();
	last.runtime = runtime;
	last.name = name;
	last.size = 0;
}

void call_log_put(const void *argument, size_t size)
{
	if (size > sizeof(last.bytes) - last.size)
		return;
	memcpy(last.bytes + last.size, argument, size);
	last.size += size;
}
