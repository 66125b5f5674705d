/* SPDX-License-Identifier: Apache-2.0
 *
 * is-running: tells scripts/gputrace whether a process lives; one that is dying is waited for.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "cli/life.h"

static int run(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: gputrace-cli is-running PID\n");
		return GT_EXIT_USAGE;
	}
	return gt_process_lives(strtoll(argv[1], NULL, 10)) ? GT_EXIT_OK : GT_EXIT_FAILED;
}

const struct gt_command gt_command_is_running = {
	.name = "is-running",
	.arguments = "PID",
	.run = run,
};
