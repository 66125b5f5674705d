/* SPDX-License-Identifier: Apache-2.0
 *
 * See help.h.
 */
#include "cli/help.h"

#include <ctype.h>
#include <string.h>

#include "cli/terminal.h"
#include "cli/words.h"
#include "core/run_name.h"

#define OPTION_COLUMNS 26
#define NARROW_INDENT  6
#define LEAST_COLUMNS  40
#define NARROW_COLUMNS 72 /* from there on names and texts have room side by side */
#define MOST_COLUMNS   100

static int columns(void)
{
	size_t given = gt_terminal_columns();

	if (!given || given > MOST_COLUMNS)
		return MOST_COLUMNS;
	return given < LEAST_COLUMNS ? LEAST_COLUMNS : (int)given;
}

void gt_help_wrap(const char *text, int indent, FILE *out)
{
	int column = indent, most = columns();

	while (*text) {
		int n = (int)strcspn(text, " \n");

		if (column > indent && column + 1 + n > most) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", n, text);
		column += n;
		text += n;
		text += strspn(text, " ");
		if (*text == '\n') {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
			text++;
		}
	}
	fputc('\n', out);
}

void gt_help_row(const char *left, int indent, const char *text, FILE *out)
{
	if (columns() < NARROW_COLUMNS)
		indent = NARROW_INDENT;
	fprintf(out, "%-*s", indent, left);
	if (strlen(left) >= (size_t)indent)
		fprintf(out, "\n%*s", indent, "");
	gt_help_wrap(text, indent, out);
}

void gt_help_option(const char *name, const char *argument, const char *text, FILE *out)
{
	char letter = gt_word_letter(name), shape[8] = "   ", left[64];

	if (letter)
		snprintf(shape, sizeof(shape), "-%c,", letter);
	snprintf(left, sizeof(left), "  %s --%s%s%s", shape, name,
		 gt_cmdline_needs_value(argument) ? "=" : "", argument ? argument : "");
	gt_help_row(left, OPTION_COLUMNS, text, out);
}

/* Commands stay in one line, to be copied. */
static void print_examples(const char *examples, FILE *out)
{
	char line[256];

	if (examples)
		fputs("\nexamples:\n", out);
	while (examples && *examples) {
		size_t size = strcspn(examples, "\n");

		if (*examples == '#') {
			snprintf(line, sizeof(line), "%.*s", (int)size, examples);
			fputs("  # ", out);
			gt_help_wrap(line + 1 + (line[1] == ' '), 4, out);
		} else {
			fprintf(out, "  %.*s\n", (int)size, examples);
		}
		examples += size + (examples[size] == '\n');
	}
}

void gt_help_print(const struct gt_cmdline_spec *spec, FILE *out)
{
	char usage[256];

	snprintf(usage, sizeof(usage), "usage: gputrace %s [OPTION...]%s%s", spec->command->name,
		 *spec->command->arguments ? " " : "", spec->command->arguments);
	gt_help_wrap(usage, 0, out);
	fputc('\n', out);
	gt_help_wrap(spec->command->help, 0, out);
	if (spec->details) {
		fputc('\n', out);
		gt_help_wrap(spec->details, 0, out);
	}
	if (spec->takes_newest)
		gt_help_wrap("Without a file it reads the newest run in " GT_RUN_PARENT ".", 0,
			     out);
	if (spec->takes_stdin)
		gt_help_wrap("A trace may come from the standard input: -.", 0, out);
	if (spec->options && spec->options[0].name)
		fputs("\noptions:\n", out);
	for (size_t i = 0; spec->options && spec->options[i].name; i++)
		if (spec->options[i].help)
			gt_help_option(spec->options[i].name, spec->options[i].argument,
				       spec->options[i].help, out);
	print_examples(spec->example, out);
}

void gt_help_roff(const char *text, FILE *out)
{
	const char *start = text;

	for (; *text; text++) {
		if (*text == '-' || *text == '\\')
			fputc('\\', out);
		if (*text == '.' && text != start && text[-1] == '\n')
			fputs("\\&", out);
		fputc(*text, out);
	}
}

void gt_help_print_man(const struct gt_cmdline_spec *spec, FILE *out)
{
	const struct gt_command *command = spec->command;

	fputs(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH GPUTRACE\\-", out);
	for (const char *p = command->name; *p; p++)
		fputc(toupper((unsigned char)*p), out);
	fprintf(out, " 1 \"\" \"gputrace %s\" \"User Commands\"\n", GT_VERSION);
	fprintf(out, ".SH NAME\ngputrace-%s \\- ", command->name);
	gt_help_roff(command->help, out);
	fprintf(out, "\n.SH SYNOPSIS\n.B gputrace %s\n.RI [ option ...]\n.I ", command->name);
	gt_help_roff(command->arguments, out);
	if (spec->details) {
		fputs("\n.SH DESCRIPTION\n", out);
		gt_help_roff(spec->details, out);
	}
	for (size_t i = 0; spec->options && spec->options[i].name; i++) {
		const struct gt_cmdline_option *option = &spec->options[i];

		if (!option->help)
			continue;
		fprintf(out, "%s.TP\n.B ", i ? "" : "\n.SH OPTIONS\n");
		if (gt_word_letter(option->name))
			fprintf(out, "\\-%c, ", gt_word_letter(option->name));
		fputs("\\-\\-", out);
		gt_help_roff(option->name, out);
		fprintf(out, "%s%s\n", gt_cmdline_needs_value(option->argument) ? "=" : "",
			option->argument ? option->argument : "");
		gt_help_roff(option->help, out);
		fputc('\n', out);
	}
	if (spec->example) {
		fputs("\n.SH EXAMPLES\n.nf\n", out);
		gt_help_roff(spec->example, out);
		fputs("\n.fi", out);
	}
	fputs("\n.SH EXIT STATUS\n0: done; 1: an input could not be read, or a check found "
	      "something; 2: the "
	      "command line is wrong; 3: diff \\-\\-gate found a regression; 4: diff \\-\\-gate "
	      "has no verdict.\n.SH SEE ALSO\n.BR "
	      "gputrace (1)\n",
	      out);
}

/* Values of options that take other ones, too. */
static const struct {
	const char *option, *values;
} usual[] = {
	{"filter", "kernel=|api=|nvtx=|step=|stream=|device=|time="},
	{"sort", "total|count|mean|median|min|max|stddev|name"},
};

static const char *values_of(const struct gt_cmdline_option *option)
{
	for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
		if (!strcmp(usual[i].option, option->name))
			return usual[i].values;
	return option->values;
}

void gt_help_print_words(const struct gt_cmdline_spec *spec, FILE *out)
{
	for (size_t i = 0; spec->options && spec->options[i].name; i++) {
		const struct gt_cmdline_option *option = &spec->options[i];
		const char *value = values_of(option);

		if (!option->help)
			continue;
		if (!option->argument || !value || strstr(value, "..")) {
			fprintf(out, "--%s%s\t%s\n", option->name,
				gt_cmdline_needs_value(option->argument) ? "=" : "", option->help);
			continue;
		}
		for (size_t n; *value; value += value[n] ? n + 1 : n) {
			n = strcspn(value, "|");
			fprintf(out, "--%s=%.*s\t%s\n", option->name, (int)n, value, option->help);
		}
	}
	if (spec->print_words)
		spec->print_words(out);
	if (strstr(spec->command->arguments, "|all"))
		fputs("all\tall processes of this user\n", out);
	fputs("--help\tprint the help\n", out);
}
