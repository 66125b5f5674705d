/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace repair: closes the files of processes that died, with what their spools hold.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/reader.h"
#include "analysis/rejoin.h"
#include "analysis/repair.h"
#include "cli/cmdline.h"
#include "cli/progress.h"
#include "cli/recover.h"

static const struct gt_cmdline_option options[] = {
	{"quiet", NULL, NULL, "print nothing about files that could be repaired or were closed"},
	{"begun", NULL, NULL,
	 "only make the traces that processes killed before they had a file would have written "
	 "into the folder"},
	{NULL, NULL, NULL, NULL},
};

struct request {
	const char *folder; /* whose traces are asked for */
	bool quiet;
	int failures;
};

static void complain_about(const struct gt_left_spool *spool, const char *why)
{
	char line[PATH_MAX + 512];

	snprintf(line, sizeof(line), "%s: not recovered: %s", spool->path, why);
	gt_cmdline_complain(line);
}

static int stop_reading(const struct gt_record *record, const struct gt_header *header, void *data)
{
	(void)record;
	(void)header;
	(void)data;
	return -ECANCELED;
}

/* The running form, which alone can go on. */
static bool is_open_form(const char *path)
{
	FILE *file = fopen(path, "rb");
	int first = file ? fgetc(file) : EOF;

	if (file)
		fclose(file);
	return first == '[';
}

/* The spool that the header of the trace @path names. False: none, or it is not there. Of a trace in
 * several files only the last one has the running form. */
static bool find_spool(const char *path, struct gt_left_spool *ret_spool)
{
	struct gt_reading reading;
	char spool[1024];
	bool found;

	if (!is_open_form(path))
		return false;
	gt_reader_read(path, stop_reading, NULL, &reading);
	found = gt_header_text(&reading.header, "metadata", "spool", spool, sizeof(spool)) &&
		*spool == '/' && gt_spool_look(spool, ret_spool);
	gt_reading_fini(&reading);
	return found;
}

/* Puts what the spool holds into its trace. A failure is said; the trace is then closed without. */
static bool join_spool(const char *path, const struct gt_left_spool *spool,
		       struct gt_rejoin *ret_rejoin)
{
	char folder[PATH_MAX], recovered[PATH_MAX], why[256] = "";
	int rc = gt_recover(spool, folder, recovered, why, sizeof(why));

	if (rc)
		complain_about(spool, why);
	else if (*recovered && (rc = gt_rejoin(path, recovered, ret_rejoin)) && rc != -EALREADY)
		gt_cmdline_complain(ret_rejoin->error);
	gt_recover_forget(folder);
	return rc == 0 || rc == -EALREADY;
}

static void print(const char *path, const struct gt_repair *repair, const struct gt_rejoin *rejoin)
{
	if (repair->was_closed) {
		printf("%s: closed already\n", path);
		return;
	}
	printf("%s: closed (%s); %" PRIu64 " events kept, %" PRIu64 " bytes cut\n", path,
	       repair->why, repair->events, repair->cut);
	if (rejoin->events)
		printf("%s: %" PRIu64 " calls and %" PRIu64
		       " GPU operations recovered that the process had not written\n",
		       path, rejoin->calls, rejoin->operations);
}

static int repair_one(const char *path, bool quiet)
{
	struct gt_left_spool spool = {0};
	struct gt_rejoin rejoin = {0};
	struct gt_repair_added added;
	struct gt_repair repair;
	bool has_spool = find_spool(path, &spool) && !spool.running;
	bool joined = has_spool && join_spool(path, &spool, &rejoin);
	int rc;

	added = (struct gt_repair_added){.calls = rejoin.calls,
					 .operations = rejoin.operations,
					 .in_flight = rejoin.in_flight,
					 .ledger = rejoin.ledger};
	rc = gt_repair_file(path, rejoin.ledger ? &added : NULL, &repair);
	if (rc < 0)
		gt_cmdline_complain(repair.error);
	if (rc >= 0 && !quiet) {
		gt_progress_hide();
		print(path, &repair, &rejoin);
	}
	if (rc >= 0 && joined)
		unlink(spool.path);
	free(rejoin.ledger);
	return rc;
}

