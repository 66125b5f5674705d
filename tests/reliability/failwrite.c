/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: from the FAILWRITE_FROM-th on, its writes to the trace fail with
 * errno FAILWRITE_ERRNO (FAILWRITE_COUNT of them, else all), or create the file FAILWRITE_HANG and
 * never return, or with FAILWRITE_GATE=N wait at the program's Nth gate; with none of these each
 * write is cut in half. With FAILWRITE_FILE only writes to files count that have it in their names,
 * with FAILWRITE_WHILE those while there is a file of that name.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shim.h"
#include "tests/gate.h"

static _Atomic long asked;

static void hang(const char *mark)
{
	close(open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	for (;;)
		pause();
}

static bool counts(int fd)
{
	const char *wanted = getenv("FAILWRITE_FILE"), *mark = getenv("FAILWRITE_WHILE");
	char link[64], path[1024];
	ssize_t n;

	if (mark && access(mark, F_OK))
		return false;
	if (!wanted)
		return true;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n < 0 ? 0 : n] = 0;
	return strstr(path, wanted);
}

static ssize_t put(const void *caller, int fd, const void *data, size_t size, off_t offset)
{
	const char *from = getenv("FAILWRITE_FROM"), *error = getenv("FAILWRITE_ERRNO");
	const char *mark = getenv("FAILWRITE_HANG"), *gate = getenv("FAILWRITE_GATE");
	const char *count = getenv("FAILWRITE_COUNT");

	if (is_the_tracer(caller) && counts(fd)) {
		long since = atomic_fetch_add(&asked, 1) + 1 - (from ? atol(from) : 1);
		bool is_due = since >= 0 && (!count || since < atol(count));

		if (mark && is_due)
			hang(mark);
		if (gate && is_due)
			wait_at_gate(atoi(gate));
		if (error && is_due) {
			errno = atoi(error);
			return -1;
		}
		if (!mark && !error && !gate)
			size = size > 1 ? size / 2 : size;
	}
	return syscall(SYS_pwrite64, fd, data, size, offset);
}

SHIM_PWRITE(put)
