/* SPDX-License-Identifier: Apache-2.0
 *
 * See finish.h.
 */
#include "cli/run/finish.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/control/boxes.h"
#include "cli/run/helper.h"
#include "cli/run/ranks.h"
#include "cli/run/say.h"
#include "cli/run/unclosed.h"
#include "cli/run/why.h"
#include "core/guest/cgroup.h"
#include "readers/shell_word.h"
#include "recover/writer_of.h"
#include "trace/file_name.h"

static void say_line(const char *line)
{
	gt_say("%s", line);
}

/* Creates the traces of processes that were killed before they had a file. */
static void make_begun(const struct gt_finish *run)
{
	static const char *const words[] = {"repair", "--begun", NULL};
	const struct gt_helper helper = {.words = words, .line = say_line, .is_steady = true};
	char *folder = (char *)run->wanted.folder->path;

	gt_helper_run(&helper, run->exec, &folder, 1);
}

/* The process in the file's name still writes it; waits for one that is exiting. */
static bool is_written(const char *path)
{
	struct gt_file_name name;

	gt_file_name_parse(path, &name);
	return gt_writer_is_alive(path, name.pid);
}

/* Repairs the file of a process that died, or that ended before it was written. */
static void repair(const struct gt_finish *run, char *path)
{
	static const char *const words[] = {"repair", "--quiet", NULL};
	const struct gt_helper helper = {.words = words, .is_steady = true};

	if (!gt_trace_is_unclosed(path))
		return;
	if (is_written(path)) {
		gt_say("%s is still being written by a process in the background", path);
		return;
	}
	gt_helper_run(&helper, run->exec, &path, 1);
	if (!gt_trace_is_unclosed(path))
		gt_say("%s was left open by its process: repaired", path);
}

/* Renames entries whose file was replaced by a compressed one. */
static void take_packed(struct gt_traces *traces)
{
	for (size_t i = 0; i < traces->count; i++) {
		char *packed;

		if (!access(traces->path[i], F_OK) ||
		    asprintf(&packed, "%s.gz", traces->path[i]) < 0)
			continue;
		free(traces->path[i]);
		traces->path[i] = packed;
	}
}

static bool is_packed(const char *path)
{
	const char *end = strrchr(path, '.');

	return end && !strcmp(end, ".gz");
}

/* Compresses the files that no process writes, and that were not compressed while they were
 * written: this build cannot, or there was no memory. */
static void compress(const struct gt_finish *run, struct gt_traces *traces)
{
	static const char *const words[] = {"compress", "--quiet", NULL};
	const struct gt_helper helper = {.words = words};
	char **files = calloc(traces->count, sizeof(*files));
	size_t count = 0;

	for (size_t i = 0; files && i < traces->count; i++) {
		if (is_packed(traces->path[i]))
			continue;
		if (is_written(traces->path[i]))
			gt_say("%s is still being written and stays plain: "
			       "gputrace compress packs it",
			       traces->path[i]);
		else
			files[count++] = traces->path[i];
	}
	if (count)
		gt_helper_run(&helper, run->exec, files, count);
	free(files);
	take_packed(traces);
}

static bool is_json(const char *path)
{
	size_t length = strlen(path) - (is_packed(path) ? 3 : 0);

	return length > 5 && !strncmp(path + length - 5, ".json", 5);
}

/* Adds source lines to the files that no process writes. */
static void symbolize(const struct gt_finish *run, const struct gt_traces *traces)
{
	static const char *const words[] = {"symbolize", "--in-place", "--quiet", NULL};
	const struct gt_helper helper = {.words = words};
	char **files = calloc(traces->count, sizeof(*files));
	size_t count = 0;

	for (size_t i = 0; files && i < traces->count; i++)
		if (is_json(traces->path[i]) && !is_written(traces->path[i]))
			files[count++] = traces->path[i];
	if (count)
		gt_helper_run(&helper, run->exec, files, count);
	free(files);
}

/* Returns how many ranks the traces are of. */
static size_t say_where(const struct gt_finish *run, const struct gt_traces *traces)
{
	const struct gt_folder *folder = run->wanted.folder;
	char own[128], of[64];
	size_t ranks = gt_ranks_count(traces, of, sizeof(of));

	gt_ranks_own(run->wanted.process, traces, own, sizeof(own));
	if (traces->count == 1)
		gt_say("trace: %s%s", traces->path[0], own);
	else if (!traces->elsewhere)
		gt_say("%zu traces%s in %s", traces->count, of, folder->path);
	else if (traces->elsewhere == traces->count)
		gt_say("%zu traces%s in %s", traces->count, of, folder->fallback);
	else
		gt_say("%zu traces%s in %s and, %zu of them, in %s", traces->count, of,
		       folder->path, traces->elsewhere, folder->fallback);
	return ranks;
}

/* What the summary takes is up to a quarter of a JSON file, of other forms more than their size. In
 * a container, who exceeds the limit is killed, and in some all others with it. */
static bool is_too_large(const struct gt_traces *traces)
{
	struct gt_cgroup_limit limit;
	uint64_t bytes = 0;

	gt_cgroup_find("", &limit);
	for (size_t i = 0; i < traces->count; i++) {
		const char *end = strrchr(traces->path[i], '.');
		struct stat st;

		if (!stat(traces->path[i], &st))
			bytes += (uint64_t)st.st_size * (end && !strcmp(end, ".json") ? 1 : 10);
	}
	if (!limit.bytes || bytes / 2 <= limit.bytes)
		return false;
	gt_say("no summary: the trace is too large for the memory limit of the container (%llu "
	       "MiB); gputrace stats --summary prints it elsewhere",
	       (unsigned long long)(limit.bytes >> 20));
	return true;
}

static void report(const struct gt_finish *run, const struct gt_traces *traces)
{
	static const char *const words[] = {"stats", "--summary", NULL};
	const struct gt_helper helper = {.words = words};
	size_t ranks = say_where(run, traces);
	const char *what =
		ranks > 1 && !traces->elsewhere ? run->wanted.folder->path : traces->path[0];
	char *word = gt_shell_word(what);

	if (!is_too_large(traces))
		gt_helper_run(&helper, run->exec, traces->path, traces->count);
	if (ranks > 1 && !traces->elsewhere)
		gt_say("all ranks side by side: gputrace merge --output=all.json %s; which one is "
		       "late: gputrace ranks %s",
		       word ? word : what, word ? word : what);
	else
		gt_say("to see it: gputrace open %s, or drag it into https://ui.perfetto.dev",
		       word ? word : what);
	free(word);
}

static void finish_traces(const struct gt_finish *run, struct gt_traces *traces)
{
	for (size_t i = 0; i < traces->count; i++)
		repair(run, traces->path[i]);
	if (run->symbolize)
		symbolize(run, traces);
	if (run->compress)
		compress(run, traces);
	if (gt_say_is_on())
		report(run, traces);
}

static void finish_none(const struct gt_finish *run)
{
	const struct gt_folder *folder = run->wanted.folder;

	if (!run->exec->error && run->is_traced && folder->state != GT_FOLDER_STREAM &&
	    !gt_ranks_say_left_out(&run->wanted))
		gt_why_say(folder, run->command, run->target, run->exec->wait_status);
	gt_folder_remove_empty(folder);
}

void gt_finish_run(const struct gt_finish *run)
{
	struct gt_traces traces;

	gt_boxes_clean(gt_boxes_folder(NULL));
	make_begun(run);
	gt_traces_find(&run->wanted, &traces);
	if (traces.count)
		finish_traces(run, &traces);
	else
		finish_none(run);
	gt_traces_fini(&traces);
}
