/* SPDX-License-Identifier: Apache-2.0
 *
 * See symbolize_file.h. As compress.c does, everything goes through the pinned folder.
 */
#include "transform/symbolize_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "recover/pin.h"
#include "transform/confined.h"

struct file_work {
	const char *path;
	struct gt_pin pin;
	char part[400]; /* hidden, and no name that a reader of folders takes */
	int to;
	struct gt_symbolize *ret;
};

static int fail(struct file_work *work, int error, const char *what)
{
	snprintf(work->ret->error, sizeof(work->ret->error), "%.400s: %.300s; it stays as it is",
		 work->path, what ? what : strerror(-error));
	return error;
}

/* In the child. */
static void symbolize(int to, void *data)
{
	struct file_work *work = data;
	FILE *out = fdopen(work->to, "w");
	struct gt_symbolize result;
	int rc = out ? gt_symbolize(work->pin.content, out, GT_SYMBOLIZE_IF_FOUND, true, &result)
		     : -errno;

	if (out && fclose(out) && !rc)
		rc = -errno;
	if (rc || write(to, &result, sizeof(result)) != (ssize_t)sizeof(result))
		_exit(1);
}

static int work_confined(struct file_work *work, unsigned int seconds)
{
	struct gt_confined child;
	int rc = gt_confined_start(&child, seconds, symbolize, work);
	bool told, ended;

	if (rc)
		return fail(work, rc, NULL);
	told = gt_confined_read(&child, work->ret, sizeof(*work->ret));
	ended = gt_confined_end(&child);
	if (told && ended)
		return 0;
	if (child.is_late)
		return fail(work, -ETIME, "looking for source lines took too long");
	return fail(work, -EBADMSG, "it, or a module that it names, cannot be read");
}

/* Somebody may have written into the trace. */
static bool is_unchanged(const struct file_work *work)
{
	struct stat now;

	return !stat(work->pin.content, &now) && now.st_size == work->pin.status.st_size &&
	       now.st_mtim.tv_sec == work->pin.status.st_mtim.tv_sec &&
	       now.st_mtim.tv_nsec == work->pin.status.st_mtim.tv_nsec;
}

static int put_in_place(struct file_work *work)
{
	int rc;

	if (!is_unchanged(work))
		return fail(work, -EBUSY, "somebody still writes it");
	if (fsync(work->to) < 0)
		return fail(work, -errno, NULL);
	rc = gt_pin_replace(&work->pin, work->part);
	return rc ? fail(work, rc, NULL) : 0;
}

static int open_part(struct file_work *work)
{
	const char *beside = work->pin.beside;
	int folder = (int)(strrchr(beside, '/') - beside) + 1;

	if (!S_ISREG(work->pin.status.st_mode))
		return fail(work, -EINVAL, "no file");
	snprintf(work->part, sizeof(work->part), "%.*s.%s.lines.part", folder, beside,
		 beside + folder);
	unlink(work->part); /* of a run that was killed */
	work->to = open(work->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			work->pin.status.st_mode & 0777);
	return work->to < 0 ? fail(work, -errno, NULL) : 0;
}

static int run(struct file_work *work, unsigned int seconds)
{
	int rc = open_part(work);

	if (rc)
		return rc;
	rc = work_confined(work, seconds);
	if (!rc && work->ret->found)
		rc = put_in_place(work);
	if (rc || !work->ret->found)
		unlink(work->part);
	close(work->to);
	return rc;
}

int gt_symbolize_in_place(const char *path, unsigned int seconds, struct gt_symbolize *ret_result)
{
	struct file_work work = {.path = path, .to = -1, .ret = ret_result};
	int rc;

	*ret_result = (struct gt_symbolize){0};
	rc = gt_pin(&work.pin, path);
	if (rc)
		return fail(&work, rc, gt_pin_reason(rc));
	rc = run(&work, seconds);
	gt_unpin(&work.pin);
	return rc;
}
