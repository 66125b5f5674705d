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

#include "core/guest/sys.h"
#include "core/walk.h"
#include "recover/join.h"
#include "recover/lock.h"
#include "recover/move.h"
#include "recover/pin.h"
#include "recover/recover.h"
#include "recover/replay.h"
#include "recover/spools.h"
#include "trace/file_name.h"
#include "writers/owner.h"

#define FOLDER_MODE 0775 /* as the tracer makes it */

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

/* The spool goes: there is nothing in it that another time would find. */
static int tell_refused(struct begun *b, const struct gt_left_spool *spool)
{
	char why[160];

	snprintf(why, sizeof(why),
		 "there is nothing in it; %" PRIu64
		 " bytes could not be put into it, and what they held is lost",
		 spool->refused);
	return fail(b, spool, why, -ENODATA);
}

/* ---- where it goes ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Adds folders that are not there, and so are no links. */
static bool append(const char *rest, char ret_path[PATH_MAX])
{
	size_t length = strcmp(ret_path, "/") ? strlen(ret_path) : 0;

	for (size_t part; *(rest += strspn(rest, "/")); rest += part) {
		part = strcspn(rest, "/");
		if (part == 1 && *rest == '.')
			continue;
		if ((part == 2 && !strncmp(rest, "..", 2)) || length + part + 2 > PATH_MAX)
			return false;
		ret_path[length++] = '/';
		memcpy(ret_path + length, rest, part);
		length += part;
		ret_path[length] = 0;
	}
	return true;
}

/* As realpath, of a folder that need not be there. */
static bool resolve(const char *path, char ret_path[PATH_MAX])
{
	char there[PATH_MAX], whole[PATH_MAX];
	size_t length;

	gt_sys_absolute(path, whole, sizeof(whole));
	memcpy(there, whole, sizeof(there));
	for (length = strlen(whole); !realpath(length ? there : "/", ret_path);) {
		if (errno != ENOENT || !length)
			return false;
		while (length && there[--length] != '/')
			continue;
		there[length] = 0;
	}
	return append(whole + length, ret_path);
}

/* The spool names @path: where it leads, whatever it looks like, is below the user's @folder. */
static bool is_below(const char *path, const char *folder)
{
	char real[PATH_MAX], real_path[PATH_MAX];
	size_t length;

	if (!resolve(folder, real) || !resolve(path, real_path))
		return false;
	length = strlen(real);
	return !strncmp(real_path, real, length) &&
	       (real_path[length] == 0 || real_path[length] == '/');
}

struct begun_place {
	char shown[PATH_MAX + 1100]; /* of the trace, for people */
	char path[NAME_MAX + 40];    /* of the trace, below its folder's descriptor */
	char owner[32], name[NAME_MAX + 1], aside[NAME_MAX + 1];
	struct gt_descriptor folder, own; /* own: that of this process in it */
	int claim; /* of gt_owner_claim: 1: the trace will be the one of its rank in the folder */
	bool is_aside_made;
	size_t there; /* length of the part of the folder's path that was there */
};

/* As a process names them: in the folder, or in one named like the file up to its first dot. */
static int name_place(const char *name, struct begun_place *ret_place)
{
	struct gt_file_name parts;

	*ret_place = (struct begun_place){
		.folder = GT_DESCRIPTOR_NONE, .own = GT_DESCRIPTOR_NONE, .there = PATH_MAX};
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	gt_file_name_parse(name, &parts);
	snprintf(ret_place->owner, sizeof(ret_place->owner), "rank%" PRId64,
		 parts.has_rank ? parts.rank : 0);
	snprintf(ret_place->name, sizeof(ret_place->name), "%s", name);
	snprintf(ret_place->aside, sizeof(ret_place->aside), "%.*s", (int)strcspn(name, "."), name);
	return 0;
}

static size_t length_there(const char *path)
{
	char part[PATH_MAX];
	size_t length = strlen(path);
	struct stat st;

	snprintf(part, sizeof(part), "%s", path);
	while (length && lstat(part, &st)) {
		while (length && part[--length] != '/')
			continue;
		part[length] = 0;
	}
	return length;
}

/* Made if the process had not come to that; it is still below the folder that the user named. */
static int open_folder(const struct begun *b, const struct gt_left_spool *spool,
		       struct begun_place *place)
{
	char path[40];
	int rc;

	place->there = length_there(spool->folder);
	rc = gt_walk_open(&place->folder, spool->folder, O_RDONLY, FOLDER_MODE);

	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place->folder.fd);
	return is_below(path, b->folder) ? 0 : -ELOOP;
}

static bool has_trace(const struct gt_descriptor *folder, const char *name)
{
	struct stat st;

	return folder->fd >= 0 && !fstatat(folder->fd, name, &st, AT_SYMLINK_NOFOLLOW);
}

