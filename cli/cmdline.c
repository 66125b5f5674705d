/* SPDX-License-Identifier: Apache-2.0
 *
 * What all commands share: the command line and the loading of traces. Single-threaded.
 */
#include "cli/cmdline.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/holes/holes.h"
#include "cli/help.h"
#include "cli/nearest.h"
#include "cli/newest.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/words.h"
#include "core/config.h"
#include "core/guest/log.h"
#include "core/run_name.h"
#include "readers/input.h"
#include "readers/show.h"
#include "readers/wrap.h"

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
	int64_t ns;

	if (!option->values)
		return 0;
	if (!strcmp(option->values, GT_CMDLINE_TIME)) {
		if (!gt_cmdline_read_time(value, 1000, &ns))
			return gt_cmdline_wrong(args,
						"--%s=%s: not a time: a number with ns, us, ms, s, "
						"m or h",
						option->name, value);
	} else if (strstr(option->values, "..")) {
		if (!is_in_range(option->values, value))
			return gt_cmdline_wrong(args, "--%s=%s: not a whole number of %s",
						option->name, value, option->values);
	} else if (!is_choice(option->values, value)) {
		return gt_cmdline_wrong(args, "--%s=%s: must be one of %s", option->name, value,
					option->values);
	}
	return 0;
}

/* An option that the command does not have: perhaps it goes by another name here. */
/* What a command without --output writes to, or NULL. */
static const char *find_output(const struct gt_cmdline_option *option)
{
	for (; option && option->name; option++)
		if (option->help && !strncmp(option->help, "write ", 6))
			return option->name;
	return NULL;
}

static int refuse_option(const struct gt_cmdline *args, const char *word, size_t len)
{
	const struct gt_cmdline_option *options = args->spec->options;
	const char *names[GT_CMDLINE_MAX_GIVEN], *command = args->spec->command->name, *meant;
	char name[64];
	size_t count = 0;

	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	for (; options && options[count].name && count < GT_CMDLINE_MAX_GIVEN; count++)
		names[count] = options[count].name;
	meant = gt_nearest(name, names, count);
	if (!meant && !strcmp(name, "output"))
		meant = find_output(options);
	if (meant)
		return gt_cmdline_wrong(args, "--%s: no such option; did you mean --%s?", name,
					meant);
	if (gt_config_find(name, strlen(name)) >= 0)
		return gt_cmdline_wrong(args,
					"--%s is an option of gputrace run (see gputrace %s "
					"--help)",
					name, command);
	return gt_cmdline_wrong(args, "--%s: no such option (see gputrace %s --help)", name,
				command);
}

/* @value: NULL for a flag. */
static int give(struct gt_cmdline *args, size_t index, const char *value)
{
	const struct gt_cmdline_option *option = &args->spec->options[index];
	int rc = value ? check_value(args, option, value) : 0;

	if (rc)
		return rc;
	if (args->given_count == GT_CMDLINE_MAX_GIVEN)
		return gt_cmdline_wrong(args, "more than %d options", GT_CMDLINE_MAX_GIVEN);
	args->given[args->given_count].option = index;
	args->given[args->given_count++].value = value ? value : "";
	return 0;
}

/* Gives option @index, which stands in argv[*i], with the next word as its value if @value is
 * NULL. */
static int give_value(struct gt_cmdline *args, size_t index, const char *value, int argc,
		      char **argv, int *i)
{
	const struct gt_cmdline_option *option = &args->spec->options[index];

	if (!value && *i + 1 >= argc)
		return gt_cmdline_wrong(args, "--%s needs a value: --%s=%s", option->name,
					option->name, option->argument);
	if (!value)
		args->last_parted = args->given_count;
	return give(args, index, value ? value : argv[++*i]);
}

bool gt_cmdline_needs_value(const char *argument)
{
	return argument && *argument != '[';
}

