/* SPDX-License-Identifier: Apache-2.0
 *
 * The tracer's files on tmpfs (core/shared_file.h), as the commands find them: spools, mailboxes. A
 * file is accepted only in a folder on tmpfs that the tracer chooses by itself or that the user
 * names, and only when it is this user's. One thread.
 */
#ifndef GT_RECOVER_SHARED_FILES_H
#define GT_RECOVER_SHARED_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#define GT_SHARED_FOLDERS_MAX 4

/* Where they may be. */
struct gt_shared_folders {
	const char *path[GT_SHARED_FOLDERS_MAX];
	struct stat st[GT_SHARED_FOLDERS_MAX];
	size_t count;
};

/* Adds a folder, if @path is one and not yet among them; NULL: none. The path is kept. */
void gt_shared_folders_add(struct gt_shared_folders *folders, const char *path);

/* Whether the folder with @st is among them. */
bool gt_shared_folders_have(const struct gt_shared_folders *folders, const struct stat *st);

/* Opens a folder on tmpfs in which nobody can exchange the files of others. -1: it is none. */
int gt_shared_folder_open(const char *path);

/* Whether @name is one that the tracer gives to such files. */
bool gt_shared_file_is_named(const char *name, const char *suffix);

/* Only the owner, this user, can change the file. */
bool gt_shared_file_is_own(const struct stat *st);

/* Opens such a file, @how O_RDONLY or O_RDWR, close on exec; nothing else is opened: to open a
 * device may do something. -1: it is none of this user's. */
int gt_shared_file_open(int folder, const char *name, int how);

/* Calls @found for each name with this suffix in the folders, whosever file it is. */
void gt_shared_files_each(const struct gt_shared_folders *folders, const char *suffix,
			  void (*found)(int folder, const char *path, const char *name,
					void *context),
			  void *context);

#endif