static int open_own(struct begun_place *place)
{
	return gt_descriptor_open(&place->own, place->folder.fd, place->aside,
				  O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
}

/* Where the process had created its file, else where it would have: readers take every trace of a
 * folder itself as a rank of its own. */
static int choose_folder(struct begun_place *place)
{
	if (has_trace(&place->folder, place->name))
		return 0;
	open_own(place);
	if (!has_trace(&place->own, place->name) &&
	    gt_owner_is_of(place->folder.fd, place->owner, place->name)) {
		gt_descriptor_close(&place->own);
		return 0;
	}
	if (!has_trace(&place->own, place->name))
		place->claim = gt_owner_claim(place->folder.fd, place->owner);
	if (place->claim) {
		gt_descriptor_close(&place->own);
		return 0;
	}
	if (place->own.fd >= 0)
		return 0;
	place->is_aside_made = !mkdirat(place->folder.fd, place->aside, FOLDER_MODE);
	if (!place->is_aside_made && errno != EEXIST)
		return -errno;
	return open_own(place);
}

static void set_path(const struct gt_left_spool *spool, struct begun_place *place)
{
	bool is_aside = place->own.fd >= 0;

	snprintf(place->path, sizeof(place->path), "/proc/self/fd/%d/%s",
		 is_aside ? place->own.fd : place->folder.fd, place->name);
	snprintf(place->shown, sizeof(place->shown), "%s/%s%s%s", spool->folder,
		 is_aside ? place->aside : "", is_aside ? "/" : "", place->name);
}

/* There is no trace: nothing that was made for it stays. */
static void undo(const struct gt_left_spool *spool, const struct begun_place *place)
{
	char path[PATH_MAX], above[PATH_MAX];

	if (place->claim > 0)
		gt_owner_release(place->folder.fd, place->owner);
	if (place->is_aside_made)
		unlinkat(place->folder.fd, place->aside, AT_REMOVEDIR);
	snprintf(path, sizeof(path), "%s", spool->folder);
	while (strlen(path) > place->there && gt_walk_remove_empty(path, above, sizeof(above)))
		snprintf(path, sizeof(path), "%s", above);
}

/* Into the folder of its process. */
static int put_trace(const struct begun *b, const struct gt_left_spool *spool,
		     const char *recovered, struct begun_place *place)
{
	int rc = name_place(base_name(recovered), place);

	if (!rc)
		rc = open_folder(b, spool, place);
	if (!rc)
		rc = choose_folder(place);
	if (!rc)
		set_path(spool, place);
	/* One that is closed: an earlier repair was killed before it removed the spool. What the
	 * process itself left of its first file has nothing that the spool lacks. */
	if (!rc && !gt_join_is_closed(place->path))
		rc = gt_move_file(recovered, place->path);
	if (!rc && place->claim)
		gt_owner_set_trace(place->folder.fd, place->owner, place->name);
	if (rc)
		undo(spool, place);
	gt_descriptor_close(&place->folder);
	gt_descriptor_close(&place->own);
	return rc;
}

/* ---- one trace ---- */

static int make_locked(struct begun *b, const struct gt_left_spool *spool, const struct gt_pin *pin)
{
	static struct begun_place place;
	char folder[PATH_MAX], recovered[PATH_MAX], why[256] = "";
	int rc = gt_replay_spool(spool, *spool->trace, folder, recovered, why, sizeof(why));

	if (rc)
		fail(b, spool, why, rc);
	if (!rc && *recovered) {
		rc = put_trace(b, spool, recovered, &place);
		if (rc)
			fail(b, spool, gt_pin_reason(rc), rc);
		else
			b->made(place.shown, NULL, b->data);
	}
	gt_replay_forget(folder);
	if (!rc)
		gt_pin_remove(pin);
	if (!rc && !*recovered && spool->refused)
		rc = tell_refused(b, spool);
	return rc;
}

static int make_pinned(struct begun *b, const struct gt_left_spool *spool, struct gt_pin *pin)
{
	struct gt_repair_lock lock;
	char why[400], holder[320];
	int rc = gt_repair_lock(&lock, pin->beside, holder, sizeof(holder));

	if (rc == -EBUSY) {
		snprintf(why, sizeof(why), "%s is repairing it", holder);
		return fail(b, spool, why, rc);
	}
	rc = gt_pin_again(pin) ? 0 : make_locked(b, spool, pin); /* done meanwhile */
	gt_repair_unlock(&lock);
	return rc;
}

static int make_trace(struct begun *b, const struct gt_left_spool *spool)
{
	struct gt_pin pin;
	int rc = gt_pin_folder(&pin, spool->path);

	if (rc)
		return fail(b, spool, gt_pin_reason(rc), rc);
	rc = make_pinned(b, spool, &pin);
	gt_unpin(&pin);
	return rc;
}

/* Its process had no file, or none for what came while it closed one. */
static bool has_no_trace(const struct gt_left_spool *spool)
{
	struct stat st;

	if (!*spool->trace)
		return true;
	return spool->is_closing && !lstat(spool->trace, &st) && S_ISREG(st.st_mode) &&
	       gt_join_is_closed(spool->trace);
}

static void see_spool(const struct gt_left_spool *spool, void *context)
{
	struct begun *b = context;

	if (spool->running || !is_below(spool->folder, b->folder) || !has_no_trace(spool))
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
	if (stat(folder, &st) ? errno == ENOENT : S_ISDIR(st.st_mode))
		gt_spools_each(spools, see_spool, &b);
	return b.failures;
}
