/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace attach: records a process that was started without gputrace. cli/launcher.c puts
 * --library=FILE in front of the user's words.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attach/inject.h"
#include "cli/attach/process.h"
#include "cli/attach/program.h"
#include "cli/attach/target.h"
#include "cli/attach/turn.h"
#include "cli/attach/wish.h"
#include "cli/cmdline.h"
#include "cli/control/change.h"
#include "cli/run/folder.h"
#include "cli/run/say.h"
#include "cli/run_options.h"
#include "core/config.h"
#include "core/pattern.h"

#define BEGIN_MS  60000u /* CUPTI takes seconds to begin while kernels run */
#define WHY_BYTES 2048

/* What has to be there when the program, or its Python, starts, needs hooks, or is done by gputrace
 * run. */
static const enum gt_option_id from_start[] = {
	GT_CONFIG_MODE,
	GT_CONFIG_FORCE_INJECTION,
	GT_CONFIG_NVTX,
	GT_CONFIG_PYTORCH,
	GT_CONFIG_PYTORCH_SHAPES,
	GT_CONFIG_PYTHON_FUNCTIONS,
	GT_CONFIG_DELAY,
	GT_CONFIG_START_AT,
	GT_CONFIG_CAPTURE_RANGE,
	GT_CONFIG_CAPTURE_RANGE_END,
	GT_CONFIG_SCHEDULE,
	GT_CONFIG_WAIT,
	GT_CONFIG_FLIGHT_RECORDER,
	GT_CONFIG_DUMP_SIGNAL,
	GT_CONFIG_DUMP_AT_EXIT,
	GT_CONFIG_RANKS,
};

static bool takes(enum gt_option_id id)
{
	for (size_t i = 0; i < sizeof(from_start) / sizeof(from_start[0]); i++)
		if (from_start[i] == id)
			return false;
	return true;
}

static struct gt_cmdline_option options[GT_CONFIG_COUNT_ + 1];
static const char *library;

/* Those of `gputrace run`, which parses their values. */
static void list_options(void)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++)
		options[id] = (struct gt_cmdline_option){
			.name = gt_options[id].name,
			.argument = gt_options[id].type == GT_OPTION_BOOL ? NULL
									  : gt_options[id].argument,
			.values = gt_options[id].type == GT_OPTION_ENUM ? gt_options[id].values
									: NULL,
			.help = takes((enum gt_option_id)id) ? gt_options[id].help : NULL};
}

/* ---- options to the library ---- */

static bool set_variable(const char *name, const char *value, char *ret_wrong, size_t size)
{
	char option[4096], *variable;

	snprintf(option, sizeof(option), "%s%s%s", name, *value ? "=" : "", value);
	variable = gt_run_option_variable(option, ret_wrong, size);
	if (variable)
		putenv(variable);
	return variable;
}

/* An exit status, 0 if all is well. */
static int take_options(const struct gt_cmdline *args)
{
	char wrong[4400];

	for (size_t i = 0; i < args->given_count; i++) {
		const char *name = options[args->given[i].option].name;

		if (!takes((enum gt_option_id)args->given[i].option))
			return gt_cmdline_wrong(
				args, "--%s needs a program that is started by gputrace run", name);
		if (!set_variable(name, args->given[i].value, wrong, sizeof(wrong)))
			return gt_cmdline_wrong(args, "%s", wrong);
	}
	return 0;
}

/* What the process would print is not for its stderr: here it is an answer. gputrace ps and status
 * know it. */
static void add_defaults(void)
{
	setenv(gt_options[GT_CONFIG_CONTROL].env, "on", 0);
	setenv(gt_options[GT_CONFIG_QUIET].env, "yes", 0);
}

/* In the order of the table, so that two lists can be compared. False: too long. */
static bool write_options(struct gt_attach_box *box)
{
	size_t used = 0;

	memset(box->options, 0, sizeof(box->options));
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		const char *value = getenv(gt_options[id].env);
		size_t room = sizeof(box->options) - 1 - used;
		int n;

		if (!value || !takes((enum gt_option_id)id))
			continue;
		n = snprintf(box->options + used, room, "%s=%s", gt_options[id].env, value);
		if (n < 0 || (size_t)n + 1 >= room)
			return false;
		used += (size_t)n + 1;
	}
	return true;
}

/* Creates the folder, and puts it among the options. An exit status. */
static int plan_folder(struct gt_folder *ret_folder)
{
	const char *given = getenv(gt_options[GT_CONFIG_OUTPUT].env);
	char output[2 * PATH_MAX];
	int error = gt_folder_find(given ? given : "", ret_folder);

	if (!error)
		error = gt_pattern_escape(ret_folder->path, output, sizeof(output));
	if (!error)
		error = gt_folder_make(ret_folder);
	if (!error) {
		setenv(gt_options[GT_CONFIG_OUTPUT].env, output, 1);
		return 0;
	}
	gt_say("cannot write into '%s': %s", ret_folder->path, strerror(-error));
	return GT_EXIT_FAILED;
}

