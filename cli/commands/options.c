/* SPDX-License-Identifier: Apache-2.0
 *
 * options: the options of `gputrace run` out of core/config.def, in the form that a page wants: the
 * help, a section of the man page, a table for the README, words for the completion.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "core/config.h"

/* "--max-size=BYTES", or "--sync" for a switch. */
static void format_usage(const struct gt_option *option, char *out, size_t size)
{
	if (option->type == GT_OPTION_BOOL)
		snprintf(out, size, "--%s", option->name);
	else
		snprintf(out, size, "--%s=%s", option->name, option->argument);
}

static bool has_default(const struct gt_option *option)
{
	return *option->initial && option->type != GT_OPTION_BOOL;
}

static void print_help_row(const struct gt_option *option)
{
	char usage[64];

	format_usage(option, usage, sizeof(usage));
	printf("  %-24s %s", usage, option->help);
	if (has_default(option))
		printf(" [%s]", option->initial);
	putchar('\n');
}

static void print_help(void)
{
	printf("usage: gputrace run [--option=value...] [--] CMD [ARGUMENT...]\n\n"
	       "Runs CMD with its CUDA work traced and ends as CMD ends. Options; --some-option=V "
	       "is the\n"
	       "same as GPUTRACE_SOME_OPTION=V in the environment:\n\n");
	for (int id = 0; id < GT_CONFIG_COUNT_; id++)
		print_help_row(&gt_options[id]);
	printf("  %-24s %s\n", "--help", "print this");
}

/* Text as roff takes it: a leading dot, backslashes and hyphens mean something there. */
static void print_roff(const char *text)
{
	for (; *text; text++) {
		if (*text == '-' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
}

static void print_man(void)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		const struct gt_option *option = &gt_options[id];
		char usage[64];

		format_usage(option, usage, sizeof(usage));
		printf(".TP\n.B ");
		print_roff(usage);
		putchar('\n');
		print_roff(option->help);
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
		printf("| `%s` | %s | ", usage, *option->initial ? option->initial : "-");
		print_cell(option->help);
		printf(" |\n");
	}
}

/* One word a line: "--sync", "--stacks=" and "--stacks=off" for each value of an enumeration. */
static void print_words(void)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		const struct gt_option *option = &gt_options[id];
		const char *value = option->values;

		if (option->type == GT_OPTION_BOOL) {
			printf("--%s\n", option->name);
			continue;
		}
		if (option->type != GT_OPTION_ENUM)
			printf("--%s=\n", option->name);
		while (option->type == GT_OPTION_ENUM && *value) {
			int length = (int)strcspn(value, "|");

			printf("--%s=%.*s\n", option->name, length, value);
			value += length + (value[length] == '|');
		}
	}
	printf("--help\n");
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
