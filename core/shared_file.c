/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. A descriptor is open only meanwhile and never while the program forks.
 */
#include "core/shared_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/forkgate.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/guest/uncancelled.h"

#define ZEROS_BYTES 65536u

uint64_t gt_shared_file_room(const char *folder, uint64_t least, const char **ret_why)
{
	struct statfs fs;
	uint64_t room;

	if (statfs(folder, &fs)) {
		*ret_why = "is not there";
		return 0;
	}
	if (!gt_sys_is_memory(&fs)) {
		*ret_why = "is no tmpfs";
		return 0;
	}
	room = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	if (room >= least)
		return room;
	*ret_why = "has too little room";
	return 0;
}

int gt_shared_file_wanted(const char *where, char *ret_why, size_t size)
{
	if (!strcmp(where, "off")) {
		gt_text_format(ret_why, size, "off");
		return -ECANCELED;
	}
	if (!gt_seccomp_permits(GT_SYS_statfs)) {
		gt_text_format(ret_why, size, "the program has installed a seccomp filter");
		return -EPERM;
	}
	return 0;
}

int gt_shared_file_place(const char *where, const char *runtime, gt_shared_file_maker make,
			 const void *data, char *ret_why, size_t size)
{
	const char *folders[] = {"/dev/shm", runtime}, *why = "is not there";
	size_t count = runtime ? 2 : 1;
	int error = -ENOENT;

	if (strcmp(where, "on") != 0) {
		folders[0] = where;
		count = 1;
	}
	for (size_t i = 0; i < count && error; i++) {
		error = make(folders[i], data, &why);
		gt_text_format(ret_why, size, "%s %s", folders[i], why);
	}
	if (!error)
		*ret_why = 0;
	return error;
}

/* Sets the file's size once: growing it later could exceed a file size limit, which raises a
 * signal. */
static int set_size(int fd, size_t size)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur < size)
		return -EFBIG;
	return ftruncate(fd, (off_t)size) ? -errno : 0;
}

/* fallocate without the C library's emulation. Signals are blocked: an interrupted call would
 * release what it has reserved. */
static int allocate_pages(int fd, uint64_t offset, size_t size)
{
	sigset_t all, old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = fallocate(fd, 0, (off_t)offset, (off_t)size) ? -errno : 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return error;
}

/* The same by any program's calls. When there is no room, a part stays allocated. */
static int write_zeros(int fd, uint64_t offset, size_t size)
{
	static char zeros[ZEROS_BYTES];
	ssize_t n = lseek(fd, (off_t)offset, SEEK_SET) < 0 ? -1 : 0;

	while (n >= 0 && size) {
		n = write(fd, zeros, size < sizeof(zeros) ? size : sizeof(zeros));
		size -= n > 0 ? (size_t)n : 0;
		if (n == 0)
			return -ENOSPC;
	}
	return n < 0 ? -errno : 0;
}

static int reserve(int fd, uint64_t offset, size_t size)
{
	return gt_seccomp_permits_now(GT_SYS_fallocate) ? allocate_pages(fd, offset, size)
							: write_zeros(fd, offset, size);
}

int gt_shared_file_make(const char *path, size_t size, size_t reserved, void **ret_memory)
{
	void *memory = MAP_FAILED;
	struct gt_descriptor file;
	int error;

	gt_forkgate_lock();
	error = gt_descriptor_open(&file, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW,
				   0600);
	if (!error) {
		error = set_size(file.fd, size);
		if (!error)
			error = reserve(file.fd, 0, reserved);
		if (!error)
			memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd, 0);
		if (!error && memory == MAP_FAILED)
			error = -errno;
		if (error)
			unlink(path);
	} else if (error == -ESTALE) {
		unlink(path);
	}
	gt_descriptor_close(&file);
	gt_forkgate_unlock();
	*ret_memory = memory;
	return error;
}

int gt_shared_file_reserve(const char *path, uint64_t offset, size_t size)
{
	int cancelled = gt_uncancelled_begin();
	struct gt_descriptor file;
	int error;

	gt_forkgate_lock();
	error = gt_descriptor_open(&file, AT_FDCWD, path, O_RDWR | O_NOFOLLOW, 0);
	if (!error)
		error = reserve(file.fd, offset, size);
	gt_descriptor_close(&file);
	gt_forkgate_unlock();
	gt_uncancelled_end(cancelled);
	return error;
}
