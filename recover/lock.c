/* SPDX-License-Identifier: Apache-2.0
 *
 * See lock.h.
 */
#include "recover/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ATTEMPTS 100 /* at a file that its holder removes each time */

static int name_lock(struct gt_repair_lock *lock, const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	int length = slash ? (int)(slash - path) : 1;
	int n = snprintf(lock->path, sizeof(lock->path), "%.*s/.%s.repair", length,
			 slash ? path : ".", name);

	return n < (int)sizeof(lock->path) ? 0 : -ENAMETOOLONG;
}

static void read_holder(int fd, char *ret_holder, size_t size)
{
	char text[300], host[256] = "another host";
	long pid = 0;
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = 0;
	if (sscanf(text, "%255s %ld", host, &pid) == 2)
		snprintf(ret_holder, size, "process %ld on %s", pid, host);
	else
		snprintf(ret_holder, size, "another process");
}

static void write_holder(int fd)
{
	char host[256] = "?", text[300];
	int n;

	gethostname(host, sizeof(host) - 1);
	n = snprintf(text, sizeof(text), "%s %ld\n", host, (long)getpid());
	if (ftruncate(fd, 0) || pwrite(fd, text, (size_t)n, 0) != n)
		return; /* nobody can say who it is, that is all */
}

/* Whoever held it before may have removed the file that we have locked. */
static bool is_there(const struct gt_repair_lock *lock)
{
	struct stat locked, named;

	return !fstat(lock->fd, &locked) && !stat(lock->path, &named) &&
	       locked.st_ino == named.st_ino && locked.st_dev == named.st_dev;
}

/* Everybody may put a file into /dev/shm, and lock it for ever; and a second name of a file of
 * ours, which would be truncated. */
static bool is_of_stranger(int fd, const char *path)
{
	struct stat lock, locked;

	if (fstat(fd, &lock))
		return false;
	return lock.st_nlink > 1 || (lock.st_uid && lock.st_uid != geteuid() &&
				     !stat(path, &locked) && lock.st_uid != locked.st_uid);
}

static int try_lock(struct gt_repair_lock *lock, const char *path, char *ret_holder, size_t size)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int rc = 0;

	lock->fd = open(lock->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	if (lock->fd < 0)
		return -errno;
	if (is_of_stranger(lock->fd, path))
		rc = -EPERM;
	else if (fcntl(lock->fd, F_SETLK, &whole))
		rc = errno == EACCES || errno == EAGAIN ? -EBUSY : -errno;
	else if (!is_there(lock))
		rc = -EAGAIN;
	if (rc == -EBUSY)
		read_holder(lock->fd, ret_holder, size);
	if (rc) {
		close(lock->fd);
		lock->fd = -1;
	}
	return rc;
}

int gt_repair_lock(struct gt_repair_lock *lock, const char *path, char *ret_holder, size_t size)
{
	int rc = name_lock(lock, path);

	lock->fd = -1;
	if (rc)
		return rc;
	rc = -EAGAIN;
	for (int i = 0; i < ATTEMPTS && rc == -EAGAIN; i++)
		rc = try_lock(lock, path, ret_holder, size);
	if (!rc)
		write_holder(lock->fd);
	if (rc == -EAGAIN) { /* somebody else was faster each time */
		snprintf(ret_holder, size, "another process");
		rc = -EBUSY;
	}
	return rc;
}

void gt_repair_unlock(struct gt_repair_lock *lock)
{
	if (lock->fd < 0)
		return;
	unlink(lock->path);
	close(lock->fd);
	lock->fd = -1;
}