/* ---- the process ---- */

static int fail(const struct gt_folder *folder, const char *why)
{
	gt_folder_remove_empty(folder);
	gt_say("%s", why);
	return GT_EXIT_FAILED;
}

/* What else ends the recording. */
static void say_duration(char *ret_text, size_t size)
{
	const char *duration = getenv(gt_options[GT_CONFIG_DURATION].env);
	struct gt_config config;

	*ret_text = 0;
	if (duration && !gt_config_set(&config, GT_CONFIG_DURATION, duration) &&
	    gt_config_number(&config, GT_CONFIG_DURATION))
		snprintf(ret_text, size, "--duration=%s is over, or ", duration);
}

static int report(pid_t pid, const struct gt_attached *attached, const struct gt_folder *folder)
{
	const struct gt_attach_box *box = &attached->box;
	char duration[128];

	if (box->error) {
		char why[WHY_BYTES];

		snprintf(why, sizeof(why), "process %d: %s", (int)pid, box->text);
		return fail(folder, why);
	}
	say_duration(duration, sizeof(duration));
	if (box->state == GT_ATTACH_WAITS)
		gt_say("process %d does not use CUDA yet: recording into %s begins when it does",
		       (int)pid, folder->path);
	else
		gt_say("process %d is recorded into %s until %sgputrace detach %d", (int)pid,
		       box->text, duration, (int)pid);
	return GT_EXIT_OK;
}

static int await(pid_t pid, struct gt_attached *attached, const struct gt_folder *folder)
{
	int error = gt_attached_await(pid, attached, BEGIN_MS);
	char why[WHY_BYTES];

	if (!error)
		return report(pid, attached, folder);
	if (error == -ETIMEDOUT)
		snprintf(why, sizeof(why),
			 "process %d has not begun to record within a minute: gputrace detach "
			 "takes the wish back",
			 (int)pid);
	else
		gt_process_explain(pid, error, why, sizeof(why));
	return fail(folder, why);
}

static bool is_verbose(void)
{
	const char *verbose = getenv(gt_options[GT_CONFIG_VERBOSE].env);

	return verbose && !strcmp(verbose, "yes");
}

/* Loads the library. -ESTALE: into a program that is no longer run, or only beginning. */
static int load_into(pid_t pid, const struct gt_maps *maps, struct gt_attached *attached,
		     char *ret_why, size_t size)
{
	struct gt_maps now;
	uint64_t kept_us;
	int error = gt_inject(pid, maps, library, &attached->box, &kept_us, ret_why, size);

	if (error)
		return error;
	if (is_verbose())
		gt_say("a thread of process %d was kept for %.1f ms", (int)pid,
		       (double)kept_us / 1000);
	error = gt_maps_read(pid, &now);
	if (!error)
		error = gt_attached_find(pid, &now, attached);
	gt_maps_free(&now);
	if (!error && attached->address)
		return 0;
	snprintf(ret_why, size, "process %d has ended", (int)pid);
	return -ESTALE;
}

static int enter(pid_t pid, const struct gt_maps *maps, struct gt_attached *attached,
		 const struct gt_folder *folder)
{
	uint64_t until_ms = gt_program_now_ms() + GT_PROGRAM_PATIENCE_MS;
	struct gt_attach_box *box = &attached->box;
	static struct gt_attach_box first;
	char why[WHY_BYTES];
	struct gt_maps next;
	int error;

	box->magic = GT_ATTACH_MAGIC;
	box->asked = 1;
	box->answered = 0;
	box->state = GT_ATTACH_FAILED; /* until gputrace_attach is called */
	box->error = 0;
	box->descriptors = gt_process_descriptors(pid);
	box->wish = GT_ATTACH_RECORD;
	first = *box;
	error = load_into(pid, maps, attached, why, sizeof(why));
	while (error == -ESTALE && gt_program_await(pid, until_ms, &next, why, sizeof(why))) {
		*box = first;
		error = load_into(pid, &next, attached, why, sizeof(why));
		gt_maps_free(&next);
		if (gt_program_now_ms() >= until_ms)
			break;
	}
	return error ? fail(folder, why) : await(pid, attached, folder);
}

static int again(pid_t pid, struct gt_attached *attached, const struct gt_folder *folder)
{
	int error = gt_attached_wish(pid, attached, GT_ATTACH_RECORD);
	char why[WHY_BYTES];

	if (!error)
		return await(pid, attached, folder);
	gt_process_explain(pid, error, why, sizeof(why));
	return fail(folder, why);
}

