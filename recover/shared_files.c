/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "recover/shared_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/spool.h"

bool gt_shared_file_is_own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && !(st->st_mode & 022);
}

bool gt_shared_file_is_named(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strncmp(name, GT_SPOOL_PREFIX, strlen(GT_SPOOL_PREFIX)) &&
	       !strcmp(name + length - end, suffix);
}

int gt_shared_folder_open(const char *path)
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

int gt_shared_file_open(int folder, const char *name, int how)
{
	struct stat st;
	int fd;

	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) || !gt_shared_file_is_own(&st))
		return -1;
	fd = openat(folder, name, how | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || (!fstat(fd, &st) && gt_shared_file_is_own(&st)))
		return fd;
	close(fd);
	return -1;
}

bool gt_shared_folders_have(const struct gt_shared_folders *folders, const struct stat *st)
{
	for (size_t i = 0; i < folders->count; i++)
		if (folders->st[i].st_dev == st->st_dev && folders->st[i].st_ino == st->st_ino)
			return true;
	return false;
}

void gt_shared_folders_add(struct gt_shared_folders *folders, const char *path)
{
	struct stat st;

	if (!path || folders->count == GT_SHARED_FOLDERS_MAX || stat(path, &st) ||
	    gt_shared_folders_have(folders, &st))
		return;
	folders->path[folders->count] = path;
	folders->st[folders->count++] = st;
}

static void look_into(const char *path, const char *suffix,
		      void (*found)(int folder, const char *path, const char *name, void *context),
		      void *context)
{
	int folder = gt_shared_folder_open(path);
	DIR *entries = folder < 0 ? NULL : fdopendir(folder);
	struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (gt_shared_file_is_named(entry->d_name, suffix))
			found(folder, path, entry->d_name, context);
	if (entries)
		closedir(entries);
	else if (folder >= 0)
		close(folder);
}

void gt_shared_files_each(const struct gt_shared_folders *folders, const char *suffix,
			  void (*found)(int folder, const char *path, const char *name,
					void *context),
			  void *context)
{
	for (size_t i = 0; i < folders->count; i++)
		look_into(folders->path[i], suffix, found, context);
}
