/* SPDX-License-Identifier: Apache-2.0
 *
 * See pin.h.
 */
#include "recover/pin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/walk.h"

int gt_pin_folder(struct gt_pin *ret_pin, const char *path)
{
	char folder[PATH_MAX];
	struct gt_descriptor opened;
	const char *name = gt_walk_split(path, folder, sizeof(folder));
	int rc = name ? gt_walk_open(&opened, folder, O_PATH, 0) : -EISDIR;

	*ret_pin = (struct gt_pin){.path = path, .file = -1, .folder = -1};
	if (rc)
		return rc;
	ret_pin->folder = opened.fd;
	rc = snprintf(ret_pin->beside, sizeof(ret_pin->beside), "/proc/self/fd/%d/", opened.fd);
	if (access(ret_pin->beside, F_OK))
		rc = -EOPNOTSUPP;
	else if (strlen(name) >= sizeof(ret_pin->beside) - (size_t)rc)
		rc = -ENAMETOOLONG;
	else
		strcpy(ret_pin->beside + rc, name);
	strcpy(ret_pin->kin, ret_pin->beside);
	if (rc < 0)
		gt_unpin(ret_pin);
	return rc < 0 ? rc : 0;
}

int gt_pin_again(struct gt_pin *pin)
{
	int file =
		openat(pin->folder, strrchr(pin->beside, '/') + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int rc = file < 0 || fstat(file, &st) ? -errno : 0;

	if (!rc && S_ISLNK(st.st_mode))
		rc = -ELOOP;
	if (rc && file >= 0)
		close(file);
	if (rc)
		return rc;
	if (pin->file >= 0)
		close(pin->file);
	pin->file = file;
	pin->status = st;
	snprintf(pin->content, sizeof(pin->content), "/proc/self/fd/%d", file);
	return 0;
}

int gt_pin(struct gt_pin *ret_pin, const char *path)
{
	int rc = gt_pin_folder(ret_pin, path);

	if (rc)
		return rc;
	rc = gt_pin_again(ret_pin);
	if (rc)
		gt_unpin(ret_pin);
	return rc;
}

const char *gt_pin_reason(int error)
{
	if (error == -ELOOP)
		return "a symbolic link, or reached through one of another user: name the file "
		       "itself";
	return error == -EOPNOTSUPP ? "/proc is not mounted" : strerror(-error);
}

int gt_pin_write(const struct gt_pin *pin)
{
	int fd;

	if (pin->is_read_only)
		return -EPERM;
	fd = open(pin->content, O_WRONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Whoever may write the folder can still exchange it now: for a file that is theirs to remove. */
static int check_name(const struct gt_pin *pin)
{
	struct stat now;

	if (lstat(pin->beside, &now))
		return -errno;
	return now.st_ino == pin->status.st_ino && now.st_dev == pin->status.st_dev ? 0 : -ESTALE;
}

int gt_pin_replace(const struct gt_pin *pin, const char *beside)
{
	int rc = pin->is_read_only ? -EPERM : check_name(pin);

	if (!rc && rename(beside, pin->beside))
		rc = -errno;
	return rc;
}

int gt_pin_remove(const struct gt_pin *pin)
{
	int rc = check_name(pin);

	if (!rc && unlink(pin->beside))
		rc = -errno;
	return rc;
}

void gt_pin_words(const struct gt_pin *pin, const char *words, char *ret_words, size_t size)
{
	size_t n = strlen(pin->content);

	if (n && !strncmp(words, pin->content, n))
		snprintf(ret_words, size, "%s%s", pin->path, words + n);
	else
		snprintf(ret_words, size, "%s", words);
}

void gt_unpin(struct gt_pin *pin)
{
	if (pin->file >= 0)
		close(pin->file);
	if (pin->folder >= 0)
		close(pin->folder);
	pin->file = pin->folder = -1;
}
