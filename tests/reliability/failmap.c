/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: FAILMAP_COUNT mmaps of the tracer fail, from the FAILMAP_FROM-th on;
 * others are not affected. Prints at exit how many the tracer requested.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

static _Atomic long asked;

static int must_fail(const void *caller)
{
	const char *from = getenv("FAILMAP_FROM"), *count = getenv("FAILMAP_COUNT");
	long number;

	if (!from || !is_the_tracer(caller))
		return 0;
	number = atomic_fetch_add(&asked, 1) + 1;
	return number >= atol(from) && number < atol(from) + (count ? atol(count) : 1);
}

static void *map(const void *caller, void *address, size_t size, int protection, int flags, int fd,
		 off_t offset)
{
	if (must_fail(caller)) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

/* Defines both names, either of which the headers may use for mmap. */
#define MAP(c_name, symbol)                                                                        \
	void *c_name(void *, size_t, int, int, int, off_t) __asm__(symbol);                        \
	void *c_name(void *address, size_t size, int protection, int flags, int fd, off_t offset)  \
	{                                                                                          \
		return map(__builtin_return_address(0), address, size, protection, flags, fd,      \
			   offset);                                                                \
	}

MAP(map_32, "mmap")
MAP(map_64, "mmap64")

__attribute__((destructor)) static void report(void)
{
	if (getenv("FAILMAP_REPORT"))
		dprintf(2, "mappings: %ld\n", atomic_load(&asked));
}
