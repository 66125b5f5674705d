/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls by number. struct stat of libc is the kernel's on 64-bit Linux; where it is not, the
 * build stops here.
 */
#include "core/guest/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/seccomp.h"
#include "core/guest/text.h"

#define STAT_PARENT          4 /* fields of /proc/PID/stat */
#define STAT_GROUP           5
#define STAT_SESSION         6
#define STAT_THREADS         20
#define STAT_START           22
#define STAT_SPACE           23
#define STAT_EXIT            52 /* as waitpid has it; of the first thread, where it has ended */

#define TMPFS_TYPE           0x01021994
#define RAMFS_TYPE           0x858458f6

#define FIRST_TIME_NAMESPACE 0xeffffffa /* PROC_TIME_INIT_INO of the kernel's proc_ns.h */

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

int gt_sys_birth(int fd, struct gt_sys_birth *ret_birth)
{
	int saved_errno = errno;
	struct statx now = {0};
	int rc = result_of(syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BTIME, &now),
			   saved_errno);

	if (!rc && !(now.stx_mask & STATX_BTIME))
		rc = -ENODATA;
	if (!rc)
		*ret_birth = (struct gt_sys_birth){now.stx_btime.tv_sec, now.stx_btime.tv_nsec};
	return rc;
}

int gt_sys_dup_high(int fd, int minimum)
{
	int saved_errno = errno;

	return result_of(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, minimum), saved_errno);
}

ssize_t gt_sys_pwrite(int fd, const void *data, size_t size, uint64_t offset)
{
	ssize_t n = -1;
	bool refused = !gt_seccomp_permits(GT_SYS_pwrite64);

	if (!refused)
		n = pwrite(fd, data, size, (off_t)offset);
	if (!refused && (n >= 0 || (errno != EPERM && errno != ENOSYS)))
		return n;
	return lseek(fd, (off_t)offset, SEEK_SET) < 0 ? -1 : write(fd, data, size);
}

/* $PWD, if it is the current folder. */
static bool folder_by_name(char *ret_path, size_t size)
{
	const char *name = secure_getenv("PWD");
	struct stat named, here;

	if (!name || *name != '/' || strlen(name) >= size ||
	    gt_sys_fstatat(AT_FDCWD, name, &named, 0) || gt_sys_fstatat(AT_FDCWD, ".", &here, 0) ||
	    named.st_dev != here.st_dev || named.st_ino != here.st_ino)
		return false;
	gt_text_format(ret_path, size, "%s", name);
	return true;
}

void gt_sys_absolute(const char *path, char *ret_path, size_t size)
{
	size_t length = strlen(path), room = size - length - 1, folder = 0;
	int saved_errno = errno;

	if (*path != '/' && length + 2 < size &&
	    (gt_seccomp_permits(GT_SYS_getcwd) ? getcwd(ret_path, room) != NULL
					       : folder_by_name(ret_path, room))) {
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

/* Field @number, from 1, of /proc/PID/stat: proc(5). Field 2, the command name, may hold anything
 * but ends at the last ')'. */
static uint64_t stat_field(int pid, int number)
{
	char path[64], text[1024];
	const char *p, *end;
	uint64_t value = 0;
	size_t n;

	gt_text_format(path, sizeof(path), "/proc/%d/stat", pid);
	n = gt_descriptor_read_file(path, text, sizeof(text) - 1);
	text[n] = 0;
	p = strrchr(text, ')');
	for (int field = 2; p && field < number; field++)
		p = strchr(p + 1, ' ');
	return p && !gt_text_parse_u64(p + 1, &end, &value) ? value : 0;
}

int gt_sys_parent(int pid)
{
	return (int)stat_field(pid, STAT_PARENT);
}

int gt_sys_session(int pid)
{
	return (int)stat_field(pid, STAT_SESSION);
}

uint64_t gt_sys_start_ticks(int pid)
{
	return stat_field(pid, STAT_START);
}

void gt_sys_boot_id(char *ret_id, size_t size)
{
	size_t n = gt_descriptor_read_file("/proc/sys/kernel/random/boot_id", ret_id, size - 1);

	ret_id[n] = 0;
	ret_id[strcspn(ret_id, "\n")] = 0;
}

void gt_sys_clock_id(char *ret_id, size_t size)
{
	struct stat st;
	size_t n;

	gt_sys_boot_id(ret_id, size);
	n = strlen(ret_id);
	if (n && !gt_sys_fstatat(AT_FDCWD, "/proc/self/ns/time", &st, 0) &&
	    st.st_ino != FIRST_TIME_NAMESPACE)
		gt_text_format(ret_id + n, size - n, " time:%lu", (unsigned long)st.st_ino);
}

uint64_t gt_sys_pid_namespace(void)
{
	struct stat st;

	return gt_sys_fstatat(AT_FDCWD, "/proc/self/ns/pid", &st, 0) ? 0 : (uint64_t)st.st_ino;
}

int gt_sys_first_thread_status(void)
{
	return (int)(stat_field((int)getpid(), STAT_EXIT) >> 8 & 0xff);
}

uint64_t gt_sys_space(void)
{
	struct rlimit limit;
	uint64_t used;

	if (!gt_seccomp_permits(GT_SYS_prlimit64) || getrlimit(RLIMIT_AS, &limit) ||
	    limit.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	used = stat_field((int)getpid(), STAT_SPACE);
	return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

uint64_t gt_sys_threads(void)
{
	return stat_field((int)getpid(), STAT_THREADS);
}

int gt_sys_group(void)
{
	if (gt_seccomp_permits(GT_SYS_getpgrp))
		return getpgrp();
	return (int)stat_field((int)getpid(), STAT_GROUP);
}

uint32_t gt_sys_user(void)
{
	return gt_seccomp_permits(GT_SYS_geteuid) ? geteuid() : (uint32_t)getauxval(AT_EUID);
}

void gt_sys_host(char *ret_name, size_t size)
{
	struct utsname name;
	size_t length;

	*ret_name = 0;
	if (!gt_seccomp_permits(GT_SYS_uname)) {
		length = gt_descriptor_read_file("/proc/sys/kernel/hostname", ret_name, size - 1);
		ret_name[length] = 0;
		ret_name[strcspn(ret_name, "\n")] = 0;
	} else if (!uname(&name)) {
		gt_text_format(ret_name, size, "%s", name.nodename);
	}
}
