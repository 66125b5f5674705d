/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: kills the process inside the KILLWRITE_AT-th of the tracer's writes
 * to its trace, after KILLWRITE_BYTES of it were written (-1: all). With KILLWRITE_FIRST only
 * writes that begin with that character count: '[' the first block of a running file, '{' of a
 * closed one. KILLWRITE_REST=MS: before a '[', the program has so long to go on.
 * With KILLWRITE_UNLINK=N, inside the Nth removal of a trace, which is gone then.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"

static _Atomic long seen;

static int counts(const void *caller, const char *data)
{
	const char *first = getenv("KILLWRITE_FIRST"), *at = getenv("KILLWRITE_AT");

	return at && is_the_tracer(caller) && (!first || *first == *data) &&
	       atomic_fetch_add(&seen, 1) + 1 == atol(at);
}

static void rest(const void *caller, const char *data)
{
	const char *ms = getenv("KILLWRITE_REST");

	if (ms && is_the_tracer(caller) && *data == '[')
		usleep((useconds_t)atoi(ms) * 1000);
}

static void die(void)
{
	syscall(SYS_kill, getpid(), SIGKILL);
	for (;;)
		pause();
}

static ssize_t put(const void *caller, int fd, const void *data, size_t size, off_t offset)
{
	const char *bytes = getenv("KILLWRITE_BYTES");
	long part = bytes ? atol(bytes) : -1;

	rest(caller, data);
	if (!counts(caller, data))
		return syscall(SYS_pwrite64, fd, data, size, offset);
	if (part < 0 || (size_t)part > size)
		part = (long)size;
	if (part)
		syscall(SYS_pwrite64, fd, data, (size_t)part, offset);
	die();
	return -1;
}

SHIM_PWRITE(put)

static int remove_at(const void *caller, int folder, const char *path, int flags)
{
	static _Atomic long removed;
	const char *at = getenv("KILLWRITE_UNLINK");
	int result = (int)syscall(SYS_unlinkat, folder, path, flags);

	if (at && is_the_tracer(caller) && (strstr(path, ".json") || strstr(path, ".pftrace")) &&
	    atomic_fetch_add(&removed, 1) + 1 == atol(at))
		die();
	return result;
}

int unlink(const char *path)
{
	return remove_at(__builtin_return_address(0), AT_FDCWD, path, 0);
}

int unlinkat(int folder, const char *path, int flags)
{
	return remove_at(__builtin_return_address(0), folder, path, flags);
}
