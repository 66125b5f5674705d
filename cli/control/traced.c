/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/control/traced.h"

#include <dirent.h>
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Calls @see for each line of the process's maps until it returns true. False: it has none, as one
 * whose first thread has ended, or they could not be read to the end. */
static bool each_mapping(uint32_t pid, bool (*see)(void *context, const char *line), void *context)
{
	char path[64], *line = NULL;
	size_t room = 0, lines = 0;
	bool is_done = false, is_read;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	if (!maps)
		return false;
	for (; !is_done && getline(&line, &room, maps) > 0; lines++)
		is_done = see(context, line);
	is_read = lines && !ferror(maps);
	free(line);
	fclose(maps);
	return is_read;
}

/* A file that is looked for. */
struct sought {
	dev_t device;
	ino_t inode;
	const char *name;
	bool is_there, has_name;
};

static bool see_file(void *context, const char *line)
{
	struct sought *sought = context;
	unsigned major, minor;
	unsigned long inode;

	if (sscanf(line, "%*s %*s %*s %x:%x %lu", &major, &minor, &inode) != 3)
		return false;
	sought->has_name |= strstr(line, sought->name) != NULL;
	sought->is_there = inode == sought->inode && makedev(major, minor) == sought->device;
	return sought->is_there;
}

enum gt_traced_maps gt_traced_maps(uint32_t pid, const struct stat *st, const char *name)
{
	struct sought sought = {.device = st->st_dev, .inode = st->st_ino, .name = name};

	if (!each_mapping(pid, see_file, &sought))
		return GT_TRACED_MAPS_UNKNOWN;
	if (sought.is_there)
		return GT_TRACED_MAPS_IT;
	return sought.has_name ? GT_TRACED_MAPS_UNKNOWN : GT_TRACED_MAPS_NONE;
}

static bool see_tracer(void *context, const char *line)
{
	bool *is_there = context;

	*is_there = strstr(line, "/libgputrace.so") != NULL;
	return *is_there;
}

bool gt_traced_carries_tracer(uint32_t pid)
{
	bool is_there = false;

	each_mapping(pid, see_tracer, &is_there);
	return is_there;
}

/* ---- where it is ---- */

static int look(uint32_t pid, const char *name, struct stat *ret_there)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, name);
	return stat(path, ret_there) ? -errno : 0;
}

static bool is_in_this_pid_namespace(uint32_t pid)
{
	struct stat there, here;

	return look(pid, "ns/pid", &there) || stat("/proc/self/ns/pid", &here) ||
	       there.st_ino == here.st_ino;
}

/* The tracer makes no mailbox on a disk. */
static bool is_on_tmpfs(uint32_t pid)
{
	struct statfs fs;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/root/dev/shm", pid);
	return statfs(path, &fs) || fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC;
}

enum gt_traced_place gt_traced_place(uint32_t pid)
{
	struct stat there, here;
	int error = look(pid, "root/dev/shm", &there);

	if ((error == -ENOENT && !look(pid, "root", &here)) || !is_on_tmpfs(pid))
		return GT_TRACED_NO_SHM;
	if (error || stat("/dev/shm", &here) ||
	    (there.st_dev == here.st_dev && there.st_ino == here.st_ino))
		return GT_TRACED_HERE;
	return is_in_this_pid_namespace(pid) ? GT_TRACED_OTHER_SHM : GT_TRACED_CONTAINER;
}

const char *gt_traced_place_name(enum gt_traced_place place)
{
	static const char *const names[] = {"", "in a container", "other /dev/shm", "no /dev/shm"};

	return names[place];
}

void gt_traced_explain(uint32_t pid, enum gt_traced_place place, char *ret_text, size_t size)
{
	switch (place) {
	case GT_TRACED_HERE:
		*ret_text = 0;
		break;
	case GT_TRACED_CONTAINER:
		snprintf(ret_text, size, "it is in a container: run gputrace in it");
		break;
	case GT_TRACED_OTHER_SHM:
		snprintf(ret_text, size,
			 "its /dev/shm is another one (chroot, mount namespace): say "
			 "--control=/proc/%u/root/dev/shm",
			 pid);
		break;
	case GT_TRACED_NO_SHM:
		snprintf(ret_text, size,
			 "it has no tmpfs at /dev/shm (chroot): start it with --control=FOLDER, "
			 "a folder on tmpfs in there, and say --control=/proc/%u/root/FOLDER",
			 pid);
		break;
	}
}

static bool is_own(uint32_t pid)
{
	struct stat there;

	return !look(pid, "", &there) && there.st_uid == geteuid();
}

void gt_traced_apart(void (*found)(void *context, uint32_t pid, enum gt_traced_place place),
		     void *context)
{
	DIR *processes = opendir("/proc");
	struct dirent *entry;

	while (processes && (entry = readdir(processes))) {
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		enum gt_traced_place place =
			pid && is_own(pid) ? gt_traced_place(pid) : GT_TRACED_HERE;

		if (place != GT_TRACED_HERE && gt_traced_carries_tracer(pid))
			found(context, pid, place);
	}
	if (processes)
		closedir(processes);
}