/* ---- traces that were never begun ---- */

static bool is_below(const char *path, const char *folder)
{
	char real[PATH_MAX];
	size_t length;

	if (!realpath(folder, real))
		return false;
	length = strlen(real);
	return !strncmp(path, real, length) && (path[length] == 0 || path[length] == '/');
}

/* By copy where the folders lie on different file systems. */
static int move_file(const char *from, const char *to)
{
	char buffer[65536];
	FILE *in, *out;
	size_t n;
	int rc;

	if (!rename(from, to))
		return 0;
	in = fopen(from, "rb");
	out = in ? fopen(to, "wbx") : NULL;
	rc = out ? fchmod(fileno(out), 0600) : -errno;
	while (out && !rc && (n = fread(buffer, 1, sizeof(buffer), in)))
		rc = fwrite(buffer, 1, n, out) == n ? 0 : -EIO;
	if (out && fclose(out) && !rc)
		rc = -errno;
	if (in)
		fclose(in);
	return rc;
}

static int make_trace(const struct gt_left_spool *spool, bool quiet)
{
	char folder[PATH_MAX], recovered[PATH_MAX], path[PATH_MAX + 1100], why[256] = "";
	int rc = gt_recover(spool, folder, recovered, why, sizeof(why));

	if (rc)
		complain_about(spool, why);
	if (!rc && *recovered) {
		snprintf(path, sizeof(path), "%s/%s", spool->folder, strrchr(recovered, '/') + 1);
		rc = move_file(recovered, path);
		if (rc)
			complain_about(spool, strerror(-rc));
		else if (!quiet)
			printf("%s: made of what the process had not written\n", path);
	}
	gt_recover_forget(folder);
	if (!rc)
		unlink(spool->path);
	return rc;
}

static void see_begun(const struct gt_left_spool *spool, void *context)
{
	struct request *request = context;

	if (spool->running || *spool->trace || !is_below(spool->folder, request->folder))
		return;
	request->failures += make_trace(spool, request->quiet) != 0;
}

/* A folder's processes may have been killed before they had a file. */
static int finish_begun(char *const *inputs, size_t count, bool quiet)
{
	int failures = 0;

	for (size_t i = 0; i < count; i++) {
		struct request request = {.folder = inputs[i], .quiet = quiet};
		struct stat st;

		if (!stat(inputs[i], &st) && S_ISDIR(st.st_mode))
			gt_spools_each(see_begun, &request);
		failures += request.failures;
	}
	return failures;
}

static int run_repair(const struct gt_cmdline *args)
{
	bool quiet = gt_cmdline_get(args, "quiet");
	int failures = finish_begun(args->inputs, args->input_count, quiet);
	struct gt_job job;

	if (gt_cmdline_get(args, "begun"))
		return failures ? GT_EXIT_FAILED : GT_EXIT_OK;
	gt_progress_start("repairing");
	failures += gt_job_find(&job, args->inputs, args->input_count, gt_cmdline_complain) < 0;
	for (size_t i = 0; i < job.paths.count; i++)
		failures += repair_one(job.paths.at[i], quiet) < 0;
	gt_progress_stop();
	gt_job_fini(&job);
	return failures ? GT_EXIT_FAILED : GT_EXIT_OK;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_repair,
	.details =
		"A traced process that is killed leaves its file as an array without an end, "
		"which Perfetto opens as it is and other readers do not. Repair makes it the "
		"closed object, in place, without what was cut in the middle of an event, and "
		"adds what the process had not written, out of its spool (--spool), which is "
		"then removed. Closed files are left alone; a file with wrong JSON in the middle, "
		"NaN or text that is not UTF-8 is not touched (exit 1).",
	.example = "gputrace repair gputrace-out/run",
	.options = options,
	.min_inputs = 1,
	.max_inputs = SIZE_MAX,
	.run = run_repair,
};

static int run(int argc, char **argv)
{
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_repair = {
	.name = "repair",
	.arguments = "FILE|FOLDER...",
	.help = "close the file of a process that was killed",
	.run = run,
};
