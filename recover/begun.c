/* SPDX-License-Identifier: Apache-2.0
 *
 * See begun.h.
 */
#include "recover/begun.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recover/join.h"
#include "recover/lock.h"
#include "recover/recover.h"
#include "recover/replay.h"
#include "recover/spools.h"
#include "trace/file_name.h"
#include "writers/owner.h"

struct begun {
	const char *folder;
	void (*made)(const char *path, const char *error, void *data);
	void *data;
	int failures;
};

static int fail(struct begun *b, const struct gt_left_spool *spool, const char *why, int rc)
{
	char line[PATH_MAX + 512];

	snprintf(line, sizeof(line), "%s: not recovered: %s", spool->path, why);
	b->made(NULL, line, b->data);
	return rc;
}

/* ---- where it goes ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The spool names @path: where it leads, whatever it looks like, is below the user's @folder. */
static bool is_below(const char *path, const char *folder)
{
	char real[PATH_MAX], real_path[PATH_MAX];
	size_t length;

	if (!realpath(folder, real) || !realpath(path, real_path))
		return false;
	length = strlen(real);
	return !strncmp(real_path, real, length) &&
	       (real_path[length] == 0 || real_path[length] == '/');
}

static int copy_file(const char *from, const char *to)
{
	char buffer[65536];
	FILE *in = fopen(from, "rb"), *out = in ? fopen(to, "wbx") : NULL;
	int rc = out ? fchmod(fileno(out), 0600) : -errno;
	size_t n;

	while (out && !rc && (n = fread(buffer, 1, sizeof(buffer), in)))
		rc = fwrite(buffer, 1, n, out) == n ? 0 : -EIO;
	if (out && fclose(out) && !rc)
		rc = -errno;
	if (in)
		fclose(in);
	return rc;
}

/* By copy where the folders lie on different file systems; whole or not at all. */
static int move_file(const char *from, const char *to)
{
	char beside[PATH_MAX + 1200];
	const char *slash = strrchr(to, '/');
	int rc;

	if (!rename(from, to))
		return 0;
	snprintf(beside, sizeof(beside), "%.*s.%s.new", (int)(slash + 1 - to), to, slash + 1);
	unlink(beside);
	rc = copy_file(from, beside);
	if (!rc && rename(beside, to))
		rc = -errno;
	if (rc)
		unlink(beside);
	return rc;
}

struct begun_place {
	char path[PATH_MAX + 1100], aside[PATH_MAX + 1100], owner[32];
	int folder;      /* -1: none */
	bool is_claimed; /* the trace will be the one of its rank in the folder itself */
};

/* As a process names them: in the folder, or in one named like the file up to its first dot. */
static void name_places(const struct gt_left_spool *spool, const char *name,
			struct begun_place *ret_place)
{
	struct gt_file_name parts;

	gt_file_name_parse(name, &parts);
	snprintf(ret_place->owner, sizeof(ret_place->owner), "rank%" PRId64,
		 parts.has_rank ? parts.rank : 0);
	snprintf(ret_place->path, sizeof(ret_place->path), "%s/%s", spool->folder, name);
	snprintf(ret_place->aside, sizeof(ret_place->aside), "%s/%.*s", spool->folder,
		 (int)strcspn(name, "."), name);
}

/* Where the process had created its file, else where it would have: readers take every trace of a
 * folder itself as a rank of its own. */
static int choose_place(const struct gt_left_spool *spool, const char *name,
			struct begun_place *ret_place)
{
	struct stat st;
	size_t length;

	*ret_place = (struct begun_place){.folder = -1};
	name_places(spool, name, ret_place);
	if (!lstat(ret_place->path, &st))
		return 0;
	ret_place->folder = open(spool->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret_place->folder < 0)
		return -errno;
	length = strlen(ret_place->aside);
	snprintf(ret_place->aside + length, sizeof(ret_place->aside) - length, "/%s", name);
	ret_place->is_claimed =
		lstat(ret_place->aside, &st) && gt_owner_claim(ret_place->folder, ret_place->owner);
	if (ret_place->is_claimed)
		return 0;
	memcpy(ret_place->path, ret_place->aside, sizeof(ret_place->path));
	ret_place->aside[length] = 0;
	return mkdir(ret_place->aside, 0775) && errno != EEXIST ? -errno : 0;
}

/* Into the folder of its process. */
static int put_trace(const struct gt_left_spool *spool, const char *recovered,
		     struct begun_place *ret_place)
{
	const char *name = base_name(recovered);
	int rc = choose_place(spool, name, ret_place);

	/* One that is closed: an earlier repair was killed before it removed the spool. What the
	 * process itself left of its first file has nothing that the spool lacks. */
	if (!rc && !gt_join_is_closed(ret_place->path))
		rc = move_file(recovered, ret_place->path);
	if (!rc && ret_place->is_claimed)
		gt_owner_set_trace(ret_place->folder, ret_place->owner, name);
	if (ret_place->folder >= 0)
		close(ret_place->folder);
	return rc;
}

/* ---- one trace ---- */

static int make_locked(struct begun *b, const struct gt_left_spool *spool)
{
	static struct begun_place place;
	char folder[PATH_MAX], recovered[PATH_MAX], why[256] = "";
	int rc = gt_replay_spool(spool, folder, recovered, why, sizeof(why));

	if (rc)
		fail(b, spool, why, rc);
	if (!rc && *recovered) {
		rc = put_trace(spool, recovered, &place);
		if (rc)
			fail(b, spool, strerror(-rc), rc);
		else
			b->made(place.path, NULL, b->data);
	}
	gt_replay_forget(folder);
	if (!rc)
		unlink(spool->path);
	return rc;
}

static int make_trace(struct begun *b, const struct gt_left_spool *spool)
{
	struct gt_repair_lock lock;
	char why[400], holder[320];
	int rc = gt_repair_lock(&lock, spool->path, holder, sizeof(holder));

	if (rc == -EBUSY) {
		snprintf(why, sizeof(why), "%s is repairing it", holder);
		return fail(b, spool, why, rc);
	}
	rc = access(spool->path, F_OK) ? 0 : make_locked(b, spool); /* done meanwhile */
	gt_repair_unlock(&lock);
	return rc;
}

static void see_spool(const struct gt_left_spool *spool, void *context)
{
	struct begun *b = context;

	if (spool->running || *spool->trace || !is_below(spool->folder, b->folder))
		return;
	b->failures += make_trace(b, spool) != 0;
}

int gt_recover_begun(const char *folder, const char *spools,
		     void (*made)(const char *path, const char *error, void *data), void *data)
{
	struct begun b = {.folder = folder, .made = made, .data = data};
	struct stat st;

	if (spools && !strcmp(spools, GT_RECOVER_WITHOUT_SPOOL))
		return 0;
	if (!stat(folder, &st) && S_ISDIR(st.st_mode))
		gt_spools_each(spools, see_spool, &b);
	return b.failures;
}
