/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing of finished traces, see the header.
 */
#include "transform/compress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "readers/chrome/reader.h"
#include "readers/chrome/scan.h"
#include "readers/events.h"
#include "readers/progress.h"
#include "recover/pin.h"
#include "trace/first_block.h"

#define CHUNK   ((size_t)256 << 10)
#define NOT_YET "not closed yet (gputrace repair closes it)"

struct packing {
	const char *path;
	struct gt_pin pin;
	char part[400];   /* hidden, and no name that a reader of folders takes */
	char packed[400]; /* its later name */
	char written[40]; /* the part, whatever its name is by now */
	bool is_json;
	int from, to;
	gt_compress_step *step;
	void *context;
	struct gt_compress *ret;
};

static int fail(struct packing *p, int error, const char *what)
{
	snprintf(p->ret->error, sizeof(p->ret->error), "%s: %s%s", p->path,
		 what ? what : strerror(-error), p->from < 0 ? "" : "; it stays as it is");
	return error;
}

static int make_names(struct packing *p)
{
	const char *beside = p->pin.beside;
	int folder = (int)(strrchr(beside, '/') - beside) + 1;
	int shown = snprintf(p->ret->path, sizeof(p->ret->path), "%s.gz", p->path);

	snprintf(p->part, sizeof(p->part), "%.*s.%s.gz.part", folder, beside, beside + folder);
	snprintf(p->packed, sizeof(p->packed), "%s.gz", beside);
	return shown >= (int)sizeof(p->ret->path) ? -ENAMETOOLONG : 0;
}

/* A .pftrace begins with the length of a field, JSON with a bracket behind blanks. */
static bool is_trace(struct packing *p, const char *head, size_t size)
{
	struct gt_input in = {.data = head, .size = size};
	char first = *gt_scan_blanks(head);

	p->is_json = !gt_input_is_pftrace(&in);
	return !p->is_json || first == '{' || first == '[';
}

/* 1: to be packed, 0: packed already. */
static int look_at(struct packing *p)
{
	char head[4096 + 1] = "";
	ssize_t n = pread(p->from, head, sizeof(head) - 1, 0);

	if (n < 0)
		return fail(p, -errno, NULL);
	if (n >= 2 && !memcmp(head, "\x1f\x8b", 2))
		return 0;
	if (head[0] == '[' && strstr(head, "\"gputrace_version\"")) /* seen before it is packed */
		return fail(p, -EBUSY, NOT_YET);
	return is_trace(p, head, (size_t)n) ? 1 : fail(p, -EINVAL, n ? "no trace" : "empty");
}

static int open_files(struct packing *p)
{
	int fresh;

	if (!S_ISREG(p->pin.status.st_mode))
		return fail(p, -EINVAL, "no file");
	p->from = open(p->pin.content, O_RDONLY | O_CLOEXEC);
	if (p->from < 0)
		return fail(p, -errno, NULL);
	fresh = look_at(p);
	if (fresh <= 0) {
		p->ret->was_packed = fresh == 0;
		return fresh;
	}
	if (access(p->packed, F_OK) == 0)
		return fail(p, -EEXIST, "its .gz exists already, and is not overwritten");
	unlink(p->part); /* of a packing that was killed */
	p->to = open(p->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     p->pin.status.st_mode & 0777);
	snprintf(p->written, sizeof(p->written), "/proc/self/fd/%d", p->to);
	return p->to < 0 ? fail(p, -errno, NULL) : 1;
}

static int copy_all(struct packing *p, gzFile out, char *chunk)
{
	ssize_t n;

	while ((n = read(p->from, chunk, CHUNK)) > 0) {
		errno = EIO;
		if (gzwrite(out, chunk, (unsigned int)n) != n)
			return fail(p, -errno, NULL);
		gt_progress_add(n);
		if (p->step && !p->step(p->context))
			return fail(p, -EINTR, "packing was interrupted");
	}
	return n < 0 ? fail(p, -errno, NULL) : 0;
}

/* zlib closes its descriptor before the content is on the disk: it gets one of its own. */
static int pack(struct packing *p)
{
	int own = dup(p->to), error = -ENOMEM;
	gzFile out = own < 0 ? NULL : gzdopen(own, "wb");
	char *chunk = malloc(CHUNK);

	if (out && chunk)
		error = copy_all(p, out, chunk);
	else
		fail(p, error, NULL);
	free(chunk);
	if (!out && own >= 0)
		close(own);
	errno = EIO;
	if (out && gzclose(out) != Z_OK && !error)
		error = fail(p, -errno, NULL);
	return error;
}

/* ---- what was packed is read back: is it a trace, and whole? ---- */

