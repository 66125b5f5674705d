/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing of finished traces, see the header.
 */
#include "analysis/compress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "analysis/progress.h"
#include "analysis/scan.h"
#include "analysis/translated.h"

#define CHUNK ((size_t)256 << 10)

struct packing {
	const char *path;
	char part[4096]; /* hidden, and no name that a reader of folders takes */
	struct stat before;
	int from, to;
	gt_compress_step *step;
	void *context;
	struct gt_compress *ret;
};

static int fail(struct packing *p, int error, const char *what)
{
	snprintf(p->ret->error, sizeof(p->ret->error), "%s: %s; it stays as it is", p->path,
		 what ? what : strerror(-error));
	return error;
}

static int make_names(struct packing *p)
{
	const char *slash = strrchr(p->path, '/');
	int folder = slash ? (int)(slash - p->path) + 1 : 0;
	int part = snprintf(p->part, sizeof(p->part), "%.*s.%s.gz.part", folder, p->path,
			    p->path + folder);
	int packed = snprintf(p->ret->path, sizeof(p->ret->path), "%s.gz", p->path);

	return part >= (int)sizeof(p->part) || packed >= (int)sizeof(p->ret->path) ? -ENAMETOOLONG
										   : 0;
}

/* A .pftrace begins with the length of a field, JSON with a bracket behind blanks. */
static bool is_trace(const char *head, size_t size)
{
	struct gt_input in = {.data = head, .size = size};

	return gt_translated_is_due(&in) || *gt_scan_blanks(head) == '{';
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
	if (head[0] == '[')
		return fail(p, -EBUSY, "not closed yet (gputrace repair closes it)");
	return is_trace(head, (size_t)n) ? 1 : fail(p, -EINVAL, n ? "no trace" : "empty");
}

static int open_files(struct packing *p)
{
	int fresh;

	p->from = open(p->path, O_RDONLY | O_CLOEXEC);
	if (p->from < 0 || fstat(p->from, &p->before) < 0)
		return fail(p, -errno, NULL);
	if (!S_ISREG(p->before.st_mode))
		return fail(p, -EINVAL, "no file");
	fresh = look_at(p);
	if (fresh <= 0) {
		p->ret->was_packed = fresh == 0;
		return fresh;
	}
	if (access(p->ret->path, F_OK) == 0)
		return fail(p, -EEXIST, "its .gz exists already");
	unlink(p->part); /* of a packing that was killed */
	p->to = open(p->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		     p->before.st_mode & 0777);
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

static int check_unchanged(struct packing *p)
{
	struct stat now;

	if (fstat(p->from, &now) < 0)
		return fail(p, -errno, NULL);
	if (now.st_size != p->before.st_size || now.st_mtim.tv_sec != p->before.st_mtim.tv_sec ||
	    now.st_mtim.tv_nsec != p->before.st_mtim.tv_nsec)
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
	if (link(p->part, p->ret->path) == 0)
		unlink(p->part);
	else if (errno == EEXIST || rename(p->part, p->ret->path) < 0)
		return fail(p, -errno, NULL);
	p->ret->from = (uint64_t)p->before.st_size;
	p->ret->to = (uint64_t)packed.st_size;
	unlink(p->path);
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
	error = run(&p);
	if (p.from >= 0)
		close(p.from);
	if (p.to >= 0)
		close(p.to);
	return error;
}
