/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace file as a descriptor in somebody else's process: the program may close it, open
 * something else under its number, or fill the disk. Drain thread only; no stdio, no strerror.
 */
#include "writers/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/walk.h"
#include "writers/deflate.h"
#include "writers/owner.h"
#include "writers/sink_state.h"

#define OVERLAYFS_TYPE 0x794c7630
#define NAME_TRIES     1000u
#define CLOSED_TRIES   100u
#define FILE_MODE      0600 /* traces show what a program does: private to its owner */
#define FOLDER_MODE    0775 /* a world-writable folder is refused */

const char *gt_sink_reason(int error, char *text, size_t size)
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
		{-EPERM, "not permitted: not ours, open to others, or a seccomp filter"},
		{-EROFS, "read-only"},
		{-ENOENT, "not there"},
		{-ENOTDIR, "not a folder"},
		{-ELOOP, "a symbolic link of somebody else"},
		{-EBADF, "the program closed it"},
		{-EPIPE, "nobody reads it"},
		{-ENXIO, "nobody reads it"},
		{-EAGAIN, "its reader stopped reading"},
		{-ENAMETOOLONG, "name too long"},
		{-EMFILE, "too many open files"},
		{-ENFILE, "too many open files"},
		{-ENOMEM, "not enough memory"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].error == error)
			return reasons[i].words;
	gt_text_format(text, size, "error %d", -error);
	return text;
}

/* Other users must not be able to replace our file. A folder of one other user is fine: a
 * container's root writes into folders of a user outside, and O_EXCL with O_NOFOLLOW never opens a
 * planted file. */
static bool is_private(mode_t mode)
{
	return !(mode & S_IWOTH) || (mode & S_ISVTX);
}

static int check_private(struct gt_descriptor *folder)
{
	if (is_private(folder->mode))
		return 0;
	gt_descriptor_close(folder);
	return -EPERM;
}

static int open_folder(struct gt_descriptor *folder, const char *directory, mode_t make)
{
	int error = gt_walk_open(folder, directory, O_RDONLY, make);

	return error ? error : check_private(folder);
}

/* False for a stream. */
static bool file_system_of(const struct gt_sink *sink, struct statfs *ret_fs)
{
	int saved_errno = errno;
	bool known = !sink->stream && gt_seccomp_permits(GT_SYS_fstatfs) &&
		     !fstatfs(sink->file.fd, ret_fs);

	errno = saved_errno;
	return known;
}

bool gt_sink_is_in_memory(const struct gt_sink *sink)
{
	struct statfs fs;

	return file_system_of(sink, &fs) && gt_sys_is_memory(&fs);
}

static void watch_page_cache(struct gt_sink *sink)
{
	struct statfs fs;

	if (!sink->unsaved || !file_system_of(sink, &fs) || gt_sys_is_memory(&fs))
		return;
	sink->behind.unsaved = sink->unsaved;
	sink->behind.stacked = fs.f_type == OVERLAYFS_TYPE;
}

void gt_sink_set_max_size(struct gt_sink *sink, uint64_t bytes)
{
	sink->max_size = bytes;
}

/* Adopts @file if it is what it should be. */
static int adopt(struct gt_sink *sink, struct gt_descriptor *file)
{
	if (!sink->stream && !S_ISREG(file->mode)) {
		gt_descriptor_close(file);
		return -EPERM;
	}
	sink->file = *file;
	watch_page_cache(sink);
	return 0;
}

/* The folder's real path, so that the file is found again after chdir. */
static size_t folder_path(int folder, const char *directory, char *out, size_t size)
{
	char link[64];
	ssize_t length;

	gt_text_format(link, sizeof(link), "/proc/self/fd/%d", folder);
	length = gt_seccomp_permits(GT_SYS_readlink) ? readlink(link, out, size - 1) : 0;
	if (length <= 0)
		return gt_text_format(out, size, "%s", directory);
	out[length] = '\0';
	return (size_t)length;
}

