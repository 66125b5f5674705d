/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The files tell who writes, recover/liveness.h whether it will write any more.
 */
#include "recover/writer_of.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "core/pattern.h"
#include "recover/liveness.h"

#define YOUNG_S 60 /* a tracer writes each half second while there is something to write */

/* What process @process is called where it lives: the last number of its NSpid. */
static int64_t own_number(const char *process)
{
	char path[300], line[512];
	int64_t number = -1;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/status", process);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		char *last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');

		if (last)
			number = strtoll(last, NULL, 10);
	}
	if (file)
		fclose(file);
	return number;
}

/* The link of a descriptor in /proc has the rights that it was opened with. */
static bool can_write(int folder, const char *descriptor)
{
	struct stat st;

	return !fstatat(folder, descriptor, &st, AT_SYMLINK_NOFOLLOW) && st.st_mode & S_IWUSR;
}

static bool thread_has_open(const char *process, const char *thread, const struct stat *trace,
			    bool to_write)
{
	char path[600];
	struct dirent *entry;
	struct stat st;
	bool found = false;
	DIR *entries;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/fd", process, thread);
	entries = opendir(path);
	while (entries && !found && (entry = readdir(entries)))
		found = !fstatat(dirfd(entries), entry->d_name, &st, 0) &&
			st.st_ino == trace->st_ino && st.st_dev == trace->st_dev &&
			(!to_write || can_write(dirfd(entries), entry->d_name));
	if (entries)
		closedir(entries);
	return found;
}

/* The first thread may have ended before the others: it then has no files. */
static bool has_open(const char *process, const struct stat *trace, bool to_write)
{
	char path[300];
	struct dirent *entry;
	bool found = false;
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%s/task", process);
	threads = opendir(path);
	while (threads && !found && (entry = readdir(threads)))
		found = *entry->d_name != '.' &&
			thread_has_open(process, entry->d_name, trace, to_write);
	if (threads)
		closedir(threads);
	return found;
}

bool gt_writer_is_alive(const char *path, int64_t pid)
{
	struct dirent *entry;
	struct stat trace;
	bool found = false;
	DIR *processes = stat(path, &trace) ? NULL : opendir("/proc");

	while (processes && !found && (entry = readdir(processes)))
		found = isdigit((unsigned char)*entry->d_name) &&
			strtoll(entry->d_name, NULL, 10) != getpid() && /* pinned (pin.h) */
			own_number(entry->d_name) == pid &&
			has_open(entry->d_name, &trace, false) &&
			gt_process_is_alive(strtoll(entry->d_name, NULL, 10));
	if (processes)
		closedir(processes);
	return found;
}

int64_t gt_writer_find(const char *path)
{
	struct dirent *entry;
	struct stat trace;
	int64_t found = 0;
	DIR *processes = stat(path, &trace) ? NULL : opendir("/proc");

	while (processes && !found && (entry = readdir(processes)))
		if (isdigit((unsigned char)*entry->d_name) && has_open(entry->d_name, &trace, true))
			found = strtoll(entry->d_name, NULL, 10);
	if (processes)
		closedir(processes);
	return found;
}

/* "[rank3_]host_PID.MILLISECONDS...": the host as a name has it. */
static bool is_named_after(const char *path, const char *host)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strlen(host);

	if (!strncmp(name, "rank", 4) && isdigit((unsigned char)name[4]) && strchr(name, '_'))
		name = strchr(name, '_') + 1;
	return !strncmp(name, host, length) && name[length] == '_';
}

static bool is_from_here(const char *path, const char *host)
{
	struct utsname here;
	char name[GT_PATTERN_VALUE + 1];

	if (uname(&here))
		return true;
	if (*host)
		return !strcmp(host, here.nodename);
	here.nodename[strcspn(here.nodename, ".")] = 0;
	gt_pattern_clean(here.nodename, name);
	return is_named_after(path, name);
}

bool gt_writer_may_be_elsewhere(const char *path, const char *host)
{
	struct stat st;

	return !stat(path, &st) && st.st_mtime > time(NULL) - YOUNG_S && !is_from_here(path, host);
}
