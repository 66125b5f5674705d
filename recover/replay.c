/* SPDX-License-Identifier: Apache-2.0
 *
 * See replay.h. The status of the child is the errno of its failure: only 0 counts as done.
 */
#include "recover/replay.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recover/confine.h"
#include "recover/library.h"
#include "recover/spools.h"

/* Temporary folders of repairs, and when one without a lock is left by a repair that was killed. */
#define FOLDER_PREFIX "gputrace-repair-"
#define STALE_AFTER_S 60

/* ---- the child ---- */

/* A fault there, in bytes that may be anything, is not ours. */
static _Noreturn void recover_here(const char *library, int spool, bool is_closed,
				   const char *folder)
{
	int (*recover)(int, const char *, int) = NULL;
	void *handle;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (handle)
		*(void **)&recover = dlsym(handle, "gputrace_recover");
	if (!recover)
		_exit(ELIBACC);
	dlopen("libstdc++.so.6",
	       RTLD_NOW | RTLD_LOCAL); /* it demangles, and cannot be loaded later */
	spool = gt_confine(spool, folder);
	_exit(spool < 0 ? -spool : -recover(spool, folder, is_closed));
}

static const struct {
	int error;
	const char *why;
} failures[] = {
	{ELIBACC, "libgputrace.so cannot be loaded"},
	{ENOMEM, "not enough memory"},
	{ENOSPC, "no room for its trace in the temporary folder (TMPDIR)"},
	{EIO, "no room for its trace in the temporary folder (TMPDIR)"},
};

static void explain(const struct gt_left_spool *spool, int error, char *ret_why, size_t size)
{
	snprintf(ret_why, size, "%s", strerror(error));
	for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++)
		if (failures[i].error == error)
			snprintf(ret_why, size, "%s", failures[i].why);
	if (error == ESTALE)
		snprintf(ret_why, size,
			 "build %s of libgputrace.so wrote it, and only the gputrace command of "
			 "that build can read it",
			 *spool->build_id ? spool->build_id : "(unknown)");
}

static int wait_for(const struct gt_left_spool *spool, pid_t child, char *ret_why, size_t size)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFSIGNALED(status)) {
		snprintf(ret_why, size, "the process that reads it was killed: %s",
			 strsignal(WTERMSIG(status)));
		return -EINTR;
	}
	if (WEXITSTATUS(status))
		explain(spool, WEXITSTATUS(status), ret_why, size);
	return -WEXITSTATUS(status);
}

/* ---- its folder ---- */

static char found_trace[PATH_MAX];

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcmp(name + length - end, suffix);
}

static int find_trace(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_F &&
	    (has_suffix(path, ".pt.trace.json") || has_suffix(path, ".pftrace") ||
	     has_suffix(path, ".pt.trace.json.gz") || has_suffix(path, ".pftrace.gz")))
		snprintf(found_trace, sizeof(found_trace), "%s", path);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int folder_lock = -1; /* of the folder in use: a killed repair loses it */

/* A folder of ours whose repair was killed. The lock comes a moment after the folder: young ones
 * are left alone. */
static bool is_stale(const char *path)
{
	struct stat st;
	bool stale;
	int fd;

	if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mtime + STALE_AFTER_S > time(NULL))
		return false;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	stale = fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB);
	if (fd >= 0)
		close(fd);
	return stale;
}

static void remove_stale(const char *temporary)
{
	DIR *entries = opendir(temporary);
	struct dirent *entry;
	char path[PATH_MAX];

	while (entries && (entry = readdir(entries))) {
		if (strncmp(entry->d_name, FOLDER_PREFIX, strlen(FOLDER_PREFIX)) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", temporary, entry->d_name);
		if (is_stale(path))
			nftw(path, remove_one, 8, FTW_PHYS | FTW_DEPTH);
	}
	if (entries)
		closedir(entries);
}

static int make_folder(char *ret_folder)
{
	const char *temporary = getenv("TMPDIR");

	if (!temporary)
		temporary = "/tmp";
	remove_stale(temporary);
	snprintf(ret_folder, PATH_MAX, "%s/" FOLDER_PREFIX "XXXXXX", temporary);
	if (!mkdtemp(ret_folder)) {
		*ret_folder = 0;
		return -errno;
	}
	folder_lock = open(ret_folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder_lock >= 0)
		flock(folder_lock, LOCK_EX | LOCK_NB);
	return 0;
}

/* ---- both ---- */

static int replay(const struct gt_left_spool *spool, bool is_closed, int fd, const char *folder,
		  char *ret_why, size_t size)
{
	char library[PATH_MAX];
	int error = gt_own_library(library, sizeof(library));
	pid_t child;

	if (error) {
		snprintf(ret_why, size, "libgputrace.so of this command is not at %.180s", library);
		return error;
	}
	fflush(NULL);
	child = fork();
	if (child == 0)
		recover_here(library, fd, is_closed, folder);
	return child < 0 ? -errno : wait_for(spool, child, ret_why, size);
}

int gt_replay_spool(const struct gt_left_spool *spool, bool is_closed, char *ret_folder,
		    char *ret_trace, char *ret_why, size_t size)
{
	int fd = gt_spool_open(spool), error;

	*ret_folder = *ret_trace = *ret_why = 0;
	error = fd < 0 ? -ENOENT : make_folder(ret_folder);
	if (!error)
		error = replay(spool, is_closed, fd, ret_folder, ret_why, size);
	if (fd >= 0)
		close(fd);
	if (error && !*ret_why)
		snprintf(ret_why, size, "%s", strerror(-error));
	*found_trace = 0;
	if (!error)
		nftw(ret_folder, find_trace, 8, FTW_PHYS);
	snprintf(ret_trace, PATH_MAX, "%s", found_trace);
	return error;
}

void gt_replay_forget(const char *folder)
{
	if (*folder)
		nftw(folder, remove_one, 8, FTW_PHYS | FTW_DEPTH);
	if (folder_lock >= 0)
		close(folder_lock);
	folder_lock = -1;
}
