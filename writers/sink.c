/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace file as a descriptor in a process that is not ours: the program may close it, open
 * something else under its number, or fill the disk. Drain thread only; no stdio, no strerror.
 */
#include "writers/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/memory.h"
#include "core/sys.h"
#include "core/text.h"
#include "writers/owner.h"

#define HIGH_DESCRIPTOR    700 /* above what programs close in loops or compare against */
#define NAME_TRIES         1000u
#define STREAM_PATIENCE_MS 2000 /* how long the reader of a pipe may take to read on */

struct gt_sink {
	int fd;
	int lost; /* negative errno once the file cannot be had back */
	bool stream;
	bool failure_said;
	uint64_t max_size;
	dev_t device; /* what the descriptor must still be */
	ino_t inode;
	char path[PATH_MAX];
};

static const char *reason_of(int error)
{
	static const struct {
		int error;
		const char *words;
	} reasons[] = {
		{-ENOSPC, "disk full"},
		{-EDQUOT, "disk quota used up"},
		{-EFBIG, "file size limit"},
		{-EIO, "input/output error"},
		{-EACCES, "no permission"},
		{-EPERM, "not permitted: not ours, or open to others"},
		{-EROFS, "read-only"},
		{-ENOENT, "not there"},
		{-ENOTDIR, "not a folder"},
		{-ELOOP, "a symbolic link"},
		{-EBADF, "the program closed it"},
		{-EPIPE, "nobody reads it"},
		{-ENXIO, "nobody reads it"},
		{-EAGAIN, "its reader stopped reading"},
		{-ENAMETOOLONG, "name too long"},
		{-EMFILE, "too many open files"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			return reasons[i].words;
	return "failed";
}

/* The length that is open()'s and friends' -1. */
static int error_of(long result)
{
	return result < 0 ? -errno : 0;
}

/* Makes the folder and its parents. */
static int make_folders(const char *directory)
{
	char path[PATH_MAX];
	size_t length = strlen(directory);

	if (length >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, directory, length + 1);
	for (char *slash = path + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(path, 0777) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

/* Anybody may not be able to take our file away. A folder of one other user is fine: a container's root
 * writes into what belongs to a user outside, and O_EXCL with O_NOFOLLOW never opens what was planted. */
static int check_folder(int fd)
{
	struct stat st;
	int error = gt_sys_fstat(fd, &st);

	if (error < 0)
		return error;
	if ((st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX))
		return -EPERM;
	return 0;
}

static int open_folder(const char *directory)
{
	int error = make_folders(directory);
	int fd;

	if (error < 0 && error != -EROFS && error != -EACCES)
		return error;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = check_folder(fd);
	if (error < 0) {
		close(fd);
		return error;
	}
	return fd;
}

/* Moves a descriptor out of the way of programs that count theirs from 3. */
static int move_high(int fd)
{
	struct rlimit limit;
	int high = gt_sys_dup_high(fd, HIGH_DESCRIPTOR);

	if (high < 0 && getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 64)
		high = gt_sys_dup_high(fd, (int)(limit.rlim_cur < HIGH_DESCRIPTOR + 64
							 ? limit.rlim_cur - 32
							 : HIGH_DESCRIPTOR));
	if (high < 0)
		return fd;
	close(fd);
	return high;
}

/* Takes over @fd when it is what it should be. */
static int adopt(struct gt_sink *sink, int fd)
{
	struct stat st;
	int error = gt_sys_fstat(fd, &st);

	if (!error && !sink->stream && !S_ISREG(st.st_mode))
		error = -EPERM;
	if (error < 0) {
		close(fd);
		return error;
	}
	sink->fd = move_high(fd);
	sink->device = st.st_dev;
	sink->inode = st.st_ino;
	return 0;
}

/* The folder's real path, so that the file is found again after chdir. */
static size_t folder_path(int folder, const char *directory, char *out, size_t size)
{
	char link[64];
	ssize_t length;

	gt_text_format(link, sizeof(link), "/proc/self/fd/%d", folder);
	length = readlink(link, out, size - 1);
	if (length <= 0)
		return gt_text_format(out, size, "%s", directory);
	out[length] = '\0';
	return (size_t)length;
}

/* Creates the file under the first name that is free. */
static int create_in(struct gt_sink *sink, int folder, const char *directory,
		     const struct gt_sink_options *options)
{
	size_t base = folder_path(folder, directory, sink->path, sizeof(sink->path));
	char *name = sink->path + base;
	size_t room = sizeof(sink->path) - base;
	int fd;

	if (room < strlen(options->name) + strlen(options->suffix) + 16)
		return -ENAMETOOLONG;
	for (unsigned int i = 0; i < NAME_TRIES; i++) {
		if (i == 0)
			gt_text_format(name, room, "/%s%s", options->name, options->suffix);
		else
			gt_text_format(name, room, "/%s.%u%s", options->name, i, options->suffix);
		fd = openat(folder, name + 1, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			    0600);
		if (fd >= 0)
			return adopt(sink, fd);
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/* In the folder itself, or, when another process of the rank writes there, in one of our own. */
static int create_where_due(struct gt_sink *sink, int folder, const char *directory,
			    const struct gt_sink_options *options)
{
	int own, error;

	if (!options->owner)
		return create_in(sink, folder, directory, options);
	if (gt_owner_claim(folder, options->owner)) {
		error = create_in(sink, folder, directory, options);
		if (!error)
			gt_owner_tell(folder, options->owner, strrchr(sink->path, '/') + 1);
		return error;
	}
	if (mkdirat(folder, options->aside, 0777) < 0 && errno != EEXIST)
		return -errno;
	own = openat(folder, options->aside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (own < 0)
		return -errno;
	error = check_folder(own);
	if (!error)
		error = create_in(sink, own, directory, options);
	close(own);
	return error;
}

static int open_in_folder(struct gt_sink *sink, const char *directory,
			  const struct gt_sink_options *options)
{
	char trimmed[PATH_MAX];
	size_t length = strlen(directory);
	int folder, error;

	/* a slash at the end would make open() follow a link */
	while (length > 1 && directory[length - 1] == '/')
		length--;
	if (length == 0 || length >= sizeof(trimmed))
		return length ? -ENAMETOOLONG : -ENOENT;
	memcpy(trimmed, directory, length);
	trimmed[length] = '\0';
	folder = open_folder(trimmed);
	if (folder < 0)
		return folder;
	error = create_where_due(sink, folder, trimmed, options);
	close(folder);
	return error;
}

/* A FIFO or device in the place of the folder, given by the user to stream to. */
static bool is_stream(const char *path)
{
	struct stat st;

	if (gt_sys_lstat(path, &st) < 0)
		return false;
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return false;
	return st.st_uid == geteuid() || st.st_uid == 0;
}

static int open_stream(struct gt_sink *sink, const char *path)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	sink->stream = true;
	gt_text_format(sink->path, sizeof(sink->path), "%s", path);
	return adopt(sink, fd);
}

static int open_somewhere(struct gt_sink *sink, const struct gt_sink_options *options)
{
	const char *fallback =
		options->fallback && options->fallback[0] ? options->fallback : "/tmp";
	struct gt_sink_options shared = *options; /* a folder of everybody's has no owner */
	int error;

	if (is_stream(options->directory))
		error = open_stream(sink, options->directory);
	else
		error = open_in_folder(sink, options->directory, options);
	if (error == 0)
		return 0;
	gt_log_say("cannot write to %s (%s, error %d)", options->directory, reason_of(error),
		   -error);
	sink->stream = false;
	shared.owner = NULL;
	if (open_in_folder(sink, fallback, &shared) < 0)
		return error;
	gt_log_say("writing to %s instead", sink->path);
	return 0;
}

struct gt_sink *gt_sink_open(const struct gt_sink_options *options, int *ret_error)
{
	struct gt_sink *sink = gt_memory_map(sizeof(*sink));
	int error;

	if (!sink) {
		*ret_error = -ENOMEM;
		return NULL;
	}
	sink->fd = -1;
	sink->max_size = options->max_size;
	error = open_somewhere(sink, options);
	if (error < 0) {
		gt_memory_unmap(sink, sizeof(*sink));
		*ret_error = error;
		return NULL;
	}
	return sink;
}

static bool is_ours(const struct gt_sink *sink, int fd)
{
	struct stat st;

	return gt_sys_fstat(fd, &st) == 0 && st.st_dev == sink->device && st.st_ino == sink->inode;
}

/* The program closed our descriptor, or its number is something of the program's by now: the number
 * is left alone and the file opened again, if it is still the same file. */
static int recover(struct gt_sink *sink)
{
	int fd = -1;

	if (!sink->stream)
		fd = open(sink->path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && is_ours(sink, fd)) {
		sink->fd = move_high(fd);
		return 0;
	}
	if (fd >= 0)
		close(fd);
	sink->fd = -1;
	sink->lost = -EBADF;
	return -EBADF;
}

static int make_sure(struct gt_sink *sink)
{
	if (sink->lost)
		return sink->lost;
	return is_ours(sink, sink->fd) ? 0 : recover(sink);
}

/* Waits until a stream's reader has made room. */
static int wait_for_reader(const struct gt_sink *sink)
{
	struct pollfd wait = {.fd = sink->fd, .events = POLLOUT};

	return poll(&wait, 1, STREAM_PATIENCE_MS) == 0 ? -EAGAIN : 0;
}

static int write_all(struct gt_sink *sink, uint64_t offset, const char *data, size_t size)
{
	int error = 0;
	ssize_t n;

	while (size && !error) {
		if (sink->stream)
			n = write(sink->fd, data, size);
		else
			n = pwrite(sink->fd, data, size, (off_t)offset);
		if (n > 0) {
			data += n;
			offset += (uint64_t)n;
			size -= (size_t)n;
		} else if (n == 0) {
			error = -EIO;
		} else if (errno == EAGAIN && sink->stream) {
			error = wait_for_reader(sink);
		} else if (errno != EINTR) {
			error = -errno;
		}
	}
	return error;
}

static int report(struct gt_sink *sink, int error)
{
	if (error < 0 && !sink->failure_said) {
		sink->failure_said = true;
		gt_log_say("%s: cannot write (%s, error %d)", sink->path, reason_of(error), -error);
	}
	return error;
}

int gt_sink_write(struct gt_sink *sink, uint64_t offset, const void *data, size_t size)
{
	int saved_errno = errno;
	int error = make_sure(sink);

	if (!error && size > gt_sink_room(sink, offset))
		error = -EFBIG;
	if (!error)
		error = write_all(sink, offset, data, size);
	errno = saved_errno;
	return report(sink, error);
}

int gt_sink_truncate(struct gt_sink *sink, uint64_t size)
{
	int error = sink->stream ? -ESPIPE : make_sure(sink);

	return error ? error : error_of(ftruncate(sink->fd, (off_t)size));
}

bool gt_sink_can_patch(const struct gt_sink *sink)
{
	return !sink->stream;
}

uint64_t gt_sink_room(const struct gt_sink *sink, uint64_t offset)
{
	if (sink->max_size == 0)
		return UINT64_MAX;
	return offset < sink->max_size ? sink->max_size - offset : 0;
}

const char *gt_sink_path(const struct gt_sink *sink)
{
	return sink->path;
}

void gt_sink_close(struct gt_sink *sink)
{
	if (!sink)
		return;
	if (sink->fd >= 0 && is_ours(sink, sink->fd))
		close(sink->fd);
	gt_memory_unmap(sink, sizeof(*sink));
}

void gt_sink_discard(struct gt_sink *sink)
{
	struct stat st;

	if (!sink->stream && !gt_sys_lstat(sink->path, &st) && st.st_dev == sink->device &&
	    st.st_ino == sink->inode)
		unlink(sink->path);
	gt_sink_close(sink);
}
