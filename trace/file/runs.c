/* SPDX-License-Identifier: Apache-2.0
 *
 * See runs.h. Only the headers of the files are read.
 */
#include "trace/file/runs.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome/reader.h"
#include "trace/file/header.h"

struct run_file {
	char run[256]; /* the outermost of its names, else its job; empty: none */
	char job[80];  /* as the launcher calls it; empty: it does not */
	int64_t rank, world;
	int64_t began, ended; /* ns since 1970; ended 0: not known */
	size_t path;
};

/* Files first to end - 1 of the list, by run. */
struct run_group {
	const struct run_file *first, *end;
	int64_t began, ended;
};

static int64_t time_of(const struct gt_header *header, const char *key)
{
	char text[32];
	int64_t ns = 0;

	if (gt_header_text(header, "metadata", key, text, sizeof(text)))
		return strtoll(text, NULL, 10);
	gt_header_int(header, "metadata", key, &ns);
	return ns;
}

static void look_at(const char *path, struct run_file *ret_file)
{
	struct gt_reading reading;
	char names[256] = "", *blank;

	if (gt_file_header(path, &reading) >= 0) {
		const struct gt_header *header = &reading.header;

		gt_header_text(header, "metadata", "run", names, sizeof(names));
		gt_header_text(header, "metadata", "job", ret_file->job, sizeof(ret_file->job));
		ret_file->rank = header->rank;
		ret_file->world = header->world_size;
		ret_file->began = time_of(header, "clock_first_realtime_ns");
		ret_file->ended = time_of(header, "clock_last_realtime_ns");
	}
	gt_reading_fini(&reading);
	blank = strrchr(names, ' '); /* outer runs come last */
	strcpy(ret_file->run, blank ? blank + 1 : names);
	if (!*names && *ret_file->job)
		snprintf(ret_file->run, sizeof(ret_file->run), "job %s", ret_file->job);
}

static int by_run(const void *a, const void *b)
{
	const struct run_file *x = a, *y = b;
	int order = strcmp(x->run, y->run);

	return order ? order : x->path < y->path ? -1 : x->path > y->path;
}

static int newest_first(const void *a, const void *b)
{
	const struct run_group *x = a, *y = b;

	return x->began != y->began ? (x->began > y->began ? -1 : 1)
				    : strcmp(y->first->run, x->first->run);
}

static size_t find_runs(const struct run_file *files, size_t count, struct run_group *ret_runs)
{
	size_t runs = 0;

	for (size_t i = 0, end; i < count; i = end) {
		struct run_group run = {.first = &files[i]};

		for (end = i; end < count && !strcmp(files[end].run, files[i].run); end++) {
			if (files[end].began > run.began)
				run.began = files[end].began;
			if (files[end].ended > run.ended)
				run.ended = files[end].ended;
		}
		run.end = &files[end];
		if (*files[i].run)
			ret_runs[runs++] = run;
	}
	return runs;
}

static bool has_rank_of(const struct run_group *run, const struct run_group *other)
{
	for (const struct run_file *a = run->first; a < run->end; a++)
		for (const struct run_file *b = other->first; b < other->end; b++)
			if (a->rank == b->rank)
				return true;
	return false;
}

/* By the launcher's own word, whatever the clocks of their hosts say. */
static bool is_of_job(const struct run_group *run, const struct run_group *other)
{
	return *run->first->job && !strcmp(run->first->job, other->first->job);
}

/* Whether a launcher started @run beside the ones that were taken already, newest first. */
static bool is_beside(const struct run_group *run, const struct run_group *taken, size_t count)
{
	if (run->first->world < 2 || run->first->world != taken[0].first->world ||
	    (run->ended && run->ended < taken[0].began && !is_of_job(run, &taken[0])))
		return false;
	for (size_t i = 0; i < count; i++)
		if (has_rank_of(run, &taken[i]))
			return false;
	return true;
}

/* The runs that belong together come first. Returns their number. */
static size_t take_newest(struct run_group *runs, size_t count)
{
	size_t taken = 1;

	qsort(runs, count, sizeof(*runs), newest_first);
	for (size_t i = 1; i < count; i++) {
		struct run_group run = runs[i];

		if (!is_beside(&run, runs, taken))
			continue;
		runs[i] = runs[taken];
		runs[taken++] = run;
	}
	return taken;
}

long gt_job_runs_before(char *const *paths, size_t count, bool *ret_left_out)
{
	struct run_file *files = calloc(count + 1, sizeof(*files));
	struct run_group *runs = calloc(count + 1, sizeof(*runs));
	size_t found = 0, taken = 0;
	long rc = files && runs ? 0 : -ENOMEM;

	memset(ret_left_out, 0, count * sizeof(*ret_left_out));
	for (size_t i = 0; !rc && i < count; i++) {
		files[i].path = i;
		look_at(paths[i], &files[i]);
	}
	if (!rc) {
		qsort(files, count, sizeof(*files), by_run);
		found = find_runs(files, count, runs);
		taken = found ? take_newest(runs, found) : 0;
		rc = found ? (long)(found - taken + 1) : 0;
	}
	for (size_t i = taken; i < found; i++)
		for (const struct run_file *file = runs[i].first; file < runs[i].end; file++)
			ret_left_out[file->path] = true;
	free(runs);
	free(files);
	return rc;
}
