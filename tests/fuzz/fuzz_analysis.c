/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a trace through everything that is done with one: model, tables, findings,
 * gaps, stacks, diff, report, verify, repair, merge, and the repaired file once more.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/diff/diff.h"
#include "analysis/findings/findings.h"
#include "analysis/report/report.h"
#include "analysis/stacks/stacks.h"
#include "analysis/stats.h"
#include "analysis/usage/usage.h"
#include "analysis/verify/verify.h"
#include "recover/close.h"
#include "tests/fuzz/fuzz.h"
#include "transform/job/merge.h"
#include "transform/symbolize.h"
#include "tests/pinned.h"

static void ignore(const char *line)
{
	(void)line;
}

static void print(struct gt_table *table, FILE *null)
{
	const struct gt_print how = {.format = GT_FORMAT_JSON};

	gt_table_print(table, 1, &how, null);
	gt_table_fini(table);
}

static void use_reports(const struct gt_report *report, const struct gt_job *job,
			const struct gt_filter *filter, FILE *null)
{
	const struct gt_report histogram = gt_usage_histogram(GT_KEY_KERNEL);
	struct gt_table table;

	for (; report->name; report++) {
		report->build(report, job, filter, &table);
		print(&table, null);
	}
	histogram.build(&histogram, job, filter, &table);
	print(&table, null);
}

static void use_findings(const struct gt_job *job, const struct gt_filter *filter, FILE *null)
{
	struct gt_findings findings;
	struct gt_table table;

	if (!gt_findings_find(job, filter, &findings)) {
		gt_findings_table(&findings, &table);
		print(&table, null);
		gt_findings_places(&findings, &table);
		print(&table, null);
	}
	gt_findings_fini(&findings);
}

static void use_model(char *path, FILE *null)
{
	struct gt_filter filter = {0};
	struct gt_diff diff = {0};
	struct gt_job job = {0};
	size_t failures;

	if (!gt_job_load(&job, &path, 1, ignore, &failures)) {
		struct gt_folded stacks;

		gt_report_print(&job, &filter, "fuzz", null);
		use_reports(gt_reports, &job, &filter, null);
		use_reports(gt_usage_reports, &job, &filter, null);
		use_findings(&job, &filter, null);
		if (!gt_folded_build(&job, &filter, GT_WEIGHT_CPU, true, &stacks))
			gt_folded_print_speedscope(&stacks, GT_WEIGHT_CPU, "fuzz", null);
		gt_folded_fini(&stacks);
		gt_diff_build(&(struct gt_diff_request){.runs = {&job, &job},
							.run_count = {1, 1},
							.filter = &filter,
							.gate = 5},
			      &diff);
		gt_diff_fini(&diff);
	}
	gt_job_fini(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gt_verify_options options = {.lines_per_check = 3};
	char path[64], *paths[] = {path, path};
	FILE *null = fopen("/dev/null", "w");
	struct gt_verify_result verified;
	const struct gt_merge_request whole = {.force = true}, window = {.force = true,
									 .has_time = true,
									 .from = 1000,
									 .to = 1000000};
	struct gt_merge_result merged;
	struct gt_symbolize symbolized;
	struct gt_close repaired;
	int fd;

	snprintf(path, sizeof(path), "%s/gputrace-fuzz-XXXXXX", fuzz_folder());
	fd = mkstemp(path);
	if (fd < 0 || !null || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
	use_model(path, null);
	gt_verify_file(path, &options, null, &verified);
	gt_merge(paths, 2, &whole, null, &merged);
	gt_merge(paths, 2, &window, null, &merged);
	gt_symbolize(path, null, GT_SYMBOLIZE_ALWAYS, false, &symbolized);
	if (!PINNED(path, gt_close_file(&pin, &repaired))) {
		/* what was repaired is closed and holds as many events */
		uint64_t events = repaired.events;

		if (PINNED(path, gt_close_file(&pin, &repaired)) || !repaired.was_closed ||
		    repaired.events != events)
			abort();
		gt_verify_file(path, &options, null, &verified);
	}
	unlink(path);
	fclose(null);
	return 0;
}
