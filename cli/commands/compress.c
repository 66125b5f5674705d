/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace compress: finished traces as gzip, each in its place.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmdline.h"
#include "cli/progress.h"
#include "cli/run/unclosed.h"
#include "readers/show.h"
#include "recover/join.h"
#include "recover/spools.h"
#include "recover/writer_of.h"
#include "trace/file_name.h"
#include "transform/compress.h"

static const struct gt_cmdline_option options[] = {
	{"quiet", NULL, NULL, "print nothing about files that were compressed"},
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

/* ---- may more come into it? ---- */

struct compress_search {
	struct stat trace;
	bool is_found;
};

static void see_spool(const struct gt_left_spool *spool, void *context)
{
	struct compress_search *search = context;
	struct stat reported;

	if (*spool->trace && !stat(spool->trace, &reported) &&
	    reported.st_ino == search->trace.st_ino && reported.st_dev == search->trace.st_dev)
		search->is_found = true;
}

/* JSON says by itself that it is not closed. A .pftrace without an end may have got all that it
 * ever gets: not when its process still writes it, or a spool has more. */
static const char *why_not(const char *path)
{
	struct gt_file_name name;
	struct compress_search search = {0};

	if (!gt_join_is_pftrace(path, path) || gt_pftrace_has_end(path) ||
	    stat(path, &search.trace))
		return NULL;
	gt_file_name_parse(path, &name);
	if (name.pid > 0 && gt_writer_is_alive(path, name.pid))
		return "its process still writes it";
	gt_spools_each(NULL, see_spool, &search);
	return search.is_found ? "not closed yet (gputrace repair closes it)" : NULL;
}

static int compress_one(const char *path, struct gt_compress *ret_packed)
{
	const char *why = why_not(path);

	if (!why)
		return gt_compress_file(path, go_on, NULL, ret_packed);
	snprintf(ret_packed->error, sizeof(ret_packed->error), "%s: %s; it stays as it is", path,
		 why);
	return -EBUSY;
}

static int pack(const char *path, bool quiet)
{
	struct gt_compress packed;

	if (compress_one(path, &packed) < 0) {
		gt_cmdline_complain(packed.error);
		return GT_EXIT_FAILED;
	}
	if (quiet)
		return GT_EXIT_OK;
	gt_progress_hide();
	if (packed.was_packed)
		gt_show_line(stdout, "%s: packed already", path);
	else
		gt_show_line(stdout, "%s: %" PRIu64 " of %" PRIu64 " bytes", packed.path, packed.to,
			     packed.from);
	return GT_EXIT_OK;
}

/* A trace, or all in a folder. */
static int pack_all(char *const *input, bool quiet)
{
	struct gt_job job;
	int rc = gt_job_find(&job, input, 1, gt_cmdline_complain) ? GT_EXIT_FAILED : GT_EXIT_OK;

	for (size_t i = 0; i < job.paths.count && !stopped; i++)
		if (pack(job.paths.at[i], quiet))
			rc = GT_EXIT_FAILED;
	gt_job_fini(&job);
	return rc;
}

static int run_compress(const struct gt_cmdline *args)
{
	bool quiet = gt_cmdline_get(args, "quiet") != NULL;
	int rc = GT_EXIT_OK;

	watch_signals();
	gt_progress_start("packing");
	for (size_t i = 0; i < args->input_count && !stopped; i++)
		if (pack_all(&args->inputs[i], quiet))
			rc = GT_EXIT_FAILED;
	gt_progress_stop();
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_compress,
	.details = "Replaces FILE by FILE.gz (one gzip member) after that has been written, synced "
		   "and read back; until then, and on any failure, FILE is left as it is. All "
		   "commands and Perfetto read compressed files. A trace whose process was killed "
		   "must be closed by `gputrace repair` first; files that are not traces are not "
		   "compressed. `gputrace run --compress=gzip` packs them while they are "
		   "written.",
	.example = "gputrace compress out/*.pt.trace.json",
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
	.arguments = "FILE|FOLDER...",
	.help = "compress finished traces with gzip, in place",
	.run = run,
};
