/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges for programs and scripts that find libgputrace.so in their process and do not use NVTX's
 * headers: the same push/pop ranges by two plain functions. --python-functions is built on them.
 * Application threads; no lock, no allocation, no system call once a thread is known.
 */
#ifndef GT_COLLECTORS_NVTX_RANGE_API_H
#define GT_COLLECTORS_NVTX_RANGE_API_H

/* Opens a range called @name on the calling thread. Each @domain (NULL: the global one) has its own
 * stack. Both strings are copied, names over 1000 bytes are cut. Returns the level in the stack, or
 * a negative number: no room, which is counted, and the range must not be popped. */
int gputrace_range_push(const char *domain, const char *name)
	__attribute__((visibility("default")));

/* Closes the innermost range of @domain on the calling thread. Returns its level, or a negative
 * number: there was none. */
int gputrace_range_pop(const char *domain) __attribute__((visibility("default")));

#endif
