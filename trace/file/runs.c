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
	char run[256];                 /* the outermost of its names, else its job; empty: none */
	char job[80];                  /* as the launcher calls it; empty: it does not */
	char launch[80], launcher[64]; /* core/run_name.h; empty: not known */
	char host[72], boot[80];
	int64_t rank, world, starts;
	int64_t began, ended; /* ns since 1970; ended 0: not known */
	size_t path;
};

#define CLOSE_NS 2000000000 /* between the beginnings of ranks that a launcher started */

/* Files first to end - 1 of the list, by run. */
struct run_group {
	const struct run_file *first, *end;
	int64_t opened;       /* its first file began */
	int64_t began, ended; /* the last ones */
	const char *launch;   /* of all its files; empty: not known, or not one */
	int64_t starts;       /* the same; 0 */
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

/* No two jobs that run have the same. */
static bool is_hydra(const char *launch)
{
	return !strncmp(launch, "hydra ", 6);
}

static void look_at(const char *path, struct run_file *ret_file)
{
	struct gt_reading reading;
	char names[256] = "", *blank;

	if (gt_file_header(path, &reading) >= 0) {
		const struct gt_header *header = &reading.header;

		gt_header_text(header, "metadata", "run", names, sizeof(names));
		gt_header_text(header, "metadata", "job", ret_file->job, sizeof(ret_file->job));
		gt_header_text(header, "metadata", "launch", ret_file->launch,
			       sizeof(ret_file->launch));
		gt_header_text(header, "metadata", "launcher", ret_file->launcher,
			       sizeof(ret_file->launcher));
		gt_header_text(header, "metadata", "hostname", ret_file->host,
			       sizeof(ret_file->host));
		gt_header_text(header, "metadata", "boot", ret_file->boot, sizeof(ret_file->boot));
		gt_header_int(header, "metadata", "starts", &ret_file->starts);
		ret_file->rank = header->rank;
		ret_file->world = header->world_size;
		ret_file->began = time_of(header, "clock_first_realtime_ns");
		ret_file->ended = time_of(header, "clock_last_realtime_ns");
	}
	gt_reading_fini(&reading);
	blank = strrchr(names, ' '); /* outer runs come last */
	strcpy(ret_file->run, blank ? blank + 1 : names);
	if (!*names && (*ret_file->job || is_hydra(ret_file->launch)))
		snprintf(ret_file->run, sizeof(ret_file->run), "job %s %s", ret_file->job,
			 is_hydra(ret_file->launch) ? ret_file->launch : "");
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
		struct run_group run = {
			.first = &files[i], .launch = files[i].launch, .starts = files[i].starts};

		for (end = i; end < count && !strcmp(files[end].run, files[i].run); end++) {
			if (end == i || files[end].began < run.opened)
				run.opened = files[end].began;
			if (files[end].began > run.began)
				run.began = files[end].began;
			if (files[end].ended > run.ended)
				run.ended = files[end].ended;
			if (strcmp(files[end].launch, run.launch))
				run.launch = "";
			if (files[end].starts != run.starts)
				run.starts = 0;
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

static bool are_equal(const char *a, const char *b)
{
	return *a && !strcmp(a, b);
}

static bool are_unequal(const char *a, const char *b)
{
	return *a && *b && strcmp(a, b);
}

/* Programs that start all ranks of a job on a host; a shell may start each rank by another one. */
static bool is_launcher(const char *name)
{
	static const char *const names[] = {"hydra_",   "pmi_proxy", "mpiexec", "mpirun",
					    "mpispawn", "orterun",   "orted",   "prterun",
					    "prted",    "flux-she",  "palsd",   "slurmstepd"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* Two launchers of one host, which of one job would be one. */
static bool are_of_two_launchers(const struct run_file *a, const struct run_file *b)
{
	return are_equal(a->boot, b->boot) && are_equal(a->host, b->host) &&
	       are_unequal(a->launcher, b->launcher) && is_launcher(a->launcher) &&
	       is_launcher(b->launcher);
}

static bool are_of_one_launcher(const struct run_file *a, const struct run_file *b)
{
	return are_equal(a->boot, b->boot) && are_equal(a->launcher, b->launcher) &&
	       is_launcher(a->launcher);
}

/* A launcher's start counts before the id of a batch job, which may have several. */
static bool are_of_two_jobs(const struct run_group *run, const struct run_group *other)
{
	bool are_one = are_equal(run->first->job, other->first->job);

	if ((run->starts && other->starts && run->starts != other->starts) ||
	    are_of_two_launchers(run->first, other->first))
		return true;
	if (is_hydra(run->launch) && is_hydra(other->launch))
		return strcmp(run->launch, other->launch) != 0;
	return are_unequal(run->first->job, other->first->job) ||
	       (!are_one && are_unequal(run->launch, other->launch));
}

/* By the launcher's own word, whatever the clocks of their hosts say. */
static bool is_of_job(const struct run_group *run, const struct run_group *other)
{
	if (are_of_two_jobs(run, other))
		return false;
	return are_equal(run->first->job, other->first->job) ||
	       (is_hydra(run->launch) && are_equal(run->launch, other->launch)) ||
	       are_of_one_launcher(run->first, other->first);
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

		if (runs[i].is_taken && are_of_two_jobs(run, &runs[i])) {
			return false;
		} else if (runs[i].is_taken) {
			touches |= !run->ended || ns <= CLOSE_NS || overlap(run, &runs[i]);
			taken = ns < taken ? ns : taken;
		} else if (runs[i].is_rival && runs[i].first->world == run->first->world &&
			   !are_of_two_jobs(run, &runs[i])) {
			rival = ns < rival ? ns : rival;
		}
	}
	return touches && taken <= rival;
}

static bool is_known(const struct run_group *run, const struct run_group *runs, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (runs[i].is_taken && is_of_job(run, &runs[i]))
			return true;
	return false;
}

/* Whether a launcher may have started @run beside those that are taken; the newest is @runs. */
static bool may_be_beside(const struct run_group *run, const struct run_group *runs)
{
	return !run->is_taken && !run->is_rival && run->first->world >= 2 &&
	       run->first->world == runs->first->world && !are_of_two_jobs(run, runs);
}

static void take(struct run_group *run, struct run_group *runs, size_t count)
{
	run->is_taken = true;
	for (size_t i = 0; i < count; i++)
		if (!runs[i].is_taken && !runs[i].is_rival)
			runs[i].is_rival = has_rank_of(&runs[i], run);
}

/* Takes those of which @is_one says that they belong to those that are taken. How many. */
static size_t take_those(struct run_group *runs, size_t count,
			 bool (*is_one)(const struct run_group *run, const struct run_group *runs,
					size_t count))
{
	size_t taken = 0;

	for (size_t i = 1; i < count; i++) {
		if (!may_be_beside(&runs[i], runs) || !is_one(&runs[i], runs, count))
			continue;
		take(&runs[i], runs, count);
		taken++;
	}
	return taken;
}

/* Marks the runs that belong together; those of each round may lead to more. */
static void take_newest(struct run_group *runs, size_t count)
{
	qsort(runs, count, sizeof(*runs), newest_first);
	take(&runs[0], runs, count);
	while (take_those(runs, count, is_known) || take_those(runs, count, is_near))
		continue;
}

/* That a run was taken says nothing but the time, and another job's ran then, too. */
static bool is_guess(const struct run_group *runs, size_t count)
{
	struct run_group all = runs[0];
	bool by_time = false, is_rival = false;

	for (size_t i = 1; i < count; i++) {
		if (!runs[i].is_taken)
			continue;
		by_time |= !is_of_job(&runs[i], &runs[0]);
		all.opened = runs[i].opened < all.opened ? runs[i].opened : all.opened;
		all.ended = runs[i].ended > all.ended ? runs[i].ended : all.ended;
	}
	for (size_t i = 1; by_time && i < count; i++)
		is_rival |= runs[i].is_rival && runs[i].first->world == runs->first->world &&
			    !are_of_two_jobs(&runs[i], runs) && overlap(&runs[i], &all);
	return is_rival;
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

long gt_job_runs_before(char *const *paths, size_t count, bool *ret_left_out, bool *ret_is_guess)
{
	struct run_file *files = calloc(count + 1, sizeof(*files));
	struct run_group *runs = calloc(count + 1, sizeof(*runs));
	size_t found = 0;
	long rc = files && runs ? 0 : -ENOMEM;

	memset(ret_left_out, 0, count * sizeof(*ret_left_out));
	*ret_is_guess = false;
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
	*ret_is_guess = found && is_guess(runs, found);
	if (!rc)
		rc = count_jobs(runs, found);
	free(runs);
	free(files);
	return rc;
}
