/* SPDX-License-Identifier: Apache-2.0
 *
 * Claims on an output folder, see the header. Created with O_EXCL, so one of several concurrent
 * processes wins. An empty claim belongs to a process that is about to create its trace, for a
 * minute; a claim with a name holds while that trace exists. A file lock guards taking over a claim
 * whose trace was removed.
 */
#include "writers/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"

#define PATIENCE_S 60

static void claim_name(const char *key, char *ret_name, size_t size)
{
	gt_text_format(ret_name, size, ".%s.owner", key);
}

static bool exists(int folder, const char *name)
{
	struct stat st;

	return gt_sys_fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* As written, or compressed since. */
static bool has_trace(int folder, const char *name)
{
	char compressed[NAME_MAX + 4];

	gt_text_format(compressed, sizeof(compressed), "%s.gz", name);
	return exists(folder, name) || exists(folder, compressed);
}

/* Nobody takes as long from a claim to a trace: its process was killed. */
static bool is_old(int fd)
{
	struct timespec now;
	struct stat st;

	return !gt_sys_fstat(fd, &st) && !clock_gettime(CLOCK_REALTIME, &now) &&
	       st.st_mtime + PATIENCE_S < now.tv_sec;
}

/* Whether the trace named by the claim is gone, or will not come any more. The caller holds the
 * lock. */
static bool is_stale(int folder, int fd)
{
	char name[NAME_MAX + 1];
	ssize_t n = read(fd, name, sizeof(name) - 1);

	if (n <= 0)
		return n == 0 && is_old(fd);
	name[n] = 0;
	return !strchr(name, '/') && !has_trace(folder, name);
}

static bool replace_claim(int folder, const char *name)
{
	struct gt_descriptor claim;
	bool replaced;

	if (!gt_seccomp_permits(GT_SYS_flock) ||
	    gt_descriptor_open(&claim, folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0) < 0)
		return false;
	replaced = !flock(claim.fd, LOCK_EX | LOCK_NB) && is_stale(folder, claim.fd) &&
		   !ftruncate(claim.fd, 0);
	gt_descriptor_close(&claim);
	return replaced;
}

int gt_owner_claim(int folder, const char *key)
{
	struct gt_descriptor claim;
	char name[NAME_MAX];
	int error;

	claim_name(key, name, sizeof(name));
	error = gt_descriptor_open(&claim, folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
				   0600);
	gt_descriptor_close(&claim);
	if (error == -EEXIST)
		return replace_claim(folder, name);
	return error && error != -ESTALE ? error : 1; /* created, though the descriptor was lost */
}

bool gt_owner_is_of(int folder, const char *key, const char *trace)
{
	struct gt_descriptor claim;
	char name[NAME_MAX + 1];
	size_t length = strcspn(trace, ".") + 1;
	ssize_t n = 0;

	claim_name(key, name, sizeof(name));
	if (!gt_descriptor_open(&claim, folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0))
		n = read(claim.fd, name, sizeof(name) - 1);
	gt_descriptor_close(&claim);
	return n >= (ssize_t)length && !memcmp(name, trace, length);
}

void gt_owner_release(int folder, const char *key)
{
	char name[NAME_MAX];

	claim_name(key, name, sizeof(name));
	if (gt_seccomp_permits(GT_SYS_unlinkat))
		unlinkat(folder, name, 0);
}

static void empty(int folder, const char *name)
{
	struct gt_descriptor claim;

	gt_descriptor_open(&claim, folder, name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, 0);
	gt_descriptor_close(&claim);
}

void gt_owner_set_trace(int folder, const char *key, const char *trace)
{
	struct gt_descriptor claim;
	char name[NAME_MAX];

	claim_name(key, name, sizeof(name));
	if (gt_descriptor_open(&claim, folder, name, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK,
			       0) < 0)
		return;
	/* a claim without a whole name (disk full) stays empty, and holds */
	if (write(claim.fd, trace, strlen(trace)) < (ssize_t)strlen(trace))
		empty(folder, name);
	gt_descriptor_close(&claim);
}
