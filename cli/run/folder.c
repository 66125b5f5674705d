/* SPDX-License-Identifier: Apache-2.0
 *
 * See folder.h. The ranks of a job must find the same name; without ranks, or with only one, each
 * run has a name of its own.
 */
#include "cli/run/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/sys.h"
#include "core/walk.h"
#include "core/identity.h"
#include "core/pattern.h"
#include "core/run_name.h"
#include "trace/first_block.h"

/* ---- its name ---- */

/* "YYYYmmdd-HHMMSS-NUMBER" */
static void name_by_time(time_t when, int number, char *ret_name, size_t size)
{
	char date[32] = "";
	struct tm parts;

	if (localtime_r(&when, &parts))
		strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &parts);
	snprintf(ret_name, size, "%s-%d", date, number);
}

/* When the system started, seconds since 1970. 0: not known. */
static time_t boot_time(void)
{
	FILE *file = fopen("/proc/stat", "re");
	long long seconds = 0;
	char line[4096];

	while (file && !seconds && fgets(line, sizeof(line), file))
		if (!strncmp(line, "btime ", 6))
			seconds = strtoll(line + 6, NULL, 10);
	if (file)
		fclose(file);
	return (time_t)seconds;
}

/* By the start of the process that stands for all: the same for all processes of one command line
 * on a host. */
static void name_by_group(char *ret_name, size_t size)
{
	int group = gt_run_name_group();
	uint64_t ticks = gt_sys_start_ticks(group);

	if (!ticks)
		ticks = gt_sys_start_ticks((int)getpid());
	name_by_time(boot_time() + (time_t)(ticks / (uint64_t)sysconf(_SC_CLK_TCK)), group,
		     ret_name, size);
}

static void name_run(char *ret_name, size_t size)
{
	if (!gt_identity_has_peers())
		name_by_time(time(NULL), (int)getpid(), ret_name, size);
	else if (!gt_run_name_of_job(ret_name, size))
		name_by_group(ret_name, size);
}

static const char *lookup(const char *name)
{
	return getenv(name);
}

/* @name with the working folder in front, by the path that the shell shows, and no slash at the
 * end. */
static int make_absolute(const char *name, char *ret_path)
{
	char *working = *name == '/' ? NULL : get_current_dir_name();
	const char *slash = working && working[strlen(working) - 1] != '/' ? "/" : "";
	int length = snprintf(ret_path, PATH_MAX, "%s%s%s", working ? working : "", slash, name);

	free(working);
	if (length >= PATH_MAX)
		return -ENAMETOOLONG;
	while (length > 1 && ret_path[length - 1] == '/')
		ret_path[--length] = 0;
	return 0;
}

static const char *find_fallback(void)
{
	const char *temporary = getenv("TMPDIR");

	return temporary && *temporary ? temporary : "/tmp";
}

int gt_folder_find(const char *given, struct gt_folder *ret_folder)
{
	char name[PATH_MAX], run[GT_RUN_NAME_BYTES];
	int error = 0;

	ret_folder->state = GT_FOLDER_KEPT;
	ret_folder->fallback = find_fallback();
	if (*given) {
		error = gt_pattern_expand(given, lookup, name, sizeof(name));
	} else {
		name_run(run, sizeof(run));
		snprintf(name, sizeof(name), GT_RUN_PARENT "/%s", run);
	}
	return error ? error : make_absolute(name, ret_folder->path);
}

/* ---- the folder itself ---- */

static int make(const char *path, mode_t mask)
{
	struct gt_descriptor made;
	int error;

	umask(mask);
	error = gt_walk_open(&made, path, O_PATH, 0777);
	gt_descriptor_close(&made);
	return error;
}

/* How many bytes of @path are the path of a folder that is there. */
static size_t find_above(const char *path)
{
	char above[PATH_MAX], *slash = above;
	struct stat st;

	snprintf(above, sizeof(above), "%s", path);
	while (slash && stat(above, &st)) {
		slash = strrchr(above, '/');
		above[slash ? slash - above : 0] = 0;
	}
	return strlen(above);
}

/* Parents are created writable for their owner, whatever the umask is, as mkdir -p does. */
static int make_all(const char *path, mode_t mask)
{
	char above[PATH_MAX];
	int error = 0;

	if (gt_walk_split(path, above, sizeof(above)))
		error = make(above, mask & ~(mode_t)0300);
	return error ? error : make(path, mask);
}

/* Whether it can be written, and no link of another user leads to it. */
static int check(const char *path)
{
	struct gt_descriptor folder;
	int error = gt_walk_open(&folder, path, O_PATH, 0);

	gt_descriptor_close(&folder);
	return !error && access(path, W_OK) ? -errno : error;
}

int gt_folder_make(struct gt_folder *folder)
{
	mode_t mask = umask(0);
	struct stat st;
	int error = 0;

	if (stat(folder->path, &st)) {
		folder->state = GT_FOLDER_MADE;
		folder->above = find_above(folder->path);
		error = make_all(folder->path, mask | 0002);
	} else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)) {
		folder->state = GT_FOLDER_STREAM;
	} else if (!S_ISDIR(st.st_mode)) {
		error = -ENOTDIR;
	} else {
		error = check(folder->path);
	}
	umask(mask);
	if (error)
		folder->state = GT_FOLDER_REFUSED;
	return error;
}

/* 0 or a negative errno; a full disk may show only at the end. */
static int write_block(int fd)
{
	static const char block[GT_FIRST_BLOCK];
	size_t done = 0;

	while (done < sizeof(block)) {
		ssize_t n = write(fd, block + done, sizeof(block) - done);

		if (n < 0 && errno != EINTR) {
			int error = -errno;

			close(fd);
			return error;
		}
		done += n > 0 ? (size_t)n : 0;
	}
	return close(fd) ? -errno : 0;
}

int gt_folder_try(const char *path)
{
	char name[64];
	struct gt_descriptor folder;
	int fd, error = gt_walk_open(&folder, path, O_PATH, 0);

	if (error)
		return error;
	snprintf(name, sizeof(name), "/proc/self/fd/%d/.gputrace-XXXXXX", folder.fd);
	fd = mkostemp(name, O_CLOEXEC);
	error = fd < 0 ? -errno : write_block(fd);
	if (fd >= 0)
		unlink(name);
	gt_descriptor_close(&folder);
	return error;
}

static bool is_parent_of_runs(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, GT_RUN_PARENT);
}

void gt_folder_remove_empty(const struct gt_folder *folder)
{
	char path[PATH_MAX], above[PATH_MAX];

	if (folder->state != GT_FOLDER_MADE)
		return;
	snprintf(path, sizeof(path), "%s", folder->path);
	while ((strlen(path) > folder->above || is_parent_of_runs(path)) &&
	       gt_walk_remove_empty(path, above, sizeof(above)))
		snprintf(path, sizeof(path), "%s", above);
}