/* "--output=DIR", "--output DIR", "--quiet", "--nvml", "--nvml=HZ" */
static int take_long(struct gt_cmdline *args, int argc, char **argv, int *i)
{
	const char *word = argv[*i] + 2, *value = strchr(word, '=');
	size_t len = value ? (size_t)(value - word) : strlen(word);
	size_t index = find_option(args->spec, word, len);

	if (index == SIZE_MAX)
		return refuse_option(args, word, len);
	if (!value && !gt_cmdline_needs_value(args->spec->options[index].argument))
		return give(args, index, NULL);
	if (args->spec->options[index].argument)
		return give_value(args, index, value ? value + 1 : NULL, argc, argv, i);
	return value ? gt_cmdline_wrong(args, "--%s takes no value",
					args->spec->options[index].name)
		     : give(args, index, NULL);
}

/* "-o DIR", "-oDIR", "-q", "-qoDIR" */
static int take_letters(struct gt_cmdline *args, int argc, char **argv, int *i)
{
	int rc = 0;

	for (const char *letter = argv[*i] + 1; !rc && *letter; letter++) {
		const char *name = gt_word_of_letter(*letter);
		size_t index = name ? find_option(args->spec, name, strlen(name)) : SIZE_MAX;

		if (index == SIZE_MAX)
			return gt_cmdline_wrong(args,
						"-%c: no such option (see gputrace %s --help)",
						*letter, args->spec->command->name);
		if (args->spec->options[index].argument)
			return give_value(args, index, letter[1] ? letter + 1 : NULL, argc, argv,
					  i);
		rc = give(args, index, NULL);
	}
	return rc;
}

/* The newest run, which is said, as the input. */
static void take_newest(struct gt_cmdline *args)
{
	static char path[PATH_MAX], *input = path;

	if (gt_newest_run(path, sizeof(path)))
		return;
	gt_show_line(stderr, "gputrace %s: the newest run, %s", args->spec->command->name, path);
	args->inputs = &input;
	args->input_count = 1;
}

static bool is_pipe(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISFIFO(st.st_mode);
}

/* A file may have been taken for the value of an option: "--gate a b". */
static int refuse_few(const struct gt_cmdline *args)
{
	const struct gt_cmdline_spec *spec = args->spec;
	char taken[256] = "";

	if (args->last_parted < args->given_count)
		snprintf(taken, sizeof(taken), " ('%.100s' is the value of --%s)",
			 args->given[args->last_parted].value,
			 spec->options[args->given[args->last_parted].option].name);
	return gt_cmdline_wrong(args, "too few arguments%s%s%s; usage: gputrace %s [OPTION...] %s",
				spec->takes_newest ? ", and no run in " GT_RUN_PARENT : "",
				spec->takes_stdin && is_pipe(STDIN_FILENO)
					? ", the standard input is read as -"
					: "",
				taken, spec->command->name, spec->command->arguments);
}

int gt_cmdline_parse(const struct gt_cmdline_spec *spec, int argc, char **argv,
		     struct gt_cmdline *ret_args)
{
	struct gt_cmdline *args = ret_args;
	bool options = true;
	int rc;

	*args = (struct gt_cmdline){
		.spec = spec, .inputs = argv, .first_side = SIZE_MAX, .last_parted = SIZE_MAX};
	for (int i = 0; i < argc; i++) {
		if (options && !strcmp(argv[i], "--")) {
			if (args->first_side != SIZE_MAX)
				return gt_cmdline_wrong(args, "\"--\" twice: there are two sides");
			options = spec->has_sides;
			args->first_side = spec->has_sides ? args->input_count : SIZE_MAX;
		} else if (options && argv[i][0] == '-' && argv[i][1]) {
			rc = argv[i][1] == '-' ? take_long(args, argc, argv, &i)
					       : take_letters(args, argc, argv, &i);
			if (rc)
				return rc;
		} else {
			args->inputs[args->input_count++] = argv[i];
		}
	}
	if (!args->input_count && spec->takes_newest)
		take_newest(args);
	if (args->input_count < spec->min_inputs)
		return refuse_few(args);
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

static void report(const char *title, const char *text, const struct gt_print *how)
{
	bool behind = how && how->format == GT_FORMAT_TABLE;
	FILE *out = behind ? stdout : stderr;

	if (!behind)
		gt_progress_hide();
	if (!*text)
		return;
	fprintf(out, "%s%s:\n", behind ? "\n" : "", title);
	gt_wrap_text(out, behind ? how->columns : 0, text);
}

void gt_cmdline_report_losses(const char *text, const struct gt_print *how)
{
	report("Not in the trace, or not whole", text, how);
}

void gt_cmdline_report_events(const char *text, const struct gt_print *how)
{
	report("Noted meanwhile", text, how);
}

static void report_each(void (*tell)(const char *text, const struct gt_print *how),
			size_t (*print)(const struct gt_job *job, FILE *out),
			const struct gt_job *const *jobs, size_t count, const struct gt_print *how)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	for (size_t i = 0; i < count; i++)
		print(jobs[i], memory);
	fclose(memory);
	tell(text, how);
	free(text);
}

