/* SPDX-License-Identifier: Apache-2.0
 *
 * is-running: tells scripts/gputrace whether the process that a trace is named after still writes
 * it; one that is dying is waited for.
 */
#include <stdio.h>

#include "cli/command.h"
#include "recover/writer_of.h"
#include "trace/file_name.h"

static int run(int argc, char **argv)
{
	struct gt_file_name name;

	if (argc != 2) {
		fprintf(stderr, "usage: gputrace-cli is-running FILE\n");
		return GT_EXIT_USAGE;
	}
	gt_file_name_parse(argv[1], &name);
	return gt_writer_is_alive(argv[1], name.pid) ? GT_EXIT_OK : GT_EXIT_FAILED;
}

const struct gt_command gt_command_is_running = {
	.name = "is-running",
	.arguments = "FILE",
	.run = run,
};
