/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace compress: finished traces as gzip, each in its place.
 */
#include <inttypes.h>
#include <signal.h>

#include "analysis/compress.h"
#include "cli/cmdline.h"
#include "cli/progress.h"

static const struct gt_cmdline_option options[] = {
	{"quiet", NULL, NULL, "print nothing about files that were packed"},
	{NULL, NULL, NULL, NULL},
};

static volatile sig_atomic_t stopped;

static void stop(int number)
{
	stopped = 1;
}

/* What lies half packed is taken away before the command ends. */
static void watch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = stop};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
}

static bool go_on(void *context)
{
	return !stopped;
}

static int run_compress(const struct gt_cmdline *args)
{
	bool quiet = gt_cmdline_get(args, "quiet") != NULL;
	int rc = GT_EXIT_OK;

	watch_signals();
	gt_progress_start("packing");
	for (size_t i = 0; i < args->input_count; i++)
		gt_progress_expect_file(args->inputs[i]);
	for (size_t i = 0; i < args->input_count && !stopped; i++) {
		char *path = args->inputs[i];
		struct gt_compress packed;

		if (gt_compress_file(path, go_on, NULL, &packed) < 0) {
			gt_cmdline_complain(packed.error);
			rc = GT_EXIT_FAILED;
		} else if (!quiet && packed.was_packed) {
			gt_progress_hide();
			printf("%s: packed already\n", path);
		} else if (!quiet) {
			gt_progress_hide();
			printf("%s: %" PRIu64 " of %" PRIu64 " bytes\n", packed.path, packed.to,
			       packed.from);
		}
	}
	gt_progress_stop();
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_compress,
	.details = "FILE.gz takes the place of FILE, as one gzip member, when it lies whole on the "
		   "disk; until then, and when anything fails, FILE stays as it is. All commands "
		   "and Perfetto read the packed files. A JSON trace whose process died is closed "
		   "by `gputrace repair` first. `gputrace run --compress=gzip` does this by itself "
		   "when the program has ended.",
	.example = "gputrace compress gputrace-out/run/*.pt.trace.json",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_compress,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_compress = {
	.name = "compress",
	.arguments = "FILE...",
	.help = "pack finished traces with gzip, each in its place",
	.run = run,
};
