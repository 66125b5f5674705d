/* SPDX-License-Identifier: Apache-2.0
 *
 * Left spools, see the header.
 */
#include "recover/spools.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/guest/sys.h"
#include "core/spool_view.h"
#include "recover/liveness.h"

#define FOLDERS_MAX 4

/* ---- what is accepted ---- */

/* Only the owner can change the file. */
static bool is_own_file(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

static bool has_name_of_spool(const char *name)
{
	size_t length = strlen(name), end = strlen(GT_SPOOL_SUFFIX);

	return length > end && !strncmp(name, GT_SPOOL_PREFIX, strlen(GT_SPOOL_PREFIX)) &&
	       !strcmp(name + length - end, GT_SPOOL_SUFFIX);
}

/* A folder on tmpfs in which nobody can exchange the files of others. -1: it is none. */
static int open_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstatfs(fd, &fs) && (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC) &&
	    !fstat(fd, &st) && (!(st.st_mode & 022) || st.st_mode & S_ISVTX))
		return fd;
	close(fd);
	return -1;
}

/* Nothing but a file of ours is opened: to open a device may do something. */
static int open_file(int folder, const char *name)
{
	struct stat st;
	int fd;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !is_own_file(&st))
		return -1;
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || (!fstat(fd, &st) && is_own_file(&st)))
		return fd;
	close(fd);
	return -1;
}

/* Splits @path; ret_folder has PATH_MAX bytes. NULL: it has no folder. */
static const char *split(const char *path, char *ret_folder)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (!slash || length >= PATH_MAX)
		return NULL;
	memcpy(ret_folder, path, length);
	memcpy(ret_folder + length, "/", length ? 1 : 2);
	ret_folder[length ? length : 1] = 0;
	return slash + 1;
}

int gt_spool_open(const struct gt_left_spool *spool)
{
	char path[PATH_MAX];
	const char *name = split(spool->path, path);
	int folder = name ? open_folder(path) : -1;
	int fd = folder < 0 ? -1 : open_file(folder, name);

	if (folder >= 0)
		close(folder);
	return fd;
}

/* ---- one spool ---- */

static bool is_running(const struct gt_spool_header *header)
{
	char boot_id[sizeof(header->boot_id)] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, boot_id, sizeof(boot_id) - 1) < 0)
		*boot_id = 0;
	if (fd >= 0)
		close(fd);
	boot_id[strcspn(boot_id, "\n")] = 0;
	return !strcmp(boot_id, header->boot_id) &&
	       gt_sys_start_ticks((int)header->pid) == header->start_ticks &&
	       gt_process_is_alive((int64_t)header->pid);
}

static bool inspect(int fd, const char *path, struct gt_left_spool *ret_spool)
{
	static struct gt_spool_header header;
	struct gt_spool_view view;
	struct stat st;

	if (read(fd, &header, sizeof(header)) != (ssize_t)sizeof(header) ||
	    gt_spool_view_init(&view, &header, sizeof(header)) || fstat(fd, &st))
		return false;
	*ret_spool = (struct gt_left_spool){.pid = (int)header.pid,
					    .bytes = (uint64_t)st.st_blocks * 512};
	snprintf(ret_spool->path, sizeof(ret_spool->path), "%s", path);
	snprintf(ret_spool->folder, sizeof(ret_spool->folder), "%s", header.folder);
	snprintf(ret_spool->trace, sizeof(ret_spool->trace), "%s", header.trace);
	if (!header.build_id[strspn(header.build_id, "0123456789abcdef")])
		memcpy(ret_spool->build_id, header.build_id, sizeof(ret_spool->build_id));
	ret_spool->running = is_running(&header);
	return true;
}

/* ---- where they are ---- */

struct spool_folders {
	const char *path[FOLDERS_MAX];
	struct stat st[FOLDERS_MAX];
	size_t count;
};

static bool is_among(const struct spool_folders *folders, const struct stat *st)
{
	for (size_t i = 0; i < folders->count; i++)
		if (folders->st[i].st_dev == st->st_dev && folders->st[i].st_ino == st->st_ino)
			return true;
	return false;
}

static void add_folder(struct spool_folders *folders, const char *path)
{
	struct stat st;

	if (!path || stat(path, &st) || is_among(folders, &st))
		return;
	folders->path[folders->count] = path;
	folders->st[folders->count++] = st;
}

/* GPUTRACE_SPOOL may be a word; a relative folder was the traced process's. */
static void list_folders(const char *more, struct spool_folders *ret_folders)
{
	const char *chosen = getenv("GPUTRACE_SPOOL");

	ret_folders->count = 0;
	add_folder(ret_folders, "/dev/shm");
	add_folder(ret_folders, getenv("XDG_RUNTIME_DIR"));
	add_folder(ret_folders, chosen && *chosen == '/' ? chosen : NULL);
	add_folder(ret_folders, more);
}

static void look_into(const char *path,
		      void (*found)(const struct gt_left_spool *spool, void *context),
		      void *context)
{
	static struct gt_left_spool spool;
	int folder = open_folder(path);
	DIR *entries = folder < 0 ? NULL : fdopendir(folder);
	struct dirent *entry;
	char file[PATH_MAX];

	while (entries && (entry = readdir(entries))) {
		int fd = has_name_of_spool(entry->d_name) ? open_file(folder, entry->d_name) : -1;
		bool is_spool;

		if (fd < 0)
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		is_spool = inspect(fd, file, &spool);
		close(fd);
		if (is_spool)
			found(&spool, context);
	}
	if (entries)
		closedir(entries);
	else if (folder >= 0)
		close(folder);
}

void gt_spools_each(const char *more,
		    void (*found)(const struct gt_left_spool *spool, void *context), void *context)
{
	struct spool_folders folders;

	list_folders(more, &folders);
	for (size_t i = 0; i < folders.count; i++)
		look_into(folders.path[i], found, context);
}

bool gt_spools_leave_out(const char *more, const char *path)
{
	struct spool_folders folders;
	char folder_path[PATH_MAX];
	const char *name = *path == '/' ? split(path, folder_path) : NULL;
	int folder = name && has_name_of_spool(name) ? open_folder(folder_path) : -1;
	struct stat st;
	bool is_there;

	if (folder < 0)
		return false;
	is_there = !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && is_own_file(&st) &&
		   !fstat(folder, &st);
	close(folder);
	list_folders(more, &folders);
	return is_there && !is_among(&folders, &st);
}
