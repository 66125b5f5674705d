/* SPDX-License-Identifier: Apache-2.0
 *
 * See walk.h. Each name is opened from the descriptor of the folder before it, and what was opened
 * is looked at: nobody can exchange it between the check and its use.
 */
#include "core/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"

#define LINKS_MAX   40 /* as the kernel */
#define PROCFS_TYPE 0x9fa0

#define LOOK        (O_PATH | O_NOFOLLOW)

struct walk {
	struct gt_descriptor at; /* where we are */
	char rest[PATH_MAX];     /* the way from there */
	size_t given; /* so much of the end of the rest was given, not read from a link */
	mode_t make;
	unsigned int links;
};

static int move_to(struct walk *w, int from, const char *path, int flags)
{
	struct gt_descriptor next;
	int error = gt_descriptor_open(&next, from, path, flags, 0);

	/* of another folder, if the program took the number away */
	if (!error && from >= 0 && !gt_descriptor_is_ours(&w->at))
		error = -ESTALE;
	if (error) {
		gt_descriptor_close(&next);
		return error;
	}
	gt_descriptor_close(&w->at);
	w->at = next;
	return 0;
}

static int begin(struct walk *w)
{
	return move_to(w, AT_FDCWD, *w->rest == '/' ? "/" : ".", O_PATH | O_DIRECTORY);
}

/* The links in /proc lead to what they stand for, not to where their text does. */
static bool is_magic(int link)
{
	struct statfs fs;

	return gt_seccomp_permits(GT_SYS_fstatfs) && !fstatfs(link, &fs) &&
	       fs.f_type == PROCFS_TYPE;
}

/* Puts what the link says in front of the rest. */
static int take_text(struct walk *w, int link)
{
	char target[PATH_MAX];
	size_t length = strlen(w->rest);
	ssize_t n;

	if (!gt_seccomp_permits(GT_SYS_readlinkat))
		return -EPERM;
	n = readlinkat(link, "", target, sizeof(target));
	if (n <= 0)
		return n ? -errno : -ENOENT;
	if ((size_t)n + 1 + length >= sizeof(w->rest))
		return -ENAMETOOLONG;
	if (length < w->given)
		w->given = length;
	memmove(w->rest + n + 1, w->rest, length + 1);
	memcpy(w->rest, target, (size_t)n);
	w->rest[n] = '/';
	return *target == '/' ? begin(w) : 0;
}

static int follow(struct walk *w, const char *name, const struct gt_descriptor *link)
{
	struct stat st;

	if (gt_sys_fstat(link->fd, &st))
		return -ESTALE;
	if ((st.st_uid != gt_sys_user() && st.st_uid != 0) || ++w->links > LINKS_MAX)
		return -ELOOP;
	if (is_magic(link->fd))
		return move_to(w, w->at.fd, name, O_PATH | O_DIRECTORY);
	return take_text(w, link->fd);
}

static int look(struct walk *w, const char *name, bool may_make, struct gt_descriptor *ret_found)
{
	int error = gt_descriptor_open(ret_found, w->at.fd, name, LOOK, 0);

	if (error == -ENOENT && may_make) {
		if (!gt_seccomp_permits(GT_SYS_mkdirat))
			return -EPERM;
		if (mkdirat(w->at.fd, name, w->make) && errno != EEXIST)
			return -errno;
		error = gt_descriptor_open(ret_found, w->at.fd, name, LOOK, 0);
	}
	return !error && !gt_descriptor_is_ours(&w->at) ? -ESTALE : error;
}

static int step(struct walk *w, const char *name, bool may_make)
{
	struct gt_descriptor found;
	int error = look(w, name, may_make, &found);

	if (!error && S_ISDIR(found.mode)) {
		gt_descriptor_close(&w->at);
		w->at = found;
		return 0;
	}
	if (!error)
		error = S_ISLNK(found.mode) ? follow(w, name, &found) : -ENOTDIR;
	gt_descriptor_close(&found);
	return error;
}

/* Takes the first name off the rest. False: it was the last one. */
static bool next_name(struct walk *w, char *ret_name, bool *ret_given)
{
	const char *name = w->rest + strspn(w->rest, "/");
	size_t length = strcspn(name, "/");

	*ret_given = strlen(name) <= w->given;
	memcpy(ret_name, name, length);
	ret_name[length] = 0;
	memmove(w->rest, name + length, strlen(name + length) + 1);
	return length;
}

static int go(struct walk *w)
{
	char name[PATH_MAX];
	bool is_given;
	int error = begin(w);

	while (!error && next_name(w, name, &is_given))
		if (strcmp(name, ".") != 0)
			error = step(w, name, w->make && is_given);
	return error;
}

/* If the kernel calls the folder what we call it, no link led there. */
static bool open_at_once(struct gt_descriptor *ret_folder, const char *path, int flags)
{
	char link[64], there[PATH_MAX];
	ssize_t n;

	if (gt_descriptor_open(ret_folder, AT_FDCWD, path, flags, 0))
		return false;
	gt_text_format(link, sizeof(link), "/proc/self/fd/%d", ret_folder->fd);
	n = gt_seccomp_permits(GT_SYS_readlink) ? readlink(link, there, sizeof(there)) : 0;
	if (n > 0 && (size_t)n == strlen(path) && !memcmp(there, path, (size_t)n) &&
	    gt_descriptor_is_ours(ret_folder))
		return true;
	gt_descriptor_close(ret_folder);
	return false;
}

int gt_walk_open(struct gt_descriptor *ret_folder, const char *path, int flags, mode_t make)
{
	struct walk w = {.at = GT_DESCRIPTOR_NONE, .given = SIZE_MAX, .make = make};
	int saved_errno = errno, error = 0;

	flags |= O_DIRECTORY;
	*ret_folder = GT_DESCRIPTOR_NONE;
	if (!*path || strlen(path) >= sizeof(w.rest))
		return *path ? -ENAMETOOLONG : -ENOENT;
	if (!open_at_once(ret_folder, path, flags)) {
		memcpy(w.rest, path, strlen(path) + 1);
		error = go(&w);
		if (!error)
			error = gt_descriptor_open(ret_folder, w.at.fd, ".", flags, 0);
		if (!error && !gt_descriptor_is_ours(&w.at)) {
			gt_descriptor_close(ret_folder);
			error = -ESTALE;
		}
		gt_descriptor_close(&w.at);
	}
	errno = saved_errno;
	return error;
}

const char *gt_walk_split(const char *path, char *ret_folder, size_t size)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (slash == path)
		length = 1; /* the root */
	if (!*name || length + 2 > size)
		return NULL;
	memcpy(ret_folder, slash ? path : ".", slash ? length : 1);
	ret_folder[slash ? length : 1] = 0;
	return name;
}

bool gt_walk_remove_empty(const char *path, char *ret_above, size_t size)
{
	const char *name = gt_walk_split(path, ret_above, size);
	struct gt_descriptor above;
	bool is_removed;

	if (!name || gt_walk_open(&above, ret_above, O_PATH, 0))
		return false;
	is_removed = !unlinkat(above.fd, name, AT_REMOVEDIR);
	gt_descriptor_close(&above);
	return is_removed;
}
