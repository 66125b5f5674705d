/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of ranks, read by several threads at once, JSON and .pftrace mixed: the result has every
 * rank once, in order, with its own sums. Mainly for the sanitizer builds.
 */
#include "readers/progress.h"
#include "tests/unit/trace_fixture.h"
#include "trace/job.h"
#include "trace/job_twins.h"

#define RANKS 24

static int complaints;
static char last_complaint[256];

static void count_complaint(const char *line)
{
	complaints++;
	snprintf(last_complaint, sizeof(last_complaint), "%s", line);
}

/* @rank + 1 kernels of 1 us each. */
static void write_rank(const char *folder, int rank)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/r%02d.json", folder, RANKS - rank);
	out = fopen(path, "w");
	cr_assert_not_null(out);
	fprintf(out,
		"{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": %d, \"world_size\": %d},"
		"\n\"traceEvents\": [\n",
		rank, RANKS);
	for (int i = 0; i <= rank; i++)
		fprintf(out,
			"%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k%d\", \"pid\": 0, "
			"\"tid\": 7, \"ts\": %d.5, \"dur\": 1, \"args\": {\"device\": 0, "
			"\"stream\": 7, \"launched by\": \"f%d (a) < main (a)\"}}",
			i ? ",\n" : "", i, i * 2, i % 3);
	fputs("\n]}\n", out);
	cr_assert_eq(fclose(out), 0);
}

static void make_ranks(char *folder)
{
	cr_assert_not_null(mkdtemp(folder));
	for (int rank = 0; rank < RANKS; rank++)
		write_rank(folder, rank);
}

static void remove_folder(const char *folder)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	cr_assert_eq(system(command), 0);
}

/* Numbers of operations have 32 bits: what has more is no trace, and no wrong number. */
Test(job, more_operations_than_numbers)
{
	char folder[] = "/tmp/gputrace-job-XXXXXX", *input = folder;
	struct gt_job job;
	size_t failures = 0;

	make_ranks(folder);
	gt_model_most_rows = RANKS - 1;
	cr_assert_eq(gt_job_load(&job, &input, 1, count_complaint, &failures), 0);
	gt_model_most_rows = GT_NONE - 1;
	cr_assert_eq(failures, 1);
	cr_assert_eq(job.count, RANKS - 1);
	cr_assert_not_null(strstr(last_complaint, "more than 23 operations"), "%s", last_complaint);
	gt_job_fini(&job);
	remove_folder(folder);
	complaints = 0;
}

Test(job, ranks_in_parallel)
{
	char folder[] = "/tmp/gputrace-job-XXXXXX", *input = folder;
	struct gt_job job;
	size_t failures = 0;

	make_ranks(folder);
	cr_assert_eq(gt_job_load(&job, &input, 1, count_complaint, &failures), 0);
	cr_assert_eq(job.count, RANKS);
	cr_assert_eq(failures, 0);
	cr_assert_eq(complaints, 0);
	for (int rank = 0; rank < RANKS; rank++) {
		cr_assert_eq(job.models[rank].rank, rank);
		cr_assert_eq(job.models[rank].ops.count, (size_t)rank + 1);
		cr_assert_eq(gt_model_op_at(&job.models[rank], rank)->dur, 1000);
	}
	cr_assert_eq(gt_progress_now().done, gt_progress_now().total, "%lu of %lu",
		     (unsigned long)gt_progress_now().done, (unsigned long)gt_progress_now().total);
	gt_job_fini(&job);
	remove_folder(folder);
}

/* A .pftrace with @count kernels of 5 us. */
static void write_pftrace(const char *folder, const char *name, uint32_t count)
{
	struct gt_sink_options sink = {.directory = folder, .fallback = folder, .name = name};
	struct gt_writer_options options = {0};
	struct trace t;
	int error = 0;

	trace_prepare(&t);
	t.writer = gt_writer_new("perfetto");
	cr_assert_not_null(t.writer);
	sink.suffix = t.writer->ops->suffix;
	t.sink = gt_sink_open(&sink, &error);
	cr_assert_not_null(t.sink, "error %d", error);
	cr_assert_eq(t.writer->ops->open(t.writer, t.sink, &t.metadata, &options), 0);
	for (uint32_t i = 0; i < count; i++) {
		struct gt_event event = {.kind = GT_EVENT_KERNEL,
					 .correlation = i + 1,
					 .start = AT(20000 + i * 10000),
					 .end = AT(25000 + i * 10000),
					 .place = {.device = 0, .context = 1, .stream = 7},
					 .kernel = {.name = trace_string(&t, "gemm")}};

		cr_assert_eq(trace_event(&t, &event), 0);
	}
	cr_assert_eq(trace_close(&t), 0);
	trace_end(&t);
}

