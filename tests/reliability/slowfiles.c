/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: each of its operations on a descriptor takes milliseconds, so that
 * the program can use the same number meanwhile.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "shim.h"

static void wait_for_the_program(const void *caller)
{
	struct timespec pause = {.tv_nsec = 3000000};

	if (is_the_tracer(caller))
		nanosleep(&pause, NULL);
}

#define SEEK(c_name, symbol)                                                                       \
	off_t c_name(int fd, off_t offset, int whence) __asm__(symbol);                            \
	off_t c_name(int fd, off_t offset, int whence)                                             \
	{                                                                                          \
		wait_for_the_program(__builtin_return_address(0));                                 \
		return (off_t)syscall(SYS_lseek, fd, offset, whence);                              \
	}

SEEK(seek_32, "lseek")
SEEK(seek_64, "lseek64")

/* libc's function, for the tracer's system calls by number. */
static long (*real_syscall)(long, ...);

__attribute__((constructor)) static void find_real(void)
{
	real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
}

/* Takes six arguments as libc's does, however many there are. */
__attribute__((no_sanitize("address"))) long syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!real_syscall) /* called by the constructor of a library after this one */
		find_real();
	if (number == SYS_fstat || number == SYS_newfstatat || number == SYS_fcntl)
		wait_for_the_program(__builtin_return_address(0));
	return real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
