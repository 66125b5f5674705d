/* SPDX-License-Identifier: Apache-2.0
 *
 * Left spools, see the header.
 */
#include "recover/spools.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/sys.h"
#include "core/spool_view.h"
#include "recover/liveness.h"

/* Temporary folders of repairs, and when one without a lock is left by a repair that was killed. */
#define FOLDER_PREFIX "gputrace-repair-"
#define STALE_AFTER_S 60

/* Exit statuses of the child. */
#define STALE         100 /* written by another build */
#define UNWRITTEN     101 /* there was no room for its trace */

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

bool gt_spool_inspect(const char *path, struct gt_left_spool *ret_spool)
{
	static struct gt_spool_header header;
	struct gt_spool_view view;
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	bool good;

	if (fd < 0)
		return false;
	good = !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022) &&
	       read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
	       !gt_spool_view_init(&view, &header, sizeof(header));
	close(fd);
	if (!good)
		return false;
	*ret_spool = (struct gt_left_spool){.pid = (int)header.pid,
					    .bytes = (uint64_t)st.st_blocks * 512};
	snprintf(ret_spool->path, sizeof(ret_spool->path), "%s", path);
	snprintf(ret_spool->folder, sizeof(ret_spool->folder), "%s", header.folder);
	snprintf(ret_spool->trace, sizeof(ret_spool->trace), "%s", header.trace);
	ret_spool->running = is_running(&header);
	return true;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcmp(name + length - end, suffix);
}

static void look_into(const char *folder,
		      void (*found)(const struct gt_left_spool *spool, void *context),
		      void *context)
{
	static struct gt_left_spool spool;
	DIR *entries = opendir(folder);
	struct dirent *entry;
	char path[PATH_MAX];

	while (entries && (entry = readdir(entries))) {
		if (strncmp(entry->d_name, GT_SPOOL_PREFIX, strlen(GT_SPOOL_PREFIX)) ||
		    !has_suffix(entry->d_name, GT_SPOOL_SUFFIX))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (gt_spool_inspect(path, &spool))
			found(&spool, context);
	}
	if (entries)
		closedir(entries);
}

void gt_spools_each(void (*found)(const struct gt_left_spool *spool, void *context), void *context)
{
	const char *chosen = getenv("GPUTRACE_SPOOL"), *runtime = getenv("XDG_RUNTIME_DIR");

	look_into("/dev/shm", found, context);
	if (runtime)
		look_into(runtime, found, context);
	if (chosen && *chosen == '/' && strcmp(chosen, "/dev/shm"))
		look_into(chosen, found, context);
}

/* In the child: a fault there, in bytes that may be anything, is not ours. */
static _Noreturn void recover_here(const char *path, const char *folder)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	static struct gt_spool_header header;
	int (*recover)(const char *, const char *) = NULL;
	void *library = NULL;
	int error;

	if (fd >= 0 && read(fd, &header, sizeof(header)) == (ssize_t)sizeof(header) &&
	    !header.library[sizeof(header.library) - 1])
		library = dlopen(header.library, RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&recover = dlsym(library, "gputrace_recover");
	error = recover ? recover(path, folder) : -ESTALE;
	if (error == -EIO || error == -ENOSPC)
		_exit(UNWRITTEN);
	_exit(error == -ESTALE ? STALE : error ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int wait_for(pid_t child, char *ret_why, size_t size)
{
	int status;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return -errno;
	if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == UNWRITTEN) {
		snprintf(ret_why, size, "no room for its trace in the temporary folder (TMPDIR)");
		return -ENOSPC;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == STALE)
		snprintf(ret_why, size, "the libgputrace.so that wrote it is gone or was replaced");
	else
		snprintf(ret_why, size, "it cannot be read");
	return -EBADMSG;
}

static char found_trace[PATH_MAX];

static int find_trace(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (type == FTW_F && (has_suffix(path, ".pt.trace.json") || has_suffix(path, ".pftrace")))
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

int gt_spool_replay(const struct gt_left_spool *spool, char *ret_folder, char *ret_trace,
		    char *ret_why, size_t size)
{
	pid_t child;
	int error = make_folder(ret_folder);

	if (error) {
		snprintf(ret_why, size, "%s", strerror(-error));
		return error;
	}
	fflush(NULL);
	child = fork();
	if (child == 0)
		recover_here(spool->path, ret_folder);
	error = wait_for(child, ret_why, size);
	*found_trace = 0;
	if (!error)
		nftw(ret_folder, find_trace, 8, FTW_PHYS);
	snprintf(ret_trace, PATH_MAX, "%s", found_trace);
	return error;
}

void gt_spool_forget(const char *folder)
{
	if (*folder)
		nftw(folder, remove_one, 8, FTW_PHYS | FTW_DEPTH);
	if (folder_lock >= 0)
		close(folder_lock);
	folder_lock = -1;
}
