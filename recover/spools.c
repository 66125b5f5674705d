/* SPDX-License-Identifier: Apache-2.0
 *
 * Left spools, see the header.
 */
#include "recover/spools.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/guest/sys.h"
#include "core/spool_view.h"
#include "recover/liveness.h"
#include "recover/shared_files.h"

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
	int folder = name ? gt_shared_folder_open(path) : -1;
	int fd = folder < 0 ? -1 : gt_shared_file_open(folder, name, O_RDONLY);

	if (folder >= 0)
		close(folder);
	return fd;
}

/* ---- one spool ---- */

static bool is_running(const struct gt_spool_header *header)
{
	char boot_id[sizeof(header->boot_id)];

	gt_sys_boot_id(boot_id, sizeof(boot_id));
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
	ret_spool->refused = atomic_load(&header.refused);
	ret_spool->is_closing = atomic_load(&header.is_closing);
	return true;
}

/* ---- where they are ---- */

/* GPUTRACE_SPOOL may be a word; a relative folder was the traced process's. */
static void list_folders(const char *more, struct gt_shared_folders *ret_folders)
{
	const char *chosen = getenv("GPUTRACE_SPOOL");

	ret_folders->count = 0;
	gt_shared_folders_add(ret_folders, "/dev/shm");
	gt_shared_folders_add(ret_folders, getenv("XDG_RUNTIME_DIR"));
	gt_shared_folders_add(ret_folders, chosen && *chosen == '/' ? chosen : NULL);
	gt_shared_folders_add(ret_folders, more);
}

struct spool_search {
	void (*found)(const struct gt_left_spool *spool, void *context);
	void *context;
};

static void see_file(int folder, const char *path, const char *name, void *context)
{
	static struct gt_left_spool spool;
	struct spool_search *search = context;
	int fd = gt_shared_file_open(folder, name, O_RDONLY);
	char file[PATH_MAX];
	bool is_spool;

	if (fd < 0)
		return;
	snprintf(file, sizeof(file), "%s/%s", path, name);
	is_spool = inspect(fd, file, &spool);
	close(fd);
	if (is_spool)
		search->found(&spool, search->context);
}

void gt_spools_each(const char *more,
		    void (*found)(const struct gt_left_spool *spool, void *context), void *context)
{
	struct spool_search search = {.found = found, .context = context};
	struct gt_shared_folders folders;

	list_folders(more, &folders);
	gt_shared_files_each(&folders, GT_SPOOL_SUFFIX, see_file, &search);
}

bool gt_spools_leave_out(const char *more, const char *path)
{
	struct gt_shared_folders folders;
	char folder_path[PATH_MAX];
	const char *name = *path == '/' ? split(path, folder_path) : NULL;
	int folder = name && gt_shared_file_is_named(name, GT_SPOOL_SUFFIX)
			     ? gt_shared_folder_open(folder_path)
			     : -1;
	struct stat st;
	bool is_there;

	if (folder < 0)
		return false;
	is_there = !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) && gt_shared_file_is_own(&st) &&
		   !fstat(folder, &st);
	close(folder);
	list_folders(more, &folders);
	return is_there && !gt_shared_folders_have(&folders, &st);
}
