/* SPDX-License-Identifier: Apache-2.0
 *
 * What all commands share: the command line and the loading of traces. Single-threaded.
 */
#include "cli/cmdline.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "analysis/stats.h"
#include "cli/progress.h"
#include "core/guest/log.h"
#include "readers/input.h"
#include "readers/show.h"
#include "trace/communication.h"

int gt_cmdline_wrong(const struct gt_cmdline *args, const char *format, ...)
{
	va_list list;
	char *text;
	int length;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length < 0)
		return GT_EXIT_USAGE;
	gt_show_line(stderr, "gputrace %s: %s", args->spec->command->name, text);
	free(text);
	return GT_EXIT_USAGE;
}

void gt_cmdline_complain(const char *line)
{
	gt_progress_hide();
	fputs("gputrace: ", stderr);
	gt_show(line, stderr);
	fputc('\n', stderr);
}

bool gt_cmdline_can_read_twice(const char *path)
{
	char line[4400];

	if (!gt_input_is_stream(path))
		return true;
	snprintf(line, sizeof(line), "%.4096s: it is read twice and must be a file", path);
	gt_cmdline_complain(line);
	return false;
}

static size_t find_option(const struct gt_cmdline_spec *spec, const char *name, size_t len)
{
	size_t i;

	for (i = 0; spec->options && spec->options[i].name; i++)
		if (strlen(spec->options[i].name) == len &&
		    !memcmp(spec->options[i].name, name, len))
			return i;
	return SIZE_MAX;
}

/* "a|b|c" */
static bool is_choice(const char *values, const char *value)
{
	size_t len = strlen(value);

	while (values) {
		size_t n = strcspn(values, "|");

		if (n == len && !memcmp(values, value, n))
			return true;
		values = values[n] ? values + n + 1 : NULL;
	}
	return false;
}

static bool is_in_range(const char *values, const char *value)
{
	char *end;
	long number, from = strtol(values, &end, 10), to = strtol(end + 2, NULL, 10);

	number = strtol(value, &end, 10);
	return *value && !*end && number >= from && number <= to;
}

static int check_value(const struct gt_cmdline *args, const struct gt_cmdline_option *option,
		       const char *value)
{
	if (!option->values)
		return 0;
	if (strstr(option->values, "..")) {
		if (!is_in_range(option->values, value))
			return gt_cmdline_wrong(args, "--%s=%s: not a whole number of %s",
						option->name, value, option->values);
	} else if (!is_choice(option->values, value)) {
		return gt_cmdline_wrong(args, "--%s=%s: must be one of %s", option->name, value,
					option->values);
	}
	return 0;
}

/* Takes the option at argv[*i], and its value from the next word if it is not behind '='. */
static int take_option(struct gt_cmdline *args, int argc, char **argv, int *i)
{
	const char *word = argv[*i] + 2, *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);
	size_t index = find_option(args->spec, word, len);
	const struct gt_cmdline_option *option;
	int rc;

	if (index == SIZE_MAX)
		return gt_cmdline_wrong(args, "--%.*s: no such option (see gputrace %s --help)",
					(int)len, word, args->spec->command->name);
	option = &args->spec->options[index];
	if (!option->argument && value)
		return gt_cmdline_wrong(args, "--%s takes no value", option->name);
	if (option->argument && !value) {
		if (*i + 1 >= argc)
			return gt_cmdline_wrong(args, "--%s needs a value: --%s=%s", option->name,
						option->name, option->argument);
		value = argv[++*i];
	} else if (value) {
		value++;
	}
	rc = option->argument ? check_value(args, option, value) : 0;
	if (rc)
		return rc;
	if (args->given_count == GT_CMDLINE_MAX_GIVEN)
		return gt_cmdline_wrong(args, "more than %d options", GT_CMDLINE_MAX_GIVEN);
	args->given[args->given_count].option = index;
	args->given[args->given_count++].value = value ? value : "";
	return 0;
}

int gt_cmdline_parse(const struct gt_cmdline_spec *spec, int argc, char **argv,
		     struct gt_cmdline *ret_args)
{
	struct gt_cmdline *args = ret_args;
	bool options = true;
	int rc;

	*args = (struct gt_cmdline){.spec = spec, .inputs = argv};
	for (int i = 0; i < argc; i++) {
		if (options && !strcmp(argv[i], "--")) {
			options = false;
		} else if (options && !strncmp(argv[i], "--", 2)) {
			rc = take_option(args, argc, argv, &i);
			if (rc)
				return rc;
		} else if (options && argv[i][0] == '-' && argv[i][1]) {
			return gt_cmdline_wrong(args, "%s: options begin with two dashes", argv[i]);
		} else {
			args->inputs[args->input_count++] = argv[i];
		}
	}
	if (args->input_count < spec->min_inputs)
		return gt_cmdline_wrong(args,
					"too few arguments; usage: gputrace %s [OPTION...] %s",
					spec->command->name, spec->command->arguments);
	if (args->input_count > spec->max_inputs)
		return gt_cmdline_wrong(
			args, "%s: one argument too many; usage: gputrace %s [OPTION...] %s",
			args->inputs[spec->max_inputs], spec->command->name,
			spec->command->arguments);
	return 0;
}