/* The part "name.1" of "/folder/name.1.pftrace". */
static void remember_name(struct gt_sink *sink, size_t base, const struct gt_sink_options *options)
{
	sink->name_at = base + 1;
	sink->name_length = strlen(sink->path) - base - 1 - strlen(options->suffix);
}

/* The claim holds while the file that it names exists. */
static void own_claim(struct gt_sink *sink, int folder, const char *owner)
{
	gt_text_format(sink->owner, sizeof(sink->owner), "%s", owner);
	gt_owner_set_trace(folder, owner, strrchr(sink->path, '/') + 1);
}

static void remove_in(int folder, const char *name)
{
	if (gt_seccomp_permits(GT_SYS_unlinkat))
		unlinkat(folder, name, 0);
}

/* Creates the file under the first name that is free. */
static int create_in(struct gt_sink *sink, int folder, const char *directory,
		     const struct gt_sink_options *options)
{
	size_t base = folder_path(folder, directory, sink->path, sizeof(sink->path));
	char *name = sink->path + base;
	size_t room = sizeof(sink->path) - base;
	struct gt_descriptor file;
	int error;

	if (room < strlen(options->name) + strlen(options->suffix) + 16)
		return -ENAMETOOLONG;
	for (unsigned int i = 0; i < NAME_TRIES; i++) {
		if (i == 0)
			gt_text_format(name, room, "/%s%s", options->name, options->suffix);
		else
			gt_text_format(name, room, "/%s.%u%s", options->name, i, options->suffix);
		error = gt_descriptor_open(&file, folder, name + 1,
					   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, FILE_MODE);
		if (!error) {
			if ((file.mode & 0777) != FILE_MODE && gt_seccomp_permits(GT_SYS_fchmod))
				fchmod(file.fd, FILE_MODE); /* after the program's umask */
			remember_name(sink, base, options);
			return adopt(sink, &file);
		}
		if (error == -ESTALE) /* created, but the descriptor was lost */
			remove_in(folder, name + 1);
		else if (error != -EEXIST)
			return error;
	}
	return -EEXIST;
}

static int create_aside(struct gt_sink *sink, int folder, const char *directory,
			const struct gt_sink_options *options)
{
	struct gt_descriptor own;
	int error;

	if (!gt_seccomp_permits(GT_SYS_mkdirat))
		return -EPERM;
	if (mkdirat(folder, options->aside, FOLDER_MODE) < 0 && errno != EEXIST)
		return -errno;
	error = gt_descriptor_open(&own, folder, options->aside,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
	if (!error)
		error = check_private(&own);
	if (!error)
		error = create_in(sink, own.fd, directory, options);
	gt_descriptor_close(&own);
	return error;
}

/* In the folder itself or, when another process of the rank writes there, in a sub-folder.
 * *@claimed stays set when the program closed the folder before the file was created. */
static int create_where_due(struct gt_sink *sink, const struct gt_descriptor *folder,
			    const char *directory, const struct gt_sink_options *options,
			    bool *claimed)
{
	int error, claim = 1;

	if (options->owner && !*claimed)
		claim = gt_owner_claim(folder->fd, options->owner);
	if (claim == 0)
		return create_aside(sink, folder->fd, directory, options);
	error = create_in(sink, folder->fd, directory, options);
	if (!options->owner)
		return error;
	*claimed = claim > 0;
	if (!error) {
		own_claim(sink, folder->fd, options->owner);
	} else if (*claimed && gt_descriptor_is_ours(folder)) {
		gt_owner_release(folder->fd, options->owner);
		*claimed = false;
	}
	return error;
}

/* A program may close all numbers at any moment, and the command of another rank, which had nothing
 * to write, removes the folder as long as it is empty: then try again. */
static int open_and_create(struct gt_sink *sink, const char *directory,
			   const struct gt_sink_options *options)
{
	struct gt_descriptor folder;
	bool claimed = false, is_lost = true;
	int error = -EBADF;

	for (unsigned int i = 0; is_lost && i < CLOSED_TRIES; i++) {
		error = open_folder(&folder, directory, FOLDER_MODE);
		is_lost = error == -ESTALE || error == -ENOENT;
		if (!error) {
			error = create_where_due(sink, &folder, directory, options, &claimed);
			is_lost = error == -ENOENT || (error && !gt_descriptor_is_ours(&folder));
		}
		gt_descriptor_close(&folder);
	}
	return error;
}

/* A FIFO or device in place of the folder, given by the user to stream to. */
static bool is_stream(const char *path)
{
	struct stat st;

	if (gt_sys_lstat(path, &st) < 0)
		return false;
	if (!S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode))
		return false;
	return st.st_uid == gt_sys_user() || st.st_uid == 0;
}