/* "FILE:LINE: what": what a reader says of the packed file is true of the one that was packed. */
static int fail_as_read(struct packing *p, int error, const char *said)
{
	size_t n = strlen(p->written);

	if (strncmp(said, p->written, n) != 0)
		return fail(p, error, *said ? said : NULL);
	snprintf(p->ret->error, sizeof(p->ret->error), "%s%s; it stays as it is", p->path,
		 said + n);
	return error;
}

static int see_record(const struct gt_trace_event *record, const struct gt_header *header,
		      void *data)
{
	struct packing *p = data;

	(void)record;
	(void)header;
	return p->step && !p->step(p->context) ? -EINTR : 0;
}

static int check_json(struct packing *p)
{
	struct gt_reading reading;
	int error = gt_reader_read(p->written, see_record, p, &reading);

	if (error == -EINTR)
		fail(p, error, "packing was interrupted");
	else if (error ? gt_first_block_file_is_torn_as(p->pin.content, p->path)
		       : !reading.closed || gt_reading_is_running(&reading))
		error = fail(p, -EBUSY, NOT_YET);
	else if (!error && reading.strange && !reading.events)
		error = fail(p, -EINVAL, "no trace");
	else if (error)
		fail_as_read(p, error, reading.error);
	gt_reading_fini(&reading);
	return error;
}

static int see_metadata(const struct gt_metadata *metadata, void *data)
{
	(void)metadata;
	(void)data;
	return 0;
}

static int see_event(const struct gt_event *event, void *data)
{
	(void)event;
	return see_record(NULL, NULL, data);
}

static int check_part(struct packing *p, struct gt_input *in, uint32_t part, uint32_t *ret_parts)
{
	struct gt_events events = {
		.take_metadata = see_metadata, .take_event = see_event, .part = part, .data = p};
	int error = gt_events_init(&events);

	if (!error)
		error = gt_events_read_pftrace_input(&events, in);
	if (error == -EINTR)
		fail(p, error, "packing was interrupted");
	else if (error)
		fail_as_read(p, error, events.error);
	*ret_parts = events.parts;
	gt_events_fini(&events);
	return error;
}

/* Cut or not: without a spool, which the caller looks for, nothing more can come into it. */
static int check_pftrace(struct packing *p)
{
	struct gt_input in;
	int error = gt_input_open(&in, p->written);
	uint32_t parts = 1;

	if (error)
		fail_as_read(p, error, strerror(-error));
	for (uint32_t part = 0; !error && part < parts; part++)
		error = check_part(p, &in, part, &parts);
	gt_input_close(&in);
	return error;
}

static int read_back(struct packing *p)
{
	gt_progress_expect_file(p->written);
	return p->is_json ? check_json(p) : check_pftrace(p);
}

static int check_unchanged(struct packing *p)
{
	const struct stat *before = &p->pin.status;
	struct stat now;

	if (fstat(p->from, &now) < 0)
		return fail(p, -errno, NULL);
	if (now.st_size != before->st_size || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != before->st_mtim.tv_nsec)
		return fail(p, -EBUSY, "somebody still writes it");
	return 0;
}

/* link() never puts a file in place of another one; where there are no links the name was free a
 * moment ago. */
static int put_in_place(struct packing *p)
{
	struct stat packed;

	if (fsync(p->to) < 0 || fstat(p->to, &packed) < 0)
		return fail(p, -errno, NULL);
	if (linkat(AT_FDCWD, p->written, AT_FDCWD, p->packed, AT_SYMLINK_FOLLOW) == 0)
		unlink(p->part);
	else if (errno == EEXIST || rename(p->part, p->packed) < 0)
		return fail(p, -errno, NULL);
	p->ret->from = (uint64_t)p->pin.status.st_size;
	p->ret->to = (uint64_t)packed.st_size;
	gt_pin_remove(&p->pin);
	return 0;
}

static int run(struct packing *p)
{
	int error = make_names(p);

	if (error)
		return fail(p, error, NULL);
	error = open_files(p);
	if (error <= 0)
		return error;
	error = pack(p);
	if (!error)
		error = check_unchanged(p);
	if (!error)
		error = read_back(p);
	if (!error)
		error = put_in_place(p);
	if (error)
		unlink(p->part);
	return error;
}

int gt_compress_file(const char *path, gt_compress_step *step, void *context,
		     struct gt_compress *ret)
{
	struct packing p = {
		.path = path, .from = -1, .to = -1, .step = step, .context = context, .ret = ret};
	int error;

	*ret = (struct gt_compress){0};
	error = gt_pin(&p.pin, path);
	if (error)
		return fail(&p, error, gt_pin_reason(error));
	error = run(&p);
	if (p.from >= 0)
		close(p.from);
	if (p.to >= 0)
		close(p.to);
	gt_unpin(&p.pin);
	return error;
}
