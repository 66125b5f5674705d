/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder that stands in for /, with files that a test puts there.
 */
#ifndef GT_TESTS_TREE_H
#define GT_TESTS_TREE_H

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void tree_check(int is_fine, const char *what)
{
	if (is_fine)
		return;
	perror(what);
	abort();
}

static inline void tree_make(char *ret_root, size_t size)
{
	snprintf(ret_root, size, "%s/gputrace-tree-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	tree_check(mkdtemp(ret_root) != NULL, ret_root);
}

/* @path below @root, with its folders. */
static inline void tree_put(const char *root, const char *path, const char *text)
{
	char whole[2 * PATH_MAX];
	size_t size = strlen(text);
	int fd;

	snprintf(whole, sizeof(whole), "%s%s", root, path);
	for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		mkdir(whole, 0700);
		*slash = '/';
	}
	fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	tree_check(fd >= 0 && write(fd, text, size) == (ssize_t)size, whole);
	close(fd);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static inline void tree_remove(const char *root)
{
	tree_check(!nftw(root, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS), root);
}

/* How many descriptors the process has. */
static inline int tree_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (folder && readdir(folder))
		n++;
	if (folder)
		closedir(folder);
	return n;
}

#endif
