/* SPDX-License-Identifier: Apache-2.0
 *
 * How a fake runtime was called last, per thread: which runtime, which function, its arguments byte
 * by byte. Shared by the runtimes and the programs that ask.
 */
#ifndef GT_TESTS_HOOKS_CALL_LOG_H
#define GT_TESTS_HOOKS_CALL_LOG_H

#include <stddef.h>

struct call_log {
	int runtime; /* 12, 13; 0: not called */
	const char *name;
	size_t size;
	unsigned char bytes[256];
};

/* The calling thread's. */
struct call_log *call_log_last(void);

void call_log_begin(int runtime, const char *name);
void call_log_put(const void *argument, size_t size);

#endif
