/* SPDX-License-Identifier: Apache-2.0
 *
 * See newest.h. A run is named by its time; one that is named by its job has the time of its
 * folder.
 */
#include "cli/newest.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/run_name.h"

/* When the run of folder @name began, seconds since 1970; -1: it is no folder. */
static int64_t time_of(int parent, const char *name)
{
	struct stat status;
	struct tm parts = {.tm_isdst = -1};
	const char *end = strptime(name, "%Y%m%d-%H%M%S", &parts);

	if (*name == '.' || fstatat(parent, name, &status, 0) < 0 || !S_ISDIR(status.st_mode))
		return -1;
	return end && *end == '-' ? mktime(&parts) : status.st_mtime;
}

int gt_newest_run(char *ret_path, size_t size)
{
	DIR *folder = opendir(GT_RUN_PARENT);
	int64_t newest = -1;

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		int64_t when = time_of(dirfd(folder), entry->d_name);

		if (when > newest || (when == newest && when >= 0 &&
				      strcmp(entry->d_name, strrchr(ret_path, '/') + 1) > 0)) {
			newest = when;
			snprintf(ret_path, size, GT_RUN_PARENT "/%s", entry->d_name);
		}
	}
	if (folder)
		closedir(folder);
	return newest < 0 ? -ENOENT : 0;
}
