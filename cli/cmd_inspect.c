/* SPDX-License-Identifier: Apache-2.0
 *
 * inspect: tells scripts/gputrace what stands in the way of tracing a command, a line each: a word
 * for the script, then a sentence for people. Nothing: nothing stands in the way.
 */
#include <errno.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/run/target.h"

static void print_obstacles(const struct gt_target *target)
{
	if (target->is_foreign)
		printf("foreign %s is for another processor or word size than this tracer\n",
		       target->path);
	if (target->is_static)
		printf("static %s is statically linked: it loads no library but the CUDA "
		       "driver's\n",
		       target->path);
	if (target->is_musl)
		printf("musl %s uses the musl C library, the tracer needs glibc\n", target->path);
	if (target->is_privileged)
		printf("privileged %s is setuid or has capabilities: the loader drops LD_PRELOAD\n",
		       target->path);
	if (target->has_sanitizer)
		printf("sanitizer %s needs its sanitizer to be the first library\n", target->path);
}

static int run(int argc, char **argv)
{
	struct gt_target target;
	int error;

	if (argc != 2) {
		fprintf(stderr, "usage: gputrace-cli inspect CMD\n");
		return GT_EXIT_USAGE;
	}
	error = gt_target_inspect(argv[1], &target);
	if (error == -ENOENT || error == -EACCES || error == -ENOTDIR)
		return GT_EXIT_FAILED;
	if (!error)
		print_obstacles(&target);
	return GT_EXIT_OK;
}

const struct gt_command gt_command_inspect = {
	.name = "inspect",
	.arguments = "CMD",
	.run = run,
};
