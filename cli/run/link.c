/* SPDX-License-Identifier: Apache-2.0
 *
 * See link.h.
 */
#include "cli/run/link.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* FNV-1a, for the name of a folder for one path. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

/* Creates a folder for this user alone; one that exists must be such a folder and no link. */
static int make_private(const char *path)
{
	struct stat st;

	if (!mkdir(path, 0700))
		chmod(path, 0700); /* whatever the umask says */
	if (lstat(path, &st))
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700
		       ? 0
		       : -EPERM;
}

/* Another process may make the same link at the same time. */
static int make_link(const char *target, const char *path)
{
	char there[PATH_MAX], fresh[PATH_MAX];
	ssize_t n = readlink(path, there, sizeof(there) - 1);

	if (n > 0 && (size_t)n == strlen(target) && !memcmp(there, target, (size_t)n))
		return 0;
	if (snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid()) >= (int)sizeof(fresh))
		return -ENAMETOOLONG;
	if (symlink(target, fresh))
		return -errno;
	if (!rename(fresh, path))
		return 0;
	n = -errno;
	unlink(fresh);
	return (int)n;
}

int gt_link_find(const char *library, char *ret_path, size_t size)
{
	char folder[64];
	int error;

	if (!strpbrk(library, ": \t\n\v\f\r"))
		return snprintf(ret_path, size, "%s", library) < (int)size ? 0 : -ENAMETOOLONG;
	snprintf(folder, sizeof(folder), "/tmp/gputrace-%u", (unsigned int)geteuid());
	error = make_private(folder);
	if (error)
		return error;
	snprintf(ret_path, size, "%s/%016" PRIx64, folder, hash_of(library));
	error = make_private(ret_path);
	if (error)
		return error;
	snprintf(ret_path, size, "%s/%016" PRIx64 "/libgputrace.so", folder, hash_of(library));
	return make_link(library, ret_path);
}