Test(job, both_forms_in_parallel)
{
	char folder[] = "/tmp/gputrace-job-XXXXXX", *input = folder;
	struct gt_job job;
	size_t failures = 0;

	cr_assert_not_null(mkdtemp(folder));
	for (int i = 0; i < 8; i++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", i);
		write_pftrace(folder, name, 100u + (uint32_t)i);
		write_rank(folder, i);
	}
	cr_assert_eq(gt_job_load(&job, &input, 1, count_complaint, &failures), 0);
	cr_assert_eq(failures, 0);
	cr_assert_eq(job.count, 16);
	for (size_t i = 0, seen = 0; i < job.count; i++) {
		const struct gt_model *model = &job.models[i];

		if (!model->reading.is_pftrace)
			continue;
		cr_assert_eq(model->ops.count, 100 + seen); /* equal ranks: by name */
		cr_assert_eq(gt_model_op_at(model, 99)->dur, 5000);
		seen++;
	}
	gt_job_fini(&job);
	remove_folder(folder);
}

/* A file of @run with one kernel of 1 us, of @rank in a world of @world, that began at @began s. */
static void write_run(const char *folder, const char *name, const char *run, int rank, int world,
		      int began)
{
	char path[160];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "w");
	cr_assert_not_null(out);
	fprintf(out,
		"{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": %d, \"world_size\": %d},\n"
		"\"metadata\": {\"run\": \"%s\", \"pid\": %d, \"clock_first_realtime_ns\": "
		"\"17956590%02d000000000\", \"clock_last_realtime_ns\": "
		"\"17956590%02d000000000\"},\n"
		"\"traceEvents\": [\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", "
		"\"pid\": 0, "
		"\"tid\": 7, \"ts\": 5, \"dur\": 1, \"args\": {\"device\": 0, \"stream\": "
		"7}}\n]}\n",
		rank, world, run, 100 + began, began, began + 5);
	cr_assert_eq(fclose(out), 0);
}

static char said[8400];

static void keep_complaint(const char *line)
{
	complaints++;
	snprintf(said, sizeof(said), "%s", line);
}

static void load_runs(struct gt_job *job, char *folder)
{
	size_t failures = 0;

	complaints = 0;
	cr_assert_eq(gt_job_load(job, &folder, 1, keep_complaint, &failures), 0);
	cr_assert_eq(failures, 0);
}

/* The second run wrote into a folder of its own below the first one's. */
Test(job, newest_run_only)
{
	char folder[] = "/tmp/gputrace-job-XXXXXX", below[64], *input = folder;
	struct gt_job job;

	cr_assert_not_null(mkdtemp(folder));
	snprintf(below, sizeof(below), "%s/b", folder);
	cr_assert_eq(mkdir(below, 0700), 0);
	write_run(folder, "a.json", "gputrace-run-z", 0, 1, 10);
	write_run(folder, "c.json", "gputrace-run-inner gputrace-run-z", 0, 1, 14);
	write_run(below, "b.json", "gputrace-run-a", 0, 1, 30);
	load_runs(&job, folder);
	cr_assert_eq(job.count, 1);
	cr_assert(strstr(job.models[0].path, "/b/b.json"), "%s", job.models[0].path);
	cr_assert_eq(complaints, 1);
	cr_assert(strstr(said, "2 runs") && strstr(said, "/a.json (and 1 more)"), "%s", said);
	gt_job_fini(&job);

	cr_assert_eq(gt_job_find(&job, &input, 1, keep_complaint), 0); /* to verify or repair */
	cr_assert_eq(job.paths.count, 3);
	gt_job_fini(&job);
	remove_folder(folder);
}

