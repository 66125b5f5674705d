/* SPDX-License-Identifier: Apache-2.0
 *
 * check-option: what scripts/gputrace asks of each --option of `run`. Prints "GPUTRACE_NAME=value",
 * or says in one line what is wrong with it and exits with 2.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/nearest.h"
#include "core/config.h"

static int complain_unknown(const char *name, size_t length)
{
	const char *names[GT_CONFIG_COUNT_];
	char word[64];
	const char *nearest;

	snprintf(word, sizeof(word), "%.*s", (int)length, name);
	for (int id = 0; id < GT_CONFIG_COUNT_; id++)
		names[id] = gt_options[id].name;
	nearest = gt_nearest(word, names, GT_CONFIG_COUNT_);
	if (nearest)
		fprintf(stderr, "gputrace: there is no option --%s; did you mean --%s?\n", word,
			nearest);
	else
		fprintf(stderr, "gputrace: there is no option --%s; see gputrace run --help\n",
			word);
	return GT_EXIT_USAGE;
}

static int check(const char *argument)
{
	size_t length = strcspn(argument, "=");
	int id = gt_config_find(argument, length);
	struct gt_config config;
	char line[512], source[64];

	if (id < 0)
		return complain_unknown(argument, length);
	if (!argument[length] && gt_options[id].type != GT_OPTION_BOOL) {
		fprintf(stderr, "gputrace: --%s needs a value: --%s=%s\n", gt_options[id].name,
			gt_options[id].name, gt_options[id].argument);
		return GT_EXIT_USAGE;
	}
	argument = argument[length] ? argument + length + 1 : "yes";
	gt_config_init(&config);
	if (gt_config_set(&config, (enum gt_option_id)id, argument)) {
		snprintf(source, sizeof(source), "--%s", gt_options[id].name);
		gt_config_explain((enum gt_option_id)id, source, argument, line, sizeof(line));
		fprintf(stderr, "gputrace: %s\n", line);
		return GT_EXIT_USAGE;
	}
	printf("%s=%s\n", gt_options[id].env, argument);
	return GT_EXIT_OK;
}

static int run(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: gputrace-cli check-option NAME[=VALUE]\n");
		return GT_EXIT_USAGE;
	}
	return check(argv[1]);
}

const struct gt_command gt_command_check_option = {
	.name = "check-option",
	.arguments = "NAME[=VALUE]",
	.run = run,
};
