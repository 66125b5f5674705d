/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: its /proc/self/cgroup and /proc/self/mountinfo are the files
 * "cgroup" and "mountinfo" in the folder HOUSE.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "tests/reliability/shim.h"

/* @path, or what is there instead; @space has room for it. */
static const char *replaced(const char *path, char *space, size_t size)
{
	static const char self[] = "/proc/self/";
	const char *name = path + sizeof(self) - 1;

	if (strncmp(path, self, sizeof(self) - 1) ||
	    (strcmp(name, "cgroup") && strcmp(name, "mountinfo")))
		return path;
	snprintf(space, size, "%s/%s", getenv("HOUSE"), name);
	return space;
}

static int open_for(const void *caller, int folder, const char *path, int flags, mode_t mode)
{
	char space[512];

	if (is_the_tracer(caller))
		path = replaced(path, space, sizeof(space));
	return (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define OPENAT_AS(c_name, symbol)                                                                  \
	int c_name(int, const char *, int, mode_t) __asm__(symbol);                                \
	int c_name(int folder, const char *path, int flags, mode_t mode)                           \
	{                                                                                          \
		return open_for(__builtin_return_address(0), folder, path, flags, mode);           \
	}
OPENAT_AS(openat_32, "openat")
OPENAT_AS(openat_64, "openat64")

/* The tracer asks by number whether it has opened what is under that name. */
long call_for(long, long, long, long, long, long, long) __asm__("syscall");
long call_for(long number, long a, long b, long c, long d, long e, long f)
{
	static long (*real)(long, long, long, long, long, long, long);
	char space[512];

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_newfstatat && is_the_tracer(__builtin_return_address(0)))
		b = (long)replaced((const char *)b, space, sizeof(space));
	return real(number, a, b, c, d, e, f);
}