/* A launcher starts `gputrace run` for each rank, and did so before, too. */
Test(job, ranks_with_a_run_each)
{
	char folder[] = "/tmp/gputrace-job-XXXXXX";
	struct gt_job job;
	size_t ranks, processes;

	cr_assert_not_null(mkdtemp(folder));
	write_run(folder, "o0.json", "gputrace-run-1", 0, 4, 10);
	write_run(folder, "o2.json", "gputrace-run-2", 2, 4, 10);
	write_run(folder, "n0.json", "gputrace-run-3", 0, 4, 30);
	write_run(folder, "n1.json", "gputrace-run-0", 1, 4, 31);
	write_run(folder, "h1.json", "gputrace-run-0", 1, 4, 32);
	load_runs(&job, folder);
	cr_assert_eq(complaints, 1);
	cr_assert(strstr(said, "2 runs"), "%s", said);
	cr_assert_eq(job.count, 3);
	gt_job_count(job.models, job.count, &ranks, &processes);
	cr_assert_eq(ranks, 2);
	cr_assert_eq(processes, 3);
	gt_job_fini(&job);
	remove_folder(folder);
}

/* Windows of one process, and one whose id is not known. */
Test(job, twins_have_different_names)
{
	static const char *const heads[] = {
		"\"pid\": 100, \"window\": \"from 1 ms to 2 ms, window 1\"",
		"\"pid\": 100, \"window\": \"from 3 ms to 4 ms, dump 2 (gputrace dump)\"",
		"\"pid\": 101", "\"mode\": \"cupti\""};
	static const char *const names[] = {" pid 100 window 1", " pid 100 dump 2", " pid 101",
					    " of w3.json"};
	char folder[] = "/tmp/gputrace-job-XXXXXX", path[160];
	struct gt_job job;
	size_t ranks, processes;

	cr_assert_not_null(mkdtemp(folder));
	for (int i = 0; i < 4; i++) {
		FILE *out;

		snprintf(path, sizeof(path), "%s/w%d.json", folder, i);
		out = fopen(path, "w");
		cr_assert_not_null(out);
		fprintf(out,
			"{\"metadata\": {%s},\n\"traceEvents\": [\n{\"ph\": \"X\", \"cat\": "
			"\"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 5, "
			"\"dur\": 1, \"args\": {\"device\": 0, \"stream\": 7}}\n]}\n",
			heads[i]);
		cr_assert_eq(fclose(out), 0);
	}
	load_runs(&job, folder);
	cr_assert_eq(job.count, 4);
	for (size_t i = 0; i < 4; i++)
		cr_assert_str_eq(job.models[i].twin, names[i]);
	gt_job_count(job.models, job.count, &ranks, &processes);
	cr_assert(ranks == 1 && processes == 3);
	gt_job_fini(&job);
	remove_folder(folder);
}

Test(job, words_for_ranks_and_processes)
{
	char text[80];

	gt_job_words(1, 1, text, sizeof(text));
	cr_assert_str_eq(text, "");
	gt_job_words(2, 2, text, sizeof(text));
	cr_assert_str_eq(text, "2 ranks");
	gt_job_words(1, 2, text, sizeof(text));
	cr_assert_str_eq(text, "2 processes");
	gt_job_words(2, 4, text, sizeof(text));
	cr_assert_str_eq(text, "2 ranks, 4 processes");
}

/* Files of one name are one trace only if they hold one. */
Test(job, a_name_is_not_a_trace)
{
	char folder[] = "/tmp/gputrace-job-XXXXXX", command[300], *input = folder;
	struct gt_job job;

	cr_assert_not_null(mkdtemp(folder));
	write_run(folder, "a.json", "gputrace-run-1", 0, 1, 10);
	write_run(folder, "b.json", "gputrace-run-1", 0, 1, 20);
	snprintf(command, sizeof(command), "cd %s && gzip -k a.json && gzip -c a.json >b.json.gz",
		 folder);
	cr_assert_eq(system(command), 0);
	complaints = 0;
	cr_assert_eq(gt_job_find(&job, &input, 1, keep_complaint), 0);
	cr_assert_eq(job.paths.count, 3); /* b.json.gz is another trace than b.json */
	cr_assert_eq(complaints, 1);
	cr_assert(strstr(said, "a.json.gz: left out"), "%s", said);
	gt_job_fini(&job);
	remove_folder(folder);
}
