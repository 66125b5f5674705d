/* SPDX-License-Identifier: Apache-2.0
 *
 * Between any two system calls another thread may close a number and open something else under it,
 * so each step checks again what the number refers to.
 */
#include "core/guest/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/guest/sys.h"

/* The lowest number for a copy: above those that programs close in loops or pass to select. The
 * first that is below the limit; the numbers between it and the limit are left for short-lived
 * descriptors. The kernel's table of a process grows with the highest number. */
static const int minima[] = {4096,     1024 - 160, 512 - 128, 256 - 64,
			     128 - 32, 64 - 16,    32 - 8,    16 - 4};

static _Atomic size_t fits; /* the limit seldom changes */

void gt_descriptor_fit(uint32_t table)
{
	size_t count = sizeof(minima) / sizeof(minima[0]), i = 0;

	while (i + 1 < count && minima[i] >= (int)table)
		i++;
	atomic_store(&fits, i);
}

static int copy_high(int low)
{
	size_t count = sizeof(minima) / sizeof(minima[0]);
	int high = -EINVAL;

	if (low >= minima[atomic_load(&fits)])
		return low;
	for (size_t i = atomic_load(&fits); (high == -EINVAL || high == -EMFILE) && i < count;
	     i++) {
		high = gt_sys_dup_high(low, minima[i]);
		if (high >= 0)
			atomic_store(&fits, i);
	}
	return high;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static void close_if(int fd, const struct stat *expected)
{
	struct stat now;

	if (gt_sys_fstat(fd, &now) == 0 && is_same(&now, expected))
		close(fd);
}

/* Whether @st is the file at the path; a file that has been removed passes. */
static bool is_named(int folder, const char *path, int flags, const struct stat *st)
{
	struct stat named;
	int error =
		gt_sys_fstatat(folder, path, &named, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);

	return error == -ENOENT || (error == 0 && is_same(&named, st));
}

/* Checks the copy of @low, not @low itself: the program may have reused that number, and then it
 * must stay open. */
static int move_high(struct gt_descriptor *descriptor, int low, int high, int folder,
		     const char *path, int flags)
{
	struct stat st;

	if (gt_sys_fstat(high, &st) < 0 || !is_named(folder, path, flags, &st)) {
		if (high != low)
			close(high);
		return -ESTALE;
	}
	if (high != low)
		close_if(low, &st);
	*descriptor = (struct gt_descriptor){
		.fd = high, .device = st.st_dev, .inode = st.st_ino, .mode = st.st_mode};
	return 0;
}

int gt_descriptor_open(struct gt_descriptor *ret_descriptor, int folder, const char *path,
		       int flags, mode_t rights)
{
	int saved_errno = errno;
	int low = openat(folder, path, flags | O_CLOEXEC, rights);
	int high, error;

	*ret_descriptor = GT_DESCRIPTOR_NONE;
	error = low < 0 ? -errno : 0;
	if (!error) {
		high = copy_high(low);
		error = move_high(ret_descriptor, low, high < 0 ? low : high, folder, path, flags);
	}
	errno = saved_errno;
	return error;
}

bool gt_descriptor_is_ours(const struct gt_descriptor *descriptor)
{
	struct stat st;

	return descriptor->fd >= 0 && gt_sys_fstat(descriptor->fd, &st) == 0 &&
	       st.st_dev == descriptor->device && st.st_ino == descriptor->inode;
}

void gt_descriptor_close(struct gt_descriptor *descriptor)
{
	int saved_errno = errno;

	if (gt_descriptor_is_ours(descriptor))
		close(descriptor->fd);
	descriptor->fd = -1;
	errno = saved_errno;
}

size_t gt_descriptor_read_file(const char *path, char *ret_text, size_t size)
{
	int saved_errno = errno;
	struct gt_descriptor file;
	ssize_t n = 0;

	if (gt_descriptor_open(&file, AT_FDCWD, path, O_RDONLY | O_NONBLOCK, 0) == 0)
		n = read(file.fd, ret_text, size);
	gt_descriptor_close(&file);
	errno = saved_errno;
	return n > 0 ? (size_t)n : 0;
}
