/* SPDX-License-Identifier: Apache-2.0
 *
 * The traces that a command line names: found, read, and what the options say of them marked.
 * Single-threaded.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/holes/holes.h"
#include "cli/cmdline.h"
#include "cli/lines.h"
#include "cli/progress.h"
#include "readers/input.h"
#include "readers/shell_word.h"
#include "readers/show.h"
#include "trace/communication.h"
#include "trace/user_code.h"

#define NAMED 20 /* of several traces */

static void refuse_several(const struct gt_cmdline *args, const char *input,
			   const struct gt_job *job)
{
	char *word = gt_shell_word(input);
	size_t count = job->paths.count;

	gt_cmdline_wrong(args, "%s: %zu traces; name one of:", input, count);
	for (size_t i = 0; i < count && i < NAMED; i++)
		gt_show_line(stderr, "  %s", job->paths.at[i]);
	if (count > NAMED)
		gt_show_line(stderr, "  ... and %zu more", count - NAMED);
	gt_show_line(stderr, "or make one of all: gputrace merge --output=all.json %s",
		     word ? word : input);
	free(word);
}

char *gt_cmdline_trace(const struct gt_cmdline *args, size_t index)
{
	char **input = &args->inputs[index], *path = NULL;
	struct gt_job job = {0};

	if (gt_input_is_stream(*input))
		return strdup(*input);
	if (!gt_job_find(&job, input, 1, gt_cmdline_complain)) {
		if (job.paths.count == 1)
			path = strdup(job.paths.at[0]);
		else
			refuse_several(args, *input, &job);
	}
	gt_job_fini(&job);
	return path;
}

static int mark_communication(const struct gt_cmdline *args, struct gt_job *job)
{
	size_t position = 0;
	const char *glob;
	int rc = 0;

	while (!rc && (glob = gt_cmdline_next(args, "communication", &position)))
		for (size_t i = 0; !rc && i < job->count; i++)
			rc = gt_communication_mark(&job->models[i], glob);
	return rc;
}

#define MAX_GLOBS GT_CMDLINE_MAX_GIVEN

/* Splits all values of --user-code at their commas; *ret_text is what the globs point into. */
static size_t split_globs(const struct gt_cmdline *args, const char *globs[MAX_GLOBS],
			  char *texts[MAX_GLOBS], size_t *ret_texts)
{
	size_t position = 0, count = 0;
	const char *value;

	*ret_texts = 0;
	while ((value = gt_cmdline_next(args, "user-code", &position))) {
		char *copy = strdup(value), *rest = copy;
		const char *glob;

		if (!copy)
			continue;
		texts[(*ret_texts)++] = copy;
		while (count < MAX_GLOBS && (glob = strsep(&rest, ",")))
			if (*glob)
				globs[count++] = glob;
	}
	return count;
}

/* --frame, or its default. */
static bool wants_user_frames(const struct gt_cmdline *args)
{
	const struct gt_cmdline_option *option = args->spec->options;
	const char *frame = gt_cmdline_get(args, "frame");

	while (option && option->name && strcmp(option->name, "frame") != 0)
		option++;
	if (!option || !option->name)
		return false;
	return !strncmp(frame ? frame : option->values, "user", 4);
}

/* Whose code the frames are. */
static int mark_user_code(const struct gt_cmdline *args, struct gt_job *job)
{
	const char *globs[MAX_GLOBS];
	char *text[MAX_GLOBS];
	size_t count, texts;
	int rc = 0;

	if (!wants_user_frames(args))
		return 0;
	count = split_globs(args, globs, text, &texts);
	for (size_t i = 0; !rc && i < job->count; i++)
		rc = gt_user_code_mark(&job->models[i], globs, count);
	while (texts)
		free(text[--texts]);
	return rc;
}

/* A file full of another vendor's work is no trace without work. */
int gt_cmdline_check_work(const struct gt_cmdline *args, uint64_t count)
{
	if (count)
		gt_show_line(stderr,
			     "gputrace %s: no GPU work of a known category, but %" PRIu64
			     " slice%s of unknown ones with a device, stream or correlation",
			     args->spec->command->name, count, gt_plural(count));
	return count ? GT_EXIT_FAILED : GT_EXIT_OK;
}

/* What the options say of traces that were read. */
static int mark(const struct gt_cmdline *args, struct gt_job *jobs, size_t count)
{
	int rc = gt_cmdline_symbolize(args, jobs, count);

	for (size_t i = 0; !rc && i < count; i++) {
		rc = mark_communication(args, &jobs[i]);
		if (!rc)
			rc = mark_user_code(args, &jobs[i]);
	}
	return rc;
}

static int check_options(const struct gt_cmdline *args)
{
	if (gt_cmdline_get(args, "user-code") && !wants_user_frames(args))
		return gt_cmdline_wrong(args, "--user-code: only with --frame=user");
	return 0;
}

/* @per_job inputs each. */
static int load(const struct gt_cmdline *args, struct gt_job *jobs, size_t count, size_t per_job)
{
	size_t failures = 0;
	int rc = check_options(args);

	if (rc)
		return rc;
	gt_progress_start("reading");
	for (size_t i = 0; !rc && !failures && i < count; i++)
		rc = gt_job_load(&jobs[i], args->inputs + i * per_job, per_job, gt_cmdline_complain,
				 &failures);
	gt_progress_stop();
	if (!rc)
		rc = mark(args, jobs, count);
	for (size_t i = 0; !rc && i < count; i++)
		rc = gt_cmdline_check_work(args, gt_holes_unknown_work(&jobs[i]));
	return rc || failures ? GT_EXIT_FAILED : GT_EXIT_OK;
}

int gt_cmdline_load_found(const struct gt_cmdline *args, struct gt_job *job)
{
	size_t failures = 0;
	int rc = check_options(args);

	if (rc)
		return rc;
	gt_progress_start("reading");
	rc = gt_job_load_found(job, gt_cmdline_complain, &failures);
	gt_progress_stop();
	if (!rc)
		rc = mark(args, job, 1);
	return rc || failures ? GT_EXIT_FAILED : GT_EXIT_OK;
}

int gt_cmdline_load(const struct gt_cmdline *args, struct gt_job *job)
{
	return load(args, job, 1, args->input_count);
}

int gt_cmdline_load_each(const struct gt_cmdline *args, struct gt_job *jobs)
{
	return load(args, jobs, args->input_count, 1);
}