const char *gt_cmdline_next(const struct gt_cmdline *args, const char *option, size_t *position)
{
	while (*position < args->given_count) {
		size_t i = (*position)++;

		if (!strcmp(args->spec->options[args->given[i].option].name, option))
			return args->given[i].value;
	}
	return NULL;
}

const char *gt_cmdline_get(const struct gt_cmdline *args, const char *option)
{
	const char *value, *last = NULL;
	size_t position = 0;

	while ((value = gt_cmdline_next(args, option, &position)))
		last = value;
	return last;
}

long gt_cmdline_number(const struct gt_cmdline *args, const char *option, long otherwise)
{
	const char *value = gt_cmdline_get(args, option);

	return value ? strtol(value, NULL, 10) : otherwise;
}

/* Words of @text from column @indent on, wrapped at 96. */
static void print_wrapped(const char *text, int indent, FILE *out)
{
	int column = indent;

	while (*text) {
		int n = (int)strcspn(text, " \n");

		if (column > indent && column + 1 + n > 96) {
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

void gt_cmdline_help(const struct gt_cmdline_spec *spec, FILE *out)
{
	fprintf(out, "usage: gputrace %s [OPTION...] %s\n\n", spec->command->name,
		spec->command->arguments);
	print_wrapped(spec->command->help, 0, out);
	if (spec->details) {
		fputc('\n', out);
		print_wrapped(spec->details, 0, out);
	}
	for (size_t i = 0; spec->options && spec->options[i].name; i++) {
		const struct gt_cmdline_option *option = &spec->options[i];
		char left[64];

		snprintf(left, sizeof(left), "  --%s%s%s", option->name,
			 option->argument ? "=" : "", option->argument ? option->argument : "");
		fprintf(out, "%s%-26s", i ? "" : "\noptions:\n", left);
		print_wrapped(option->help, 26, out);
	}
	if (spec->example)
		fputs("\nexamples:\n  ", out);
	for (const char *p = spec->example; p && *p; p++)
		fprintf(out, "%c%s", *p, *p == '\n' ? "  " : "");
	if (spec->example)
		fputc('\n', out);
}

static int mark_communication(const struct gt_cmdline *args, struct gt_job *job)
{
	size_t position = 0;
	const char *glob;
	int rc = 0;

	while (!rc && (glob = gt_cmdline_next(args, "communication", &position)))
		for (size_t i = 0; !rc && i < job->count; i++)
			rc = gt_communication_mark(&job->models[i], glob);
	return rc;
}

/* A file full of another vendor's work is no trace without work. */
static int check_work(const struct gt_cmdline *args, const struct gt_job *job)
{
	uint64_t count = gt_stats_unknown_work(job);

	if (count)
		gt_show_line(stderr,
			     "gputrace %s: no GPU work of a known category, but %" PRIu64
			     " slice%s of unknown ones with a device, stream or correlation",
			     args->spec->command->name, count, gt_plural(count));
	return count ? GT_EXIT_FAILED : GT_EXIT_OK;
}

int gt_cmdline_load(const struct gt_cmdline *args, struct gt_job *job)
{
	size_t failures = 0;
	int rc;

	gt_progress_start("reading");
	rc = gt_job_load(job, args->inputs, args->input_count, gt_cmdline_complain, &failures);
	gt_progress_stop();
	if (!rc)
		rc = mark_communication(args, job);
	if (!rc)
		rc = check_work(args, job);
	return rc || failures ? GT_EXIT_FAILED : GT_EXIT_OK;
}

void gt_cmdline_report_losses(const char *text, enum gt_format format)
{
	if (format != GT_FORMAT_TABLE)
		gt_progress_hide();
	if (*text)
		fprintf(format == GT_FORMAT_TABLE ? stdout : stderr,
			"%sNot in the trace, or not whole:\n%s",
			format == GT_FORMAT_TABLE ? "\n" : "", text);
}

void gt_cmdline_losses(const struct gt_job *const *jobs, size_t count, enum gt_format format)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	for (size_t i = 0; i < count; i++)
		gt_stats_losses(jobs[i], memory);
	fclose(memory);
	gt_cmdline_report_losses(text, format);
	free(text);
}

int gt_cmdline_filter(const struct gt_cmdline *args, struct gt_filter *filter)
{
	size_t position = 0;
	const char *text;

	while ((text = gt_cmdline_next(args, "filter", &position)))
		if (gt_filter_add(filter, text))
			return gt_cmdline_wrong(
				args, "--filter=%s: %s", text,
				*filter->wrong ? filter->wrong
					       : "not kernel=, api=, nvtx=, step=, stream=, "
						 "device= or time= with a value");
	return 0;
}

void gt_cmdline_report_filter(const struct gt_job *job, const struct gt_filter *filter)
{
	for (size_t i = 0; i < job->count; i++)
		if (!filter->terms.count || gt_filter_any(filter, &job->models[i]))
			return;
	if (job->count)
		gt_cmdline_complain("--filter: nothing in the traces passes");
}

/* Columns of the terminal that is standard output, 0: not known. The variable is meant where it is
 * set. */
static size_t terminal_columns(void)
{
	const char *variable = getenv("COLUMNS");
	long number = variable ? strtol(variable, NULL, 10) : 0;
	struct winsize size;

	if (number > 0)
		return (size_t)number;
	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

struct gt_print gt_cmdline_print(const struct gt_cmdline *args)
{
	static const char *const names[] = {"table", "csv", "json", "markdown"};
	const char *format = gt_cmdline_get(args, "format");
	struct gt_print how = {.format = GT_FORMAT_TABLE};

	for (int i = 0; format && i < 4; i++)
		if (!strcmp(format, names[i]))
			how.format = (enum gt_format)i;
	if (isatty(STDOUT_FILENO) && how.format == GT_FORMAT_TABLE) {
		const char *no_color = getenv("NO_COLOR");

		how.color = !(no_color && *no_color);
		how.columns = terminal_columns();
	}
	return how;
}

/* Text as roff takes it. */
static void print_roff(const char *text, FILE *out)
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

/* The man page gputrace-<command>(1). */
static void print_man(const struct gt_cmdline_spec *spec, FILE *out)
{
	const struct gt_command *command = spec->command;

	fputs(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH GPUTRACE\\-", out);
	for (const char *p = command->name; *p; p++)
		fputc(toupper((unsigned char)*p), out);
	fprintf(out, " 1 \"\" \"gputrace %s\" \"User Commands\"\n", GT_VERSION);
	fprintf(out, ".SH NAME\ngputrace-%s \\- ", command->name);
	print_roff(command->help, out);
	fprintf(out, "\n.SH SYNOPSIS\n.B gputrace %s\n.RI [ option ...]\n.I ", command->name);
	print_roff(command->arguments, out);
	if (spec->details) {
		fputs("\n.SH DESCRIPTION\n", out);
		print_roff(spec->details, out);
	}
	for (size_t i = 0; spec->options && spec->options[i].name; i++) {
		const struct gt_cmdline_option *option = &spec->options[i];

		fprintf(out, "%s.TP\n.B \\-\\-", i ? "" : "\n.SH OPTIONS\n");
		print_roff(option->name, out);
		fprintf(out, "%s%s\n", option->argument ? "=" : "",
			option->argument ? option->argument : "");
		print_roff(option->help, out);
		fputc('\n', out);
	}
	if (spec->example) {
		fputs("\n.SH EXAMPLES\n.nf\n", out);
		print_roff(spec->example, out);
		fputs("\n.fi", out);
	}
	fputs("\n.SH EXIT STATUS\n0: done; 1: an input could not be read, or a check found "
	      "something; 2: the "
	      "command line is wrong; 3: diff \\-\\-gate found a regression.\n.SH SEE ALSO\n.BR "
	      "gputrace (1)\n",
	      out);
}

/* What a completion offers: "--format=csv" for each value that is listed, "--top=" where the value
 * is free. */
static void print_words(const struct gt_cmdline_spec *spec, FILE *out)
{
	for (size_t i = 0; spec->options && spec->options[i].name; i++) {
		const struct gt_cmdline_option *option = &spec->options[i];
		const char *value = option->values;

		if (!option->argument || !value || strstr(value, "..")) {
			fprintf(out, "--%s%s\n", option->name, option->argument ? "=" : "");
			continue;
		}
		for (size_t n; *value; value += value[n] ? n + 1 : n) {
			n = strcspn(value, "|");
			fprintf(out, "--%s=%.*s\n", option->name, (int)n, value);
		}
	}
	fputs("--help\n", out);
}

static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

/* "--help=man", "--help=words": for docs/generate.py, not told in the help. */
static void (*generated_page(int argc, char **argv))(const struct gt_cmdline_spec *, FILE *)
{
	if (argc != 2)
		return NULL;
	if (!strcmp(argv[1], "--help=man"))
		return print_man;
	return strcmp(argv[1], "--help=words") ? NULL : print_words;
}

int gt_cmdline_main(const struct gt_cmdline_spec *spec, int argc, char **argv)
{
	void (*page)(const struct gt_cmdline_spec *, FILE *) = generated_page(argc, argv);
	struct gt_cmdline args;
	int rc = GT_EXIT_OK;

	gt_log_set_level(GT_LOG_QUIET); /* what goes wrong comes back as words */
	if (page) {
		page(spec, stdout);
		return fflush(stdout) ? GT_EXIT_FAILED : GT_EXIT_OK;
	}
	if (wants_help(argc, argv))
		gt_cmdline_help(spec, stdout);
	else
		rc = gt_cmdline_parse(spec, argc - 1, argv + 1, &args);
	if (!rc && !wants_help(argc, argv))
		rc = spec->run(&args);
	if (fflush(stdout) || ferror(stdout)) {
		perror("gputrace: standard output");
		return GT_EXIT_FAILED;
	}
	return rc;
}
