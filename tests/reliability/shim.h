/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by libraries that are preloaded before the tracer and change only the tracer's calls.
 */
#ifndef GT_RELIABILITY_SHIM_H
#define GT_RELIABILITY_SHIM_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static inline bool is_the_tracer(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "libgputrace.so");
}

/* Replaces pwrite by @put, under both names, either of which the headers may use. */
#define SHIM_PWRITE(put)                                                                           \
	SHIM_PWRITE_AS(put, put##_32, "pwrite") SHIM_PWRITE_AS(put, put##_64, "pwrite64")
#define SHIM_PWRITE_AS(put, c_name, symbol)                                                        \
	ssize_t c_name(int, const void *, size_t, off_t) __asm__(symbol);                          \
	ssize_t c_name(int fd, const void *data, size_t size, off_t offset)                        \
	{                                                                                          \
		return put(__builtin_return_address(0), fd, data, size, offset);                   \
	}

#endif
