/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/guest/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"

#define NO_SUCH_HOW  (-1)
#define SIGSET_BYTES 8
#define PARTS        9 /* pages of one call: those of a sampled stack */

/* As in the C library's headers, without what a sanitizer adds. */
#define UNCHECKED    __attribute__((no_sanitize("address", "undefined", "thread")))

/* The kernel reads the signal set before it refuses what is to be done with it. */
static bool page_is_readable(uint64_t address)
{
	long result = syscall(SYS_rt_sigprocmask, NO_SUCH_HOW,
			      address & ~(uint64_t)(GT_PEEK_PAGE - 1), NULL, SIGSET_BYTES);

	return result < 0 && errno == EINVAL;
}

bool gt_peek_is_readable(const void *address)
{
	int saved = errno;
	bool readable = (uintptr_t)address >= GT_PEEK_PAGE && page_is_readable((uintptr_t)address);

	errno = saved;
	return readable;
}

static size_t to_end_of_page(uint64_t address, size_t size)
{
	size_t rest = GT_PEEK_PAGE - (address & (GT_PEEK_PAGE - 1));

	return size < rest ? size : rest;
}

UNCHECKED static void load(volatile uint8_t *to, const volatile uint8_t *from, size_t size)
{
	for (size_t i = 0; i < size; i++)
		to[i] = from[i];
}

static size_t copy_readable(uint8_t *to, uint64_t address, size_t size)
{
	size_t done = 0;

	while (done < size && page_is_readable(address + done)) {
		size_t part = to_end_of_page(address + done, size - done);

		load(to + done, (const uint8_t *)(uintptr_t)(address + done), part);
		done += part;
	}
	return done;
}

/* One part for each page: the call ends before the first that cannot be read. */
static ssize_t copy_by_kernel(void *to, uint64_t address, size_t size)
{
	struct iovec here = {.iov_base = to, .iov_len = size};
	struct iovec there[PARTS];
	unsigned long parts = 0;
	size_t at = 0;

	for (; at < size && parts < PARTS; parts++) {
		there[parts].iov_base = (void *)(uintptr_t)(address + at);
		there[parts].iov_len = to_end_of_page(address + at, size - at);
		at += there[parts].iov_len;
	}
	return process_vm_readv(getpid(), &here, 1, there, parts, 0);
}

static ssize_t copy_from_file(void *to, uint64_t address, size_t size)
{
	struct gt_descriptor file;
	ssize_t n = -1;

	if (!gt_descriptor_open(&file, AT_FDCWD, "/proc/self/mem", O_RDONLY, 0))
		n = pread(file.fd, to, size, (off_t)address);
	gt_descriptor_close(&file);
	return n;
}

static size_t copy_unmapped(uint8_t *to, uint64_t address, size_t size)
{
	bool refused = !gt_seccomp_permits(GT_SYS_process_vm_readv);
	size_t done = 0;
	ssize_t n;

	do {
		n = -1;
		if (!refused)
			n = copy_by_kernel(to + done, address + done, size - done);
		refused |= n < 0 && errno != EFAULT; /* by a container's filter */
		if (refused)
			n = copy_from_file(to + done, address + done, size - done);
		done += n > 0 ? (size_t)n : 0;
	} while (n > 0 && done < size);
	return done;
}

size_t gt_peek_copy(void *to, uint64_t address, size_t size)
{
	int saved = errno;
	size_t done = 0;

	if (address >= GT_PEEK_PAGE && address + size > address)
		done = gt_seccomp_is_watching() ? copy_unmapped(to, address, size)
						: copy_readable(to, address, size);
	errno = saved;
	return done;
}

static ssize_t write_to_file(uint64_t address, const void *from, size_t size)
{
	struct gt_descriptor file;
	ssize_t n = -1;

	if (!gt_descriptor_open(&file, AT_FDCWD, "/proc/self/mem", O_RDWR, 0))
		n = pwrite(file.fd, from, size, (off_t)address);
	gt_descriptor_close(&file);
	return n;
}

bool gt_peek_write(uint64_t address, const void *from, size_t size)
{
	struct iovec here = {.iov_base = (void *)(uintptr_t)from, .iov_len = size};
	struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = size};
	bool refused = !gt_seccomp_permits(GT_SYS_process_vm_writev);
	int saved = errno;
	ssize_t n = -1;

	if (!refused)
		n = process_vm_writev(getpid(), &here, 1, &there, 1, 0);
	if (refused || (n < 0 && errno != EFAULT)) /* by a container's filter */
		n = write_to_file(address, from, size);
	errno = saved;
	return n == (ssize_t)size;
}
