/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace-cli: finds the subcommand and runs it. The command gputrace is cli/launcher.c, which
 * finds this program and its parts.
 */
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/nearest.h"
#include "cli/words.h"
#include "core/hash.h"
#include "readers/show.h"

#define LARGE (256 << 10) /* bytes of what grows in place, and is the system's again once freed */

const struct gt_command *const gt_commands[] = {
	/* clang-format off */
	&gt_command_run,
	&gt_command_attach,
	&gt_command_detach,
	&gt_command_ps,
	&gt_command_status,
	&gt_command_start,
	&gt_command_stop,
	&gt_command_flush,
	&gt_command_dump,
	&gt_command_set,
	&gt_command_hang,
	&gt_command_stats,
	&gt_command_gaps,
	&gt_command_memory,
	&gt_command_ranks,
	&gt_command_analyze,
	&gt_command_stacks,
	&gt_command_diff,
	&gt_command_report,
	&gt_command_open,
	&gt_command_convert,
	&gt_command_export,
	&gt_command_merge,
	&gt_command_symbolize,
	&gt_command_compress,
	&gt_command_repair,
	&gt_command_verify,
	&gt_command_doctor,
	&gt_command_bench,
	&gt_command_options,
	NULL,
	/* clang-format on */
};

/* Titles of the help, each above its first command. */
static const struct {
	const struct gt_command *first;
	const char *title;
} groups[] = {
	{&gt_command_run, "record"},
	{&gt_command_ps, "speak to processes that are traced"},
	{&gt_command_stats, "read traces"},
	{&gt_command_convert, "make other files of them, check and repair them"},
	{&gt_command_doctor, "this machine"},
};

static const struct gt_command *find_command(const char *name)
{
	for (size_t i = 0; gt_commands[i]; i++) {
		if (!strcmp(gt_commands[i]->name, name))
			return gt_commands[i];
	}
	return NULL;
}

static void print_row(const char *name, const char *arguments, const char *help)
{
	char left[80];

	snprintf(left, sizeof(left), "  %s %s", name, arguments);
	gt_help_row(left, 37, help, stdout);
}

static void print_title(const char *gap, const char *title)
{
	char line[80];

	snprintf(line, sizeof(line), "%s%s:", gap, title);
	gt_help_wrap(line, 0, stdout);
}

static void print_group(const struct gt_command *command)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (groups[i].first == command)
			print_title(i ? "\n" : "", groups[i].title);
}

static int print_help(void)
{
	gt_help_wrap("gputrace: what did the GPU do, which line asked for it, why was it idle?\n\n"
		     "usage: gputrace COMMAND [ARGUMENT...]\n",
		     0, stdout);
	for (size_t i = 0; gt_commands[i]; i++) {
		print_group(gt_commands[i]);
		if (gt_commands[i]->help)
			print_row(gt_commands[i]->name, gt_commands[i]->arguments,
				  gt_commands[i]->help);
	}
	gt_help_wrap("\nSee `gputrace help COMMAND` for the options of a command.", 0, stdout);
	return GT_EXIT_OK;
}

/* The command that was probably meant, NULL: none. */
static const char *find_meant(const char *name)
{
	const char *names[64], *elsewhere = gt_word_command_elsewhere(name);
	size_t count = 0;

	if (elsewhere)
		return elsewhere;
	for (size_t i = 0; gt_commands[i] && count < 64; i++) {
		if (gt_commands[i]->help)
			names[count++] = gt_commands[i]->name;
	}
	return gt_nearest(name, names, count);
}

static int complain(const char *name)
{
	const char *meant = find_meant(name);

	if (meant)
		gt_show_line(stderr, "gputrace: '%s' is no command; did you mean '%s'?", name,
			     meant);
	else
		gt_show_line(stderr, "gputrace: '%s' is no command; see gputrace --help", name);
	return GT_EXIT_USAGE;
}

/* gputrace help [COMMAND] */
static int help(int argc, char **argv)
{
	static char option[] = "--help";
	const struct gt_command *command = argc > 1 ? find_command(argv[1]) : NULL;

	if (argc == 1)
		return print_help();
	if (!command || !command->help)
		return complain(argv[1]);
	if (command == &gt_command_run)
		return gt_command_options.run(1, argv);
	return command->run(2, (char *[]){argv[1], option, NULL});
}

static int answer(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "help";
	const struct gt_command *command = find_command(name);

	if (command)
		return command->run(argc - 1, argv + 1);
	if (!strcmp(name, "help"))
		return help(argc > 1 ? argc - 1 : 1, argv + 1);
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return print_help();
	if (!strcmp(name, "version") || !strcmp(name, "--version")) {
		printf("gputrace %s\n", GT_VERSION);
		return GT_EXIT_OK;
	}
	return complain(name);
}

/* Files come from strangers: without a random seed they would choose what collides in our tables.
 */
static void seed_tables(void)
{
	uint64_t seed[2];

	if (getrandom(seed, sizeof(seed), GRND_NONBLOCK) == (ssize_t)sizeof(seed))
		gt_hash_set_seed(seed);
}

/* What did not reach standard output is a failure; a command may have told it already. */
int main(int argc, char **argv)
{
	int rc;

	seed_tables();
	mallopt(M_MMAP_THRESHOLD, LARGE);
	rc = answer(argc, argv);
	if ((!fflush(stdout) && !ferror(stdout)) || rc == GT_EXIT_FAILED)
		return rc;
	perror("gputrace: standard output");
	return GT_EXIT_FAILED;
}
