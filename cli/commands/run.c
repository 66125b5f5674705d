/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace run: sets a program up, runs it in the foreground, finishes its traces and ends as it
 * ended. cli/launcher.c, which finds the parts, puts three words in front of the user's:
 *
 *   gputrace-cli run --library=FILE --modules=FOLDER --preload[=LIBRARIES]
 *                    [--option=value...] [--] CMD [ARGUMENT...]
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/cmdline.h"
#include "cli/run/exec.h"
#include "cli/run/finish.h"
#include "cli/run/load.h"
#include "cli/run/plan.h"
#include "cli/run/target.h"
#include "cli/run_options.h"

/* The value of @option in @word, NULL if it has none. False: @word is another one. */
static bool take_part(const char *word, const char *option, const char **ret_value)
{
	size_t length = strlen(option);

	if (!word || strncmp(word, option, length) != 0)
		return false;
	*ret_value = word[length] == '=' ? word + length + 1 : NULL;
	return true;
}

/* The words of cli/launcher.c. This process was started without the program's LD_PRELOAD. */
static bool take_parts(char **argv, struct gt_run_parts *ret_parts)
{
	const char *preload;

	if (!take_part(argv[1], "--library", &ret_parts->library) ||
	    !take_part(argv[2], "--modules", &ret_parts->modules) ||
	    !take_part(argv[3], "--preload", &preload) || !ret_parts->library ||
	    !ret_parts->modules)
		return false;
	if (preload)
		setenv("LD_PRELOAD", preload, 1);
	return true;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void complain(const char *command, int error)
{
	char why[PATH_MAX + 64], line[2 * PATH_MAX + 128];

	gt_target_explain(command, error, why, sizeof(why));
	snprintf(line, sizeof(line), "cannot run '%.4096s': %s", command, why);
	gt_cmdline_complain(line);
}

static void finish(const struct gt_plan *plan, const char *command, uint64_t began,
		   const struct gt_exec *exec)
{
	const struct gt_finish run = {
		.wanted = {.folder = &plan->folder,
			   .run = plan->name,
			   .output = plan->output,
			   .began = began,
			   .process = &plan->process},
		.command = command,
		.target = &plan->target,
		.exec = exec,
		.is_traced = plan->environment.is_traced,
		.compress = plan->compresses,
		.symbolize = plan->symbolizes,
	};

	if (!plan->writes_nothing)
		gt_finish_run(&run);
}

static int run_program(const struct gt_plan *plan, char **argv)
{
	uint64_t began = now_ms();
	struct gt_exec exec;
	int error = gt_exec_run(argv, plan->environment.word, &exec);

	if (error) {
		complain(argv[0], -error);
		gt_folder_remove_empty(&plan->folder);
		return 126;
	}
	if (exec.error)
		complain(argv[0], exec.error);
	finish(plan, argv[0], began, &exec);
	gt_exec_end(&exec);
}

static int plan_and_run(const struct gt_run_parts *parts, char **argv)
{
	static struct gt_plan plan;

	return gt_plan_make(parts, argv[0], &plan) ? GT_EXIT_USAGE : run_program(&plan, argv);
}

static int run(int argc, char **argv)
{
	struct gt_run_parts parts;
	int command;

	gt_exec_reserve_streams();
	if (argc == 2 && !strcmp(argv[1], GT_LOAD_CHILD))
		return gt_load_child();
	if (!take_parts(argv, &parts)) {
		gt_cmdline_complain("gputrace-cli run is started by gputrace run");
		return GT_EXIT_USAGE;
	}
	command = gt_run_options_take(argc - 3, argv + 3);
	if (command < 0)
		return -command;
	if (command == 0)
		return gt_command_options.run(1, argv);
	return plan_and_run(&parts, argv + 3 + command);
}

const struct gt_command gt_command_run = {
	.name = "run",
	.arguments = "[--option=value...] CMD...",
	.help = "run a program and trace its CUDA work",
	.run = run,
};
