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

#define CLOSE_NS 2000000000 /* between the beginnings of ranks that a launcher started */

/* Files first to end - 1 of the list, by run. */
struct run_group {
	const struct run_file *first, *end;
	int64_t opened;       /* its first file began */
	int64_t began, ended; /* the last ones */
	bool is_taken;        /* belongs to the newest one */
	bool is_rival;        /* has a rank of one that is taken: of another job */
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
			if (end == i || files[end].began < run.opened)
				run.opened = files[end].began;
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

static bool are_of_two_jobs(const struct run_group *run, const struct run_group *other)
{
	return *run->first->job && *other->first->job && !is_of_job(run, other);
}

static bool overlap(const struct run_group *run, const struct run_group *other)
{
	return run->ended >= other->opened && other->ended >= run->opened;
}

/* Between their beginnings. */
static int64_t distance(const struct run_group *run, const struct run_group *other)
{
	int64_t ns = run->opened - other->opened;

	return ns < 0 ? -ns : ns;
}

/* Ranks of programs of some milliseconds do not overlap: began close to one that is taken, or
 * overlaps it, and is not closer to the ranks of another job. */
static bool is_near(const struct run_group *run, const struct run_group *runs, size_t count)
{
	int64_t taken = INT64_MAX, rival = INT64_MAX;
	bool touches = false;

	for (size_t i = 0; i < count; i++) {
		int64_t ns = distance(run, &runs[i]);

		if (runs[i].is_taken) {
			touches |= ns <= CLOSE_NS || overlap(run, &runs[i]);
			taken = ns < taken ? ns : taken;
		} else if (runs[i].is_rival && runs[i].first->world == run->first->world) {
			rival = ns < rival ? ns : rival;
		}
	}
	return touches && taken <= rival;
}

/* Whether a launcher started @run beside those that are taken already; the newest is @runs. */
static bool is_beside(const struct run_group *run, const struct run_group *runs, size_t count)
{
	if (run->is_rival || run->first->world < 2 || run->first->world != runs->first->world ||
	    are_of_two_jobs(run, runs))
		return false;
	return !run->ended || run->ended >= runs->began || is_of_job(run, runs) ||
	       is_near(run, runs, count);
}

static void take(struct run_group *run, struct run_group *runs, size_t count)
{
	run->is_taken = true;
	for (size_t i = 0; i < count; i++)
		if (!runs[i].is_taken && !runs[i].is_rival)
			runs[i].is_rival = has_rank_of(&runs[i], run);
}

/* Marks the runs that belong together; those of each round may lead to more. */
static void take_newest(struct run_group *runs, size_t count)
{
	size_t taken = 1, before = 0;

	qsort(runs, count, sizeof(*runs), newest_first);
	take(&runs[0], runs, count);
	while (taken > before) {
		before = taken;
		for (size_t i = 1; i < count; i++) {
			if (runs[i].is_taken || !is_beside(&runs[i], runs, count))
				continue;
			take(&runs[i], runs, count);
			taken++;
		}
	}
}

/* How many there are, when those of a launcher are one; @runs is left without the newest. */
static long count_jobs(struct run_group *runs, size_t count)
{
	long jobs = 0;

	while (count) {
		size_t left = 0;

		take_newest(runs, count);
		for (size_t i = 0; i < count; i++)
			if (!runs[i].is_taken) {
				runs[left] = runs[i];
				runs[left++].is_rival = false;
			}
		count = left;
		jobs++;
	}
	return jobs;
}

long gt_job_runs_before(char *const *paths, size_t count, bool *ret_left_out)
{
	struct run_file *files = calloc(count + 1, sizeof(*files));
	struct run_group *runs = calloc(count + 1, sizeof(*runs));
	size_t found = 0;
	long rc = files && runs ? 0 : -ENOMEM;

	memset(ret_left_out, 0, count * sizeof(*ret_left_out));
	for (size_t i = 0; !rc && i < count; i++) {
		files[i].path = i;
		look_at(paths[i], &files[i]);
	}
	if (!rc) {
		qsort(files, count, sizeof(*files), by_run);
		found = find_runs(files, count, runs);
		if (found)
			take_newest(runs, found);
	}
	for (size_t i = 0; i < found; i++)
		for (const struct run_file *file = runs[i].first; file < runs[i].end; file++)
			ret_left_out[file->path] = !runs[i].is_taken;
	if (!rc)
		rc = count_jobs(runs, found);
	free(runs);
	free(files);
	return rc;
}
