/* SPDX-License-Identifier: Apache-2.0
 *
 * See symbolize_file.h. As compress.c does, everything goes through the pinned folder.
 */
#include "transform/symbolize_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "readers/input.h"
#include "recover/pin.h"
#include "transform/confined.h"

/* Bytes of JSON that are read, twice, and written in a second, and of them in a byte of gzip. */
#define BYTES_PER_SECOND ((uint64_t)200 << 20)
#define PACKED           10

struct file_work {
	const char *path;
	struct gt_pin pin;
	char part[400]; /* hidden, and no name that a reader of folders takes */
	int to;
	bool packed; /* gzip, and is to stay that */
	struct gt_symbolize *ret;
};

static int fail(struct file_work *work, int error, const char *what)
{
	snprintf(work->ret->error, sizeof(work->ret->error), "%.400s: %.300s; it stays as it is",
		 work->path, what ? what : strerror(-error));
	return error;
}

static ssize_t pack(void *file, const char *text, size_t size)
{
	return gzwrite(file, text, (unsigned int)size);
}

static int end_pack(void *file)
{
	return gzclose(file) == Z_OK ? 0 : -1;
}

/* zlib closes its descriptor. */
static FILE *open_packed(int to)
{
	static const cookie_io_functions_t functions = {.write = pack, .close = end_pack};
	int copy = dup(to);
	gzFile file = copy < 0 ? NULL : gzdopen(copy, "wb");

	return file ? fopencookie(file, "w", functions) : NULL;
}

/* What the child tells. */
struct lines_answer {
	int write_error; /* a negative errno: the new file could not be written */
	struct gt_symbolize result;
};

static int write_lines(struct file_work *work, struct lines_answer *ret)
{
	FILE *out = work->packed ? open_packed(work->to) : fdopen(work->to, "w");
	bool failed;
	int rc;

	if (!out)
		return -errno;
	rc = gt_symbolize(work->pin.content, out, GT_SYMBOLIZE_IF_FOUND, true, &ret->result);
	errno = 0;
	failed = ferror(out);
	if (fclose(out) || failed)
		ret->write_error = rc ? rc : errno ? -errno : -EIO;
	return rc;
}

/* In the child. */
static void symbolize(int to, void *data)
{
	struct lines_answer answer = {0};
	int rc;

	signal(SIGXFSZ, SIG_IGN); /* the limit is an error as a full disk is */
	rc = write_lines(data, &answer);
	if ((rc && !answer.write_error) ||
	    write(to, &answer, sizeof(answer)) != (ssize_t)sizeof(answer))
		_exit(1);
}

static int work_confined(struct file_work *work, unsigned int seconds)
{
	struct gt_confined child;
	int rc = gt_confined_start(&child, seconds, symbolize, work);
	struct lines_answer answer;
	bool told, ended;

	if (rc)
		return fail(work, rc, NULL);
	told = gt_confined_read(&child, &answer, sizeof(answer));
	ended = gt_confined_end(&child);
	if (told && ended && answer.write_error)
		return fail(work, answer.write_error, NULL);
	if (told && ended) {
		*work->ret = answer.result;
		return 0;
	}
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

/* It would be given up at the end of the time. */
static int check_size(struct file_work *work, unsigned int seconds)
{
	uint64_t bytes = (uint64_t)work->pin.status.st_size;
	char what[160];

	if (bytes * (work->packed ? PACKED : 1) <= seconds * BYTES_PER_SECOND)
		return 0;
	snprintf(what, sizeof(what),
		 "%.1f GB of %s are too many for source lines in %u s (gputrace symbolize "
		 "--output=FILE has the time)",
		 (double)bytes / 1e9, work->packed ? "gzip" : "JSON", seconds);
	return fail(work, -EFBIG, what);
}

/* What the file is, by its first bytes. */
static int look_at(struct file_work *work)
{
	char head[65] = "";
	gzFile from = gzopen(work->pin.content, "rb");
	int got = from ? gzread(from, head, sizeof(head) - 1) : -1;
	struct gt_input in = {.data = head, .size = got > 0 ? (size_t)got : 0};

	work->packed = from && !gzdirect(from);
	if (from)
		gzclose(from);
	if (got < 0)
		return fail(work, -EIO, NULL);
	if (!gt_input_is_pftrace(&in))
		return 0;
	return fail(work, -EINVAL,
		    "a .pftrace, which has no place for source lines that come later (stats and "
		    "others look them up, gputrace convert makes JSON of it)");
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
	int rc = S_ISREG(work->pin.status.st_mode) ? look_at(work) : 0;

	if (!rc)
		rc = check_size(work, seconds);
	if (!rc)
		rc = open_part(work);
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