static int open_stream(struct gt_sink *sink, const char *path)
{
	char directory[PATH_MAX];
	struct gt_descriptor folder, file;
	const char *name = gt_walk_split(path, directory, sizeof(directory));
	int error = name ? gt_walk_open(&folder, directory, O_PATH, 0) : -ENOENT;

	if (error)
		return error;
	error = gt_descriptor_open(&file, folder.fd, name,
				   O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	gt_descriptor_close(&folder);
	if (error)
		return error;
	sink->stream = true;
	gt_text_format(sink->path, sizeof(sink->path), "%s", path);
	return adopt(sink, &file);
}

static int open_somewhere(struct gt_sink *sink, const struct gt_sink_options *options)
{
	const char *fallback =
		options->fallback && options->fallback[0] ? options->fallback : "/tmp";
	struct gt_sink_options shared = *options; /* the fallback folder has no owner */
	char number[32];
	int error;

	if (is_stream(options->directory))
		error = open_stream(sink, options->directory);
	else
		error = open_and_create(sink, options->directory, options);
	if (error == 0)
		return 0;
	if (error != options->known)
		gt_log_say("cannot write to %s (%s)", options->directory,
			   gt_sink_reason(error, number, sizeof(number)));
	sink->stream = false;
	shared.owner = NULL;
	if (open_and_create(sink, fallback, &shared) < 0)
		return error;
	gt_log_say("writing to %s instead", sink->path);
	sink->refused = error;
	return 0;
}

/* Said once. A build that cannot compress says it at its start. */
static void say_plain(const char *why)
{
	static bool is_said;

	if (!is_said && gt_deflate_is_there())
		gt_log_say("the trace is not compressed: %s", why);
	is_said = true;
}

/* Makes the sink ready to compress, or not. */
static void choose_form(struct gt_sink *sink, const struct gt_sink_options *options)
{
	bool packs = false;

	if (options->packs && is_stream(options->directory))
		say_plain("it goes into a pipe or device, whose reader can do that");
	else if (options->packs && !(packs = gt_sink_pack(sink)))
		say_plain("no memory");
	gt_text_format(sink->suffix, sizeof(sink->suffix), "%s%s", options->suffix,
		       packs ? ".gz" : "");
}

struct gt_sink *gt_sink_open(const struct gt_sink_options *options, int *ret_error)
{
	struct gt_sink *sink = gt_memory_map(sizeof(*sink));
	struct gt_sink_options chosen = *options;
	int error;

	if (!sink) {
		*ret_error = -ENOMEM;
		return NULL;
	}
	sink->file = GT_DESCRIPTOR_NONE;
	sink->known = options->known;
	sink->max_size = options->max_size;
	sink->unsaved = options->unsaved;
	choose_form(sink, options);
	chosen.suffix = sink->suffix;
	error = open_somewhere(sink, &chosen);
	if (error < 0) {
		gt_packed_free(sink->packed);
		gt_memory_unmap(sink, sizeof(*sink));
		*ret_error = error;
		return NULL;
	}
	return sink;
}

/* Owns @fd, also after a failure. */
static struct gt_sink *take_descriptor(int fd, int *ret_error)
{
	struct gt_sink *sink = gt_memory_map(sizeof(*sink));
	struct stat st;

	*ret_error = sink ? gt_sys_fstat(fd, &st) : -ENOMEM;
	if (*ret_error) {
		close(fd);
		if (sink)
			gt_memory_unmap(sink, sizeof(*sink));
		return NULL;
	}
	sink->file = (struct gt_descriptor){
		.fd = fd, .device = st.st_dev, .inode = st.st_ino, .mode = st.st_mode};
	return sink;
}

struct gt_sink *gt_sink_open_pipe(int fd, int *ret_error)
{
	struct gt_sink *sink = take_descriptor(fd, ret_error);

	if (sink)
		sink->stream = true;
	return sink;
}

struct gt_sink *gt_sink_open_file(int fd, const char *path, int *ret_error)
{
	struct gt_sink *sink = take_descriptor(fd, ret_error);

	if (sink)
		gt_text_format(sink->path, sizeof(sink->path), "%s", path);
	return sink;
}

static int open_next(struct gt_sink *sink, const struct gt_sink *before, unsigned int number)
{
	char directory[PATH_MAX], name[NAME_MAX + 1];
	struct gt_sink_options options = {.name = name, .suffix = before->suffix};
	struct gt_descriptor folder;
	size_t length = before->name_at - 1;
	int error;

	memcpy(directory, before->path, length);
	directory[length] = 0;
	/* the name of the first file, where the number replaces an earlier one */
	length = before->name_length;
	memcpy(name, before->path + before->name_at, length);
	gt_text_format(name + length, sizeof(name) - length, ".part%u", number);
	error = open_folder(&folder, directory, 0);
	if (error)
		return error;
	error = create_in(sink, folder.fd, directory, &options);
	if (!error)
		sink->name_length = length;
	if (!error && before->owner[0])
		own_claim(sink, folder.fd, before->owner);
	gt_descriptor_close(&folder);
	return error;
}

struct gt_sink *gt_sink_open_next(const struct gt_sink *before, unsigned int number, int *ret_error)
{
	struct gt_sink *sink = before->stream ? NULL : gt_memory_map(sizeof(*sink));

	*ret_error = before->stream ? -ESPIPE : -ENOMEM;
	if (!sink)
		return NULL;
	sink->file = GT_DESCRIPTOR_NONE;
	sink->max_size = before->max_size;
	sink->unsaved = before->unsaved;
	memcpy(sink->suffix, before->suffix, sizeof(sink->suffix));
	if (!before->packed || gt_sink_pack(sink))
		*ret_error = open_next(sink, before, number);
	if (*ret_error == 0)
		return sink;
	gt_packed_free(sink->packed);
	gt_memory_unmap(sink, sizeof(*sink));
	return NULL;
}

int gt_sink_refused(const struct gt_sink *sink)
{
	return sink->refused;
}

const char *gt_sink_path(const struct gt_sink *sink)
{
	return sink->path;
}

void gt_sink_close(struct gt_sink *sink)
{
	if (!sink)
		return;
	gt_descriptor_close(&sink->file);
	gt_packed_free(sink->packed);
	gt_memory_unmap(sink, sizeof(*sink));
}

size_t gt_sink_bytes(const struct gt_sink *sink)
{
	return sink && sink->packed ? gt_packed_bytes() : 0;
}

void gt_sink_retire(struct gt_sink *sink)
{
	gt_descriptor_close(&sink->file);
	gt_packed_free(sink->packed);
	sink->packed = NULL;
	sink->lost = -EBADF;
}

/* The name, if it still is that of the file. */
static void remove_file(const struct gt_sink *sink)
{
	char directory[PATH_MAX];
	const char *name = gt_walk_split(sink->path, directory, sizeof(directory));
	struct gt_descriptor folder;
	struct stat st;

	if (!name || gt_walk_open(&folder, directory, O_PATH, 0))
		return;
	if (!gt_sys_fstatat(folder.fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	    st.st_dev == sink->file.device && st.st_ino == sink->file.inode)
		remove_in(folder.fd, name);
	gt_descriptor_close(&folder);
}

void gt_sink_discard(struct gt_sink *sink)
{
	if (!sink->stream)
		remove_file(sink);
	gt_sink_close(sink);
}
