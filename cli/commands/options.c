/* SPDX-License-Identifier: Apache-2.0
 *
 * options: the options of `gputrace run` out of core/config.def, in the form that a page wants: the
 * help, a section of the man page, a table for the README, words for the completion.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/words.h"
#include "core/config.h"

/* The groups of config.def, each with its first option. */
static const struct {
	int first;
	const char *title;
} groups[] = {
#define GT_OPTION(id, name, type, def, values, arg, help)
#define GT_OPTION_GROUP(first, title) {GT_CONFIG_##first, title},
#include "core/config.def"
#undef GT_OPTION
};

/* The title of the group that begins with option @id, as @format has it. */
static void print_group(int id, const char *format)
{
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (groups[i].first == id)
			printf(format, groups[i].title);
}

/* "--max-size=BYTES", or "--sync" for a switch. */
static void format_usage(const struct gt_option *option, char *out, size_t size)
{
	if (option->type == GT_OPTION_BOOL)
		snprintf(out, size, "--%s", option->name);
	else
		snprintf(out, size, "--%s%s%s", option->name, *option->argument == '[' ? "" : "=",
			 option->argument);
}

static bool has_default(const struct gt_option *option)
{
	return *option->initial && option->type != GT_OPTION_BOOL;
}

static void print_help_row(const struct gt_option *option)
{
	bool is_switch = option->type == GT_OPTION_BOOL;
	char text[512], initial[64] = "";

	if (has_default(option))
		snprintf(initial, sizeof(initial), " [%s]", option->initial);
	snprintf(text, sizeof(text), "%s%s", option->help, initial);
	gt_help_option(option->name, is_switch ? NULL : option->argument, text, stdout);
}

static void print_help(void)
{
	gt_help_wrap("usage: gputrace run [OPTION...] [--] CMD [ARGUMENT...]\n\nRuns CMD with its "
		     "CUDA work traced and ends as CMD ends. --some-option=V, or "
		     "--some-option V, is GPUTRACE_SOME_OPTION=V in the environment.",
		     0, stdout);
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		print_group(id, "\n%s:\n");
		print_help_row(&gt_options[id]);
	}
	gt_help_option("help", NULL, "print this", stdout);
}

static void print_man(void)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		const struct gt_option *option = &gt_options[id];
		char usage[64];

		format_usage(option, usage, sizeof(usage));
		print_group(id, ".SS %s\n");
		printf(".TP\n.B ");
		if (gt_word_letter(option->name))
			printf("\\-%c, ", gt_word_letter(option->name));
		gt_help_roff(usage, stdout);
		putchar('\n');
		gt_help_roff(option->help, stdout);
		if (*option->values)
			printf(" (%s)", option->values);
		if (has_default(option))
			printf(" [default: %s]", option->initial);
		printf("\n.br\nVariable: %s\n", option->env);
	}
}

static void print_cell(const char *text)
{
	for (; *text; text++) {
		if (*text == '|')
			putchar('\\');
		putchar(*text);
	}
}

static void print_markdown(void)
{
	printf("| option | default | what |\n| --- | --- | --- |\n");
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		const struct gt_option *option = &gt_options[id];
		char usage[64];

		format_usage(option, usage, sizeof(usage));
		print_group(id, "| **%s** | | |\n");
		printf("| `%s` | %s | ", usage, *option->initial ? option->initial : "-");
		print_cell(option->help);
		printf(" |\n");
	}
}

/* A word and its meaning a line: "--sync", "--output=", "--stacks=off" for each value of an
 * enumeration. */
static void print_words(void)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		const struct gt_option *option = &gt_options[id];
		const char *value = option->values;

		bool has_words = option->type == GT_OPTION_ENUM || option->type == GT_OPTION_LIST;

		if (!has_words)
			printf("--%s%s\t%s\n", option->name,
			       option->type == GT_OPTION_BOOL ? "" : "=", option->help);
		while (has_words && *value) {
			int length = (int)strcspn(value, "|");

			printf("--%s=%.*s\t%s\n", option->name, length, value, option->help);
			value += length + (value[length] == '|');
		}
	}
	puts("--help\tprint the help");
}

static const struct {
	const char *name;
	void (*print)(void);
} formats[] = {
	{"help", print_help},
	{"man", print_man},
	{"markdown", print_markdown},
	{"words", print_words},
};

static int run(int argc, char **argv)
{
	static const char prefix[] = "--format=";
	const char *name = "help";

	if (argc > 2 || (argc == 2 && strncmp(argv[1], prefix, sizeof(prefix) - 1))) {
		fprintf(stderr, "usage: gputrace-cli options [--format=help|man|markdown|words]\n");
		return GT_EXIT_USAGE;
	}
	if (argc == 2)
		name = argv[1] + sizeof(prefix) - 1;
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		if (!strcmp(formats[i].name, name)) {
			formats[i].print();
			return GT_EXIT_OK;
		}
	}
	fprintf(stderr, "gputrace: '%s' is no format: help, man, markdown, words\n", name);
	return GT_EXIT_USAGE;
}

const struct gt_command gt_command_options = {
	.name = "options",
	.arguments = "[--format=FORMAT]",
	.run = run,
};
