/* SPDX-License-Identifier: Apache-2.0
 *
 * A folder of ranks, read by several threads at once, JSON and .pftrace mixed: the result has every
 * rank once, in order, with its own sums. Mainly for the sanitizer builds.
 */
#include "readers/progress.h"
#include "tests/unit/trace_fixture.h"
#include "trace/job.h"

#define RANKS 24

static int complaints;

static void count_complaint(const char *line)
{
	complaints++;
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

static void remove_folder(const char *folder)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	cr_assert_eq(system(command), 0);
}

Test(job, ranks_in_parallel)
{
	char folder[] = "/tmp/gputrace-job-XXXXXX", *input = folder;
	struct gt_job job;
	size_t failures = 0;

	cr_assert_not_null(mkdtemp(folder));
	for (int rank = 0; rank < RANKS; rank++)
		write_rank(folder, rank);
	cr_assert_eq(gt_job_load(&job, &input, 1, count_complaint, &failures), 0);
	cr_assert_eq(job.count, RANKS);
	cr_assert_eq(failures, 0);
	cr_assert_eq(complaints, 0);
	for (int rank = 0; rank < RANKS; rank++) {
		cr_assert_eq(job.models[rank].rank, rank);
		cr_assert_eq(job.models[rank].ops.count, (size_t)rank + 1);
		cr_assert_eq(job.models[rank].ops.at[rank].dur, 1000);
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
		cr_assert_eq(model->ops.at[99].dur, 5000);
		seen++;
	}
	gt_job_fini(&job);
	remove_folder(folder);
}
