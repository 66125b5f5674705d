/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace merge: the ranks of a job as one trace.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "analysis/key.h"
#include "cli/cmdline.h"
#include "cli/outfile.h"
#include "cli/progress.h"
#include "core/window/rank_list.h"
#include "readers/show.h"
#include "transform/job/merge.h"
#include "transform/job/choice.h"
#include "transform/job/archive.h"
#include "transform/job/pftrace.h"

static const struct gt_cmdline_option options[] = {
	{"output", "FILE", NULL,
	 "write to FILE, which must not exist (default: standard output, JSON); FILE.json.gz: "
	 "packed; FILE.pftrace: as Perfetto's protobuf; FILE.zip: the traces as "
	 "they are, with a manifest for Perfetto 58 or later"},
	{"ranks", "N,N-M,...", NULL, "only these ranks: 0,8-15"},
	{"host", "GLOB", NULL, "only ranks on hosts with such a name, with * and ?"},
	{"time", "FROM..TO", NULL,
	 "only this window, as --filter=time= of other commands has it (0: the first slice of the "
	 "whole job; ms, or with a unit): slices that reach into it are kept whole, counters begin "
	 "with their last value before it; of a zip, the traces with something in it are kept "
	 "whole"},
	{"force", NULL, NULL,
	 "merge traces of several hosts also where their clocks can be related by nothing but the "
	 "time that they show"},
	{NULL, NULL, NULL, NULL},
};

/* What a zip has of a file that was cut is all that there is of it. */
static void warn_cut(const struct gt_merge_result *result, bool is_zip)
{
	if (result->cut == 1)
		gt_show_line(stderr, "gputrace: %s: the file was cut; %s", result->cut_path,
			     is_zip ? "it is in the zip as it is"
				    : "merging the part before the cut");
	else if (result->cut)
		gt_show_line(stderr, "gputrace: %s and %" PRIu64 " more were cut; %s",
			     result->cut_path, result->cut - 1,
			     is_zip ? "they are in the zip as they are"
				    : "merging the parts before the cuts");
}

static void warn(const struct gt_merge_result *result, bool is_zip)
{
	gt_job_origins_judge(&result->origins, gt_cmdline_complain);
	if (result->left_out == 1)
		gt_show_line(stderr, "gputrace: %s; left out", result->left_out_why);
	else if (result->left_out)
		gt_show_line(stderr, "gputrace: %s; left out, and %" PRIu64 " more",
			     result->left_out_why, result->left_out - 1);
	warn_cut(result, is_zip);
	if (result->twice == 1)
		gt_show_line(stderr, "gputrace merge: %s", result->twice_why);
	else if (result->twice)
		gt_show_line(stderr, "gputrace merge: %s (%" PRIu64 " more ranks are there twice)",
			     result->twice_why, result->twice - 1);
	if (result->baseless)
		fprintf(stderr,
			"gputrace merge: %" PRIu64
			" file%s without baseTimeNanoseconds, not aligned\n",
			result->baseless, gt_plural(result->baseless));
}

static void say_clocks(const struct gt_merge_clocks *clocks)
{
	char within[48] = "with an error that is not known", time[32], why[GT_CLOCK_BAR_TEXT];

	if (clocks->error >= 0)
		snprintf(within, sizeof(within), "within %s",
			 gt_table_time((double)clocks->error, time, sizeof(time)));
	if (clocks->collectives)
		fprintf(stderr,
			"gputrace merge: clocks of %zu process%s related to that of the first by "
			"collectives, %s\n",
			clocks->collectives, clocks->collectives == 1 ? "" : "es", within);
	if (clocks->realtime)
		fprintf(stderr,
			"gputrace merge: the clocks of %zu process%s cannot be related to that of "
			"the first: %s. They are taken as they are, with an error that is not "
			"known\n",
			clocks->realtime, clocks->realtime == 1 ? "" : "es",
			gt_clock_bar_text(&clocks->bar, why));
}

static void say_window(const struct gt_merge_result *result, bool is_zip, size_t files)
{
	if (is_zip)
		fprintf(stderr,
			"gputrace merge: %" PRIu64
			" of %zu traces have something in the window; they are in the zip whole\n",
			result->kept, files);
	else if (!result->kept)
		fputs("gputrace merge: nothing is in this window of time\n", stderr);
}

