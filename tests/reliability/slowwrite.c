/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: until the first gate opens (tests/gate.h) each of its writes to its
 * trace takes SLOWWRITE milliseconds, in which rings fill.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include "shim.h"
#include "tests/gate.h"

static ssize_t put(const void *caller, int fd, const void *data, size_t size, off_t offset)
{
	const char *ms = getenv("SLOWWRITE");

	if (ms && is_the_tracer(caller) && !gate_is_open(1))
		usleep((useconds_t)atoi(ms) * 1000);
	return syscall(SYS_pwrite64, fd, data, size, offset);
}

SHIM_PWRITE(put)
