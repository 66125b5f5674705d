/* SPDX-License-Identifier: Apache-2.0
 *
 * output-folder: tells scripts/gputrace the folder that a value of --output names here.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/command.h"
#include "core/pattern.h"

static const char *lookup(const char *name)
{
	return getenv(name);
}

static int run(int argc, char **argv)
{
	char folder[PATH_MAX];

	if (argc != 2) {
		fprintf(stderr, "usage: gputrace-cli output-folder PATTERN\n");
		return GT_EXIT_USAGE;
	}
	if (gt_pattern_expand(argv[1], lookup, folder, sizeof(folder))) {
		fprintf(stderr, "gputrace: the name of the output folder is too long\n");
		return GT_EXIT_FAILED;
	}
	puts(folder);
	return GT_EXIT_OK;
}

const struct gt_command gt_command_output_folder = {
	.name = "output-folder",
	.arguments = "PATTERN",
	.run = run,
};