/* "FROM..TO" as --filter takes it. */
static int read_window(const struct gt_cmdline *args, struct gt_merge_request *request)
{
	const char *text = gt_cmdline_get(args, "time");
	struct gt_filter filter = {0};
	char term[128];
	int rc = 0;

	if (!text)
		return 0;
	snprintf(term, sizeof(term), "time=%s", text);
	if (gt_filter_add(&filter, term)) {
		rc = gt_cmdline_wrong(args, "--time=%s: %s", text, filter.wrong);
	} else {
		request->has_time = true;
		request->from = filter.terms.at[0].from;
		request->to = filter.terms.at[0].to;
	}
	gt_filter_fini(&filter);
	return rc;
}

static int merge_to(const struct gt_job *job, const struct gt_merge_request *request,
		    const char *path)
{
	const bool is_zip = gt_outfile_ends(path, ".zip");
	struct gt_merge_result result;
	struct gt_outfile out;
	int rc;

	for (size_t i = 0; i < job->paths.count; i++)
		if (!gt_cmdline_can_read_twice(job->paths.at[i]))
			return GT_EXIT_FAILED;
	if (gt_outfile_open(&out, path))
		return GT_EXIT_FAILED;
	if (gt_outfile_ends(path, ".pftrace"))
		rc = gt_merge_pftrace(job->paths.at, job->paths.count, request, out.fd, &result);
	else
		rc = (is_zip ? gt_merge_zip : gt_merge)(job->paths.at, job->paths.count, request,
							out.file, &result);
	rc = gt_outfile_close(&out, rc, result.error);
	if (rc)
		return rc;
	warn(&result, is_zip);
	say_clocks(&result.clocks);
	if (request->has_time)
		say_window(&result, is_zip, job->paths.count);
	return result.left_out ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static int run_merge(const struct gt_cmdline *args)
{
	const char *output = gt_cmdline_get(args, "output");
	const struct gt_merge_choice choice = {.ranks = gt_cmdline_get(args, "ranks"),
					       .host = gt_cmdline_get(args, "host")};
	struct gt_merge_request request = {.force = gt_cmdline_get(args, "force") != NULL};
	struct gt_job job;
	int rc = read_window(args, &request);

	if (rc)
		return rc;
	if (gt_outfile_ends(output, ".pftrace.gz") || gt_outfile_ends(output, ".zip.gz"))
		return gt_cmdline_wrong(args,
					"--output=%s: only JSON is packed as it is merged "
					"(gputrace compress packs a .pftrace)",
					output);
	if (choice.ranks && gt_rank_list_check(choice.ranks))
		return gt_cmdline_wrong(args, "--ranks=%s: it takes " GT_RANK_LIST_FORM,
					choice.ranks);
	if (output || !isatty(STDOUT_FILENO))
		gt_progress_start("merging");
	rc = gt_job_find_readable(&job, args->inputs, args->input_count, gt_cmdline_complain);
	if (rc >= 0 && gt_merge_choose(&job, &choice)) {
		gt_cmdline_complain("none of the traces is of these ranks and hosts");
		rc = -ENODATA;
	}
	rc = rc < 0 ? GT_EXIT_FAILED : merge_to(&job, &request, output);
	gt_progress_stop();
	gt_job_fini(&job);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_merge,
	.details =
		"Processes and devices with the same number get their own tracks, correlation, "
		"flow and stack ids stay unique, and files whose baseTimeNanoseconds differ are "
		"shifted to one clock. Traces of one boot of one machine are related exactly; "
		"those of "
		"other hosts by the ends of the collectives that they share, with their drift "
		"(docs/RANKS.md), and the error is printed. Viewers show the ranks in order, "
		"each one's GPUs below "
		"its host. Ledgers are added up. The merged file is JSON; or a .pftrace, a tenth "
		"of its size, of traces that gputrace wrote; or a "
		"zip of the traces, in which nothing is changed: its manifest says how far "
		"the clock of each is from that of the job, one number for each trace.",
	.example = "# all ranks of a job side by side\n"
		   "gputrace merge --output=all.json out\n"
		   "# the same, smaller, for Perfetto and for gputrace\n"
		   "gputrace merge --output=all.pftrace out\n"
		   "# a tenth of a second of it\n"
		   "gputrace merge --time=2s..2.1s --output=part.json out\n"
		   "# the traces themselves, for Perfetto 58 or later, of eight ranks\n"
		   "gputrace merge --ranks=0-7 --output=all.zip out",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.run = run_merge,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_merge = {
	.name = "merge",
	.arguments = "[FILE|FOLDER...]",
	.help = "combine the ranks of a job into one trace",
	.run = run,
};