/* An exit status, 0: it may be attached to. */
static int check(pid_t pid, const struct gt_attached *attached)
{
	const struct gt_attach_box *box = &attached->box;
	char why[WHY_BYTES] = "";

	if (!attached->is_there)
		return 0;
	if (!attached->address)
		snprintf(why, sizeof(why), "process %d has libgputrace.so of another build",
			 (int)pid);
	else if (box->state == GT_ATTACH_PREPARED)
		snprintf(why, sizeof(why),
			 "process %d was started with gputrace: use gputrace start %d", (int)pid,
			 (int)pid);
	else if (box->state == GT_ATTACH_LOADING)
		snprintf(why, sizeof(why), "process %d is loading the library: try again",
			 (int)pid);
	else if (box->state == GT_ATTACH_RECORDS || box->state == GT_ATTACH_STARTING)
		snprintf(why, sizeof(why), "process %d is being recorded already%s%s", (int)pid,
			 *box->text ? ", into " : "", box->text);
	if (!*why)
		return 0;
	gt_say("%s", why);
	return GT_EXIT_FAILED;
}

/* Of an earlier time, as nothing else was asked for. */
static void keep_option(enum gt_option_id id, const char *value)
{
	setenv(gt_options[id].env, value, 1);
}

static int attach(pid_t pid, const struct gt_maps *maps, struct gt_attached *attached)
{
	static char before[sizeof(attached->box.options)];
	bool is_first = !attached->is_there || attached->box.state == GT_ATTACH_FAILED;
	char change[WHY_BYTES - 32], why[WHY_BYTES];
	struct gt_folder folder;
	int rc = check(pid, attached);

	if (!rc)
		rc = plan_folder(&folder);
	if (rc)
		return rc;
	memcpy(before, attached->box.options, sizeof(before));
	if (!write_options(&attached->box))
		return fail(&folder, "the options are too long");
	if (is_first)
		return enter(pid, maps, attached, &folder);
	if (gt_change_options(pid, attached->box.options, before, keep_option, change,
			      sizeof(change))) {
		snprintf(why, sizeof(why), "process %d: %s", (int)pid, change);
		return fail(&folder, why);
	}
	if (!write_options(&attached->box)) /* with those that stay */
		return fail(&folder, "the options are too long");
	return again(pid, attached, &folder);
}

static int attach_to(const struct gt_cmdline *args)
{
	static struct gt_attached attached;
	struct gt_maps maps;
	char why[WHY_BYTES];
	pid_t pid;
	int rc = gt_attach_target(args, &pid), error;

	if (!rc)
		rc = take_options(args);
	if (rc)
		return rc;
	add_defaults();
	if (!gt_attach_turn(pid, BEGIN_MS)) {
		gt_say("another gputrace attach or detach to process %d is under way: try again",
		       (int)pid);
		return GT_EXIT_FAILED;
	}
	if (!gt_program_await(pid, gt_program_now_ms() + GT_PROGRAM_PATIENCE_MS, &maps, why,
			      sizeof(why))) {
		gt_say("%s", why);
		return GT_EXIT_FAILED;
	}
	error = gt_attached_find(pid, &maps, &attached);
	if (error) {
		gt_process_explain(pid, error, why, sizeof(why));
		gt_say("%s", why);
		rc = GT_EXIT_FAILED;
	} else {
		rc = attach(pid, &maps, &attached);
	}
	gt_maps_free(&maps);
	return rc;
}

static const struct gt_cmdline_spec spec = {
	.command = &gt_command_attach,
	.details = "Records a running process that was started without gputrace, until gputrace "
		   "detach, --duration or its end. The library is loaded into it while one of its "
		   "threads waits in a "
		   "system call; the program goes on. Returns when recording has begun, or, if the "
		   "process does not use CUDA yet, at once. The options are those of gputrace run; "
		   "what a late start cannot know is in the trace's metadata.",
	.example = "gputrace attach --output=trace --duration=10 12345",
	.options = options,
	.min_inputs = 1,
	.max_inputs = 1,
	.run = attach_to,
};

static int run(int argc, char **argv)
{
	static const char option[] = "--library=";

	if (argc > 1 && !strncmp(argv[1], option, sizeof(option) - 1)) {
		library = argv[1] + sizeof(option) - 1;
		argv[1] = argv[0];
		argc--;
		argv++;
	}
	list_options();
	return gt_cmdline_main(&spec, argc, argv);
}

const struct gt_command gt_command_attach = {
	.name = "attach",
	.arguments = "PID",
	.help = "record a process that runs already",
	.run = run,
};
