/* SPDX-License-Identifier: Apache-2.0
 *
 * Preloaded before the tracer: every file system has the type NETFS_TYPE (a number, 0x6969 is NFS);
 * with NETFS_ROOM files cannot grow beyond that many bytes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

int statfs(const char *path, struct statfs *ret_fs)
{
	const char *type = getenv("NETFS_TYPE");

	memset(ret_fs, 0, sizeof(*ret_fs));
	ret_fs->f_type = strtol(type ? type : "0x6969", NULL, 0);
	ret_fs->f_bsize = 4096;
	ret_fs->f_bavail = 1 << 24;
	return *path ? 0 : -1;
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
	const char *room = getenv("NETFS_ROOM");
	int (*real)(int, int, off_t, off_t);

	if (room && offset + size > strtol(room, NULL, 0)) {
		errno = ENOSPC;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "fallocate64");
	return real(fd, mode, offset, size);
}