void gt_cmdline_losses(const struct gt_job *const *jobs, size_t count, const struct gt_print *how)
{
	report_each(gt_cmdline_report_losses, gt_holes_of, jobs, count, how);
	report_each(gt_cmdline_report_events, gt_holes_events, jobs, count, how);
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

void gt_cmdline_report_filter(const struct gt_job *jobs, size_t count,
			      const struct gt_filter *filter)
{
	bool is_loaded = false;

	for (size_t j = 0; j < count; j++)
		for (size_t i = 0; i < jobs[j].count; i++) {
			if (!filter->terms.count || gt_filter_any(filter, &jobs[j].models[i]))
				return;
			is_loaded = true;
		}
	if (is_loaded)
		gt_cmdline_complain("--filter: nothing in the traces passes");
}

int gt_cmdline_answer(const struct gt_cmdline *args,
		      int (*print)(const struct gt_cmdline *args, const struct gt_job *job,
				   const struct gt_filter *filter))
{
	struct gt_filter filter = {0};
	struct gt_job job = {0};
	int rc = gt_cmdline_filter(args, &filter);

	if (!rc)
		rc = gt_cmdline_load(args, &job);
	if (job.count && print(args, &job, &filter))
		rc = GT_EXIT_FAILED;
	gt_cmdline_report_filter(&job, 1, &filter);
	gt_job_fini(&job);
	gt_filter_fini(&filter);
	return rc;
}

static enum gt_names_form form_of_names(const char *word)
{
	static const char *const forms[] = {
		[GT_NAMES_SHORT] = "short",
		[GT_NAMES_FULL] = "full",
		[GT_NAMES_MANGLED] = "mangled",
	};

	for (int form = GT_NAMES_SHORT; word && form <= GT_NAMES_MANGLED; form++)
		if (!strcmp(word, forms[form]))
			return (enum gt_names_form)form;
	return GT_NAMES_BY_FORMAT;
}

struct gt_print gt_cmdline_print(const struct gt_cmdline *args)
{
	static const char *const names[] = {"table", "csv", "json", "markdown"};
	const char *format = gt_cmdline_get(args, "format");
	struct gt_print how = {.format = GT_FORMAT_TABLE};

	for (int i = 0; format && i < 4; i++)
		if (!strcmp(format, names[i]))
			how.format = (enum gt_format)i;
	how.names = form_of_names(gt_cmdline_get(args, "names"));
	if (how.format != GT_FORMAT_TABLE)
		return how;
	/* mpirun reads from a terminal of its own, which is not the user's */
	if (isatty(STDOUT_FILENO) && !gt_cmdline_get(args, "mpi")) {
		const char *no_color = getenv("NO_COLOR");

		how.color = !(no_color && *no_color);
		how.columns = gt_terminal_columns();
	} else {
		how.columns = gt_terminal_columns_told();
	}
	how.columns = (size_t)gt_cmdline_number(args, "width", (long)how.columns);
	return how;
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
		return gt_help_print_man;
	return strcmp(argv[1], "--help=words") ? NULL : gt_help_print_words;
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
		gt_help_print(spec, stdout);
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
