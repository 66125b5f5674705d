/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls by number. struct stat of libc is the kernel's on 64-bit Linux; where it is not, the
 * build stops here.
 */
#include "core/guest/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/text.h"

#define TMPFS_TYPE 0x01021994
#define RAMFS_TYPE 0x858458f6

_Static_assert(sizeof(void *) == 8, "struct stat is the kernel's on 64-bit Linux only");

/* The result of a raw system call as value or negative errno; restores the caller's errno. */
static int result_of(long result, int saved_errno)
{
	int error = result < 0 ? -errno : (int)result;

	errno = saved_errno;
	return error;
}

int gt_sys_fstat(int fd, struct stat *ret_stat)
{
	int saved_errno = errno;

	return result_of(syscall(SYS_fstat, fd, ret_stat), saved_errno);
}

int gt_sys_lstat(const char *path, struct stat *ret_stat)
{
	int saved_errno = errno;

	return result_of(syscall(SYS_newfstatat, AT_FDCWD, path, ret_stat, AT_SYMLINK_NOFOLLOW),
			 saved_errno);
}

int gt_sys_fstatat(int folder, const char *path, struct stat *ret_stat, int flags)
{
	int saved_errno = errno;

	return result_of(syscall(SYS_newfstatat, folder, path, ret_stat, flags), saved_errno);
}

int gt_sys_dup_high(int fd, int minimum)
{
	int saved_errno = errno;

	return result_of(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, minimum), saved_errno);
}

void gt_sys_absolute(const char *path, char *ret_path, size_t size)
{
	size_t length = strlen(path), folder = 0;
	int saved_errno = errno;

	if (*path != '/' && length + 2 < size && getcwd(ret_path, size - length - 1)) {
		folder = strlen(ret_path);
		ret_path[folder++] = '/';
	}
	gt_text_format(ret_path + folder, size - folder, "%s", path);
	errno = saved_errno;
}

bool gt_sys_is_memory(const struct statfs *fs)
{
	return fs->f_type == TMPFS_TYPE || fs->f_type == RAMFS_TYPE;
}

/* Field 22 of /proc/PID/stat. Field 2, the command name, may hold anything but ends at the last
 * ')'. */
uint64_t gt_sys_start_ticks(int pid)
{
	char path[64], text[1024];
	const char *p, *end;
	uint64_t ticks = 0;
	size_t n;

	gt_text_format(path, sizeof(path), "/proc/%d/stat", pid);
	n = gt_descriptor_read_file(path, text, sizeof(text) - 1);
	text[n] = 0;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p && !gt_text_parse_u64(p + 1, &end, &ticks) ? ticks : 0;
}
