/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: the process is killed inside the KILLWRITE_AT-th of the tracer's writes
 * into its trace, when KILLWRITE_BYTES of it stand in the file (-1: all of it). With KILLWRITE_FIRST only
 * writes that begin with that character count: '[' the first block of a running file, '{' of a closed one.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic long seen;

static int is_the_tracer(const void *address)
{
	Dl_info info;

	return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, "libgputrace.so");
}

static int counts(const void *caller, const char *data)
{
	const char *first = getenv("KILLWRITE_FIRST"), *at = getenv("KILLWRITE_AT");

	return at && is_the_tracer(caller) && (!first || *first == *data) &&
	       atomic_fetch_add(&seen, 1) + 1 == atol(at);
}

static ssize_t put(const void *caller, int fd, const void *data, size_t size, off_t offset)
{
	const char *bytes = getenv("KILLWRITE_BYTES");
	long part = bytes ? atol(bytes) : -1;

	if (!counts(caller, data))
		return syscall(SYS_pwrite64, fd, data, size, offset);
	if (part < 0 || (size_t)part > size)
		part = (long)size;
	if (part)
		syscall(SYS_pwrite64, fd, data, (size_t)part, offset);
	syscall(SYS_kill, getpid(), SIGKILL);
	for (;;)
		pause();
}

/* Both names, whichever of them the headers make of pwrite. */
#define PUT(c_name, symbol)                                                                        \
	ssize_t c_name(int, const void *, size_t, off_t) __asm__(symbol);                          \
	ssize_t c_name(int fd, const void *data, size_t size, off_t offset)                        \
	{                                                                                          \
		return put(__builtin_return_address(0), fd, data, size, offset);                   \
	}

PUT(put_32, "pwrite")
PUT(put_64, "pwrite64")
