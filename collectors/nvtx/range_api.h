/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranges for programs and scripts that find libgputrace.so in their process and do not want NVTX's
 * headers: the same push/pop ranges as NVTX's, by two plain functions. --python-functions is built
 * on them. Application threads; no lock, no allocation, no system call once a thread is known.
 */
#ifndef GT_COLLECTORS_NVTX_RANGE_API_H
#define GT_COLLECTORS_NVTX_RANGE_API_H

/* A range called @name begins on the calling thread. Each @domain (NULL: the global one) has a
 * stack of its own. Both are copied, names over 1000 bytes are cut. Returns its level in the stack,
 * or a negative number: there was no room for it, which is counted, and it must not be popped. */
int gputrace_range_push(const char *domain, const char *name)
	__attribute__((visibility("default")));

/* The innermost range of @domain on the calling thread ends. Returns its level, or a negative
 * number: there was none. */
int gputrace_range_pop(const char *domain) __attribute__((visibility("default")));

#endif
