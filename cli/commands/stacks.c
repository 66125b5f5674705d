/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace stacks: call stacks with weights, for flame graphs.
 */
#include <string.h>

#include "analysis/stacks/stacks.h"
#include "cli/cmdline.h"
#include "cli/outfile.h"

static const struct gt_cmdline_option options[] = {
	{"weight", "WHAT", "gpu|cpu|bytes|count|idle",
	 "gpu: time on the GPU (default), cpu: time of the calls, bytes: copied or set, count: "
	 "operations, "
	 "idle: time the GPU waited for them"},
	{"svg", "FILE", NULL,
	 "write a clickable flame graph to FILE, which must not exist (-: standard "
	 "output)"},
	{"speedscope", "FILE", NULL, "write speedscope's JSON format to FILE, likewise"},
	GT_CMDLINE_FRAME_OPTIONS(
		"innermost|user",
		"the frame that stacks end with: innermost (default): all frames; user: the "
		"innermost of the user's code, so that what a library does is its caller's"),
	GT_CMDLINE_SYMBOLIZE_OPTION,
	GT_CMDLINE_FILTER_OPTION,
	{NULL, NULL, NULL, NULL},
};

static enum gt_weight weight_of(const char *name)
{
	enum gt_weight weight = GT_WEIGHT_GPU;

	while (name && strcmp(gt_weight_names[weight], name))
		weight++;
	return weight;
}

static int print(const struct gt_cmdline *args, const struct gt_folded *stacks,
		 enum gt_weight weight)
{
	const char *svg = gt_cmdline_get(args, "svg"), *scope = gt_cmdline_get(args, "speedscope");
	int rc = GT_EXIT_OK;
	char title[128];
	struct gt_outfile out;

	snprintf(title, sizeof(title), "gputrace: call stacks by %s",
		 weight == GT_WEIGHT_GPU    ? "time on the GPU"
		 : weight == GT_WEIGHT_CPU  ? "time of CUDA calls"
		 : weight == GT_WEIGHT_IDLE ? "time the GPU was idle before them"
					    : gt_weight_names[weight]);
	if (svg) {
		if (gt_outfile_open(&out, svg))
			return GT_EXIT_FAILED;
		gt_folded_print_svg(stacks, weight, title, false, out.file);
		rc = gt_outfile_close(&out, 0, NULL);
	}
	if (scope && !rc) {
		if (gt_outfile_open(&out, scope))
			return GT_EXIT_FAILED;
		gt_folded_print_speedscope(stacks, weight, args->inputs[0], out.file);
		rc = gt_outfile_close(&out, 0, NULL);
	}
	if (!svg && !scope)
		gt_folded_print_folded(stacks, stdout);
	return rc;
}

static int run_stacks(const struct gt_cmdline *args)
{
	enum gt_weight weight = weight_of(gt_cmdline_get(args, "weight"));
	struct gt_folded stacks = {0};
	struct gt_filter filter = {0};
	struct gt_job job = {0};
	int rc = gt_cmdline_filter(args, &filter), printed;

	if (!rc)
		rc = gt_cmdline_load(args, &job);
	if (job.count) {
		printed = gt_folded_build(&job, &filter, weight, false, &stacks)
				  ? GT_EXIT_FAILED
				  : print(args, &stacks, weight);
		gt_cmdline_losses((const struct gt_job *const[]){&job}, 1, NULL);
		gt_cmdline_report_filter(&job, 1, &filter);
		rc = printed ? printed : rc;
	}
	gt_folded_fini(&stacks);
	gt_job_fini(&job);
	gt_filter_fini(&filter);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_stacks,
	.details = "Prints folded stacks for flamegraph.pl and speedscope: one line per stack, "
		   "frames from the root separated by ';', then the weight. The last frame is the "
		   "kernel, copy or CUDA call. Traces without call stacks show the Python "
		   "functions, NVTX ranges and operators around each call instead.",
	.example = "# a flame graph of GPU time, as a file that any browser opens\n"
		   "gputrace stacks --weight=gpu --svg=flame.svg trace.json\n"
		   "# where the host was when the GPU had nothing to do\n"
		   "gputrace stacks --weight=idle trace.json | flamegraph.pl > idle.svg",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.takes_newest = true,
	.takes_stdin = true,
	.run = run_stacks,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_stacks = {
	.name = "stacks",
	.arguments = "[FILE|FOLDER...]",
	.help = "print call stacks weighted by GPU time, for flame graphs and speedscope",
	.run = run,
};
