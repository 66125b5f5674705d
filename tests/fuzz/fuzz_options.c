/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary words, a zero behind each, as options: of the tracer (GPUTRACE_ before each word, in
 * the environment), of `gputrace run`, and of the command that the first byte says. A value that is
 * taken is one that the tables of options allow; one that is not is reported, and changes nothing.
 */
#define gt_cmdline_main gt_cmdline_main_of_commands /* what is wanted of a command is its table */
#include "cli/cmdline.c"
#undef gt_cmdline_main

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>

#include "cli/run_options.h"
#include "core/config.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 80
#define PREFIX    "GPUTRACE_"

int gt_cmdline_main(const struct gt_cmdline_spec *spec, int argc, char **argv);

static const struct gt_command *const commands[] = {
	&gt_command_bench,  &gt_command_compress, &gt_command_convert, &gt_command_diff,
	&gt_command_export, &gt_command_gaps,     &gt_command_merge,   &gt_command_open,
	&gt_command_repair, &gt_command_report,   &gt_command_stacks,  &gt_command_stats,
	&gt_command_verify, &gt_command_symbolize};

static const char *const other_variables[] = {
#define GT_VARIABLE(name, help) PREFIX name,
#include "core/variables.def"
#undef GT_VARIABLE
};

static const struct gt_cmdline_spec *asked; /* table of the command that was run last */
static size_t complaints;

static void need(bool truth)
{
	if (!truth)
		abort();
}

int gt_cmdline_main(const struct gt_cmdline_spec *spec, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	asked = spec;
	return 0;
}

/* What is printed meanwhile. */
struct printed {
	FILE *stream, *kept;
	char *text;
	size_t size;
};

static void print_into(struct printed *printed, FILE **stream)
{
	printed->kept = *stream;
	printed->stream = open_memstream(&printed->text, &printed->size);
	need(printed->stream != NULL);
	*stream = printed->stream;
}

static void print_out(struct printed *printed, FILE **stream)
{
	fclose(printed->stream);
	*stream = printed->kept;
}

/* ---- the tracer's ---- */

/* A number with its unit, in the plain way. False: none, or too large for this. */
static bool plain_number(const char *text, bool has_unit, uint64_t *ret_value)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] ? strchr(units, text[digits] & ~0x20) : NULL;

	if (!digits || digits > 18)
		return false;
	*ret_value = strtoull(text, NULL, 10);
	if (!text[digits])
		return true;
	if (!has_unit || !unit ||
	    (text[digits + 1] && strcmp(text + digits + 1, "B") && strcmp(text + digits + 1, "iB")))
		return false;
	for (long i = unit - units; i >= 0; i--)
		*ret_value *= *ret_value < UINT64_MAX / 1024 ? 1024 : 0;
	return true;
}

static void check_range(const struct gt_option *option, const char *text, int64_t number)
{
	bool has_unit = option->type == GT_OPTION_SIZE;
	const char *dots = strstr(option->values, "..");
	char low_text[32];
	uint64_t low, high, value;

	need(dots && (size_t)(dots - option->values) < sizeof(low_text));
	memcpy(low_text, option->values, (size_t)(dots - option->values));
	low_text[dots - option->values] = 0;
	need(plain_number(low_text, true, &low) && plain_number(dots + 2, true, &high));
	need(number >= 0 && (uint64_t)number >= low && (uint64_t)number <= high);
	if (plain_number(text, has_unit, &value))
		need(value == (uint64_t)number);
}

static void check_choice(const struct gt_option *option, const char *text, int64_t number)
{
	char values[256], *rest = values, *value = NULL;

	need(strlen(option->values) < sizeof(values) && number >= 0);
	strcpy(values, option->values);
	for (int64_t i = 0; i <= number; i++)
		value = strsep(&rest, "|");
	need(value && !strcmp(value, text));
}

static void check_config(const struct gt_config *config)
{
	for (int id = 0; id < GT_CONFIG_COUNT_; id++) {
		const struct gt_option *option = &gt_options[id];
		const char *text = config->value[id].text;
		int64_t number = config->value[id].number;

		need(text != NULL);
		if (option->type == GT_OPTION_INT || option->type == GT_OPTION_SIZE)
			check_range(option, text, number);
		else if (option->type == GT_OPTION_TIME)
			need(number >= 0 && number <= 30 * 86400 * INT64_C(1000000000));
		else if (option->type == GT_OPTION_ENUM)
			check_choice(option, text, number);
		else
			need(number == 0 || number == 1);
	}
}

static void complain(const char *line)
{
	need(*line && strlen(line) < 256 && !strpbrk(line, "\n\r\033"));
	complaints++;
}

static int id_of(const char *variable)
{
	size_t length = strcspn(variable, "=");

	for (int id = 0; variable[length] && id < GT_CONFIG_COUNT_; id++)
		if (strlen(gt_options[id].env) == length &&
		    !strncmp(gt_options[id].env, variable, length))
			return id;
	return -1;
}

/* Is this a variable that has to be complained of? */
static bool is_wrong(const char *variable)
{
	int id = id_of(variable);
	struct gt_config config;

	gt_config_init(&config);
	if (id >= 0)
		return gt_config_set(&config, (enum gt_option_id)id, strchr(variable, '=') + 1);
	for (size_t i = 0; i < sizeof(other_variables) / sizeof(other_variables[0]); i++)
		if (strlen(other_variables[i]) == strcspn(variable, "=") &&
		    !strncmp(other_variables[i], variable, strlen(other_variables[i])))
			return false;
	return true;
}

/* What a session notes of its options gives the same ones again. */
static void check_description(const struct gt_config *config)
{
	char text[512], *rest = text, *word;
	struct gt_config again;
	size_t n = gt_config_describe(config, text, sizeof(text));

	need(n < sizeof(text) && strlen(text) == n);
	gt_config_init(&again);
	for (int id = 0; id < GT_CONFIG_COUNT_; id++)
		if (strpbrk(config->value[id].text, " "))
			return;
	while (n < sizeof(text) - 1 && (word = strsep(&rest, " "))) {
		int id = gt_config_find(word, strcspn(word, "="));

		if (!*word)
			continue;
		need(id >= 0 && word[strcspn(word, "=")]);
		need(!gt_config_set(&again, (enum gt_option_id)id, strchr(word, '=') + 1));
		need(again.value[id].number == config->value[id].number);
	}
}

static void try_environment(char **words, size_t count)
{
	char *environ_of[WORDS_MAX + 1] = {NULL};
	struct gt_config config;
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		need(asprintf(&environ_of[i], PREFIX "%s", words[i]) >= 0);
		wrong += is_wrong(environ_of[i]);
	}
	complaints = 0;
	gt_config_init(&config);
	gt_config_from_env(&config, environ_of, complain);
	need(complaints == wrong);
	check_config(&config);
	check_description(&config);
	for (size_t i = 0; i < count; i++)
		free(environ_of[i]);
}

/* ---- those of gputrace run ---- */

static void try_run_option(char *word)
{
	char wrong[8192] = "", *variable = gt_run_option_variable(word, wrong, sizeof(wrong)),
	     *one[] = {variable, NULL};
	struct gt_config config;

	need((variable != NULL) == (*wrong == 0));
	if (!variable)
		return;
	need(id_of(variable) >= 0 && !is_wrong(variable)); /* the tracer takes it, too */
	gt_config_init(&config);
	gt_config_from_env(&config, one, complain);
	check_config(&config);
	free(variable);
}

/* ---- those of a command ---- */

static bool is_one_of(const char *values, const char *value)
{
	char among[256], one[256];

	need(strlen(values) + 2 < sizeof(among) && !strpbrk(value, "|"));
	snprintf(among, sizeof(among), "|%s|", values);
	snprintf(one, sizeof(one), "|%s|", value);
	return strstr(among, one) != NULL;
}

static void check_given(const struct gt_cmdline_option *option, const char *value)
{
	char *end;
	long number, low, high;

	need(value && (option->argument || !*value));
	if (!option->values)
		return;
	if (!strcmp(option->values, GT_CMDLINE_TIME)) {
		need(isdigit((unsigned char)*value) || *value == '.');
	} else if (strstr(option->values, "..")) {
		errno = 0;
		number = strtol(value, &end, 10);
		low = strtol(option->values, NULL, 10);
		high = strtol(strstr(option->values, "..") + 2, NULL, 10);
		need(!errno && end != value && !*end && number >= low && number <= high);
	} else {
		need(is_one_of(option->values, value));
	}
}

static void check_filter(const struct gt_cmdline *args)
{
	struct gt_filter filter = {0};

	gt_cmdline_filter(args, &filter);
	for (size_t i = 0; i < filter.terms.count; i++) {
		const struct gt_filter_term *term = &filter.terms.at[i];

		need(!term->glob || *term->glob);
		/* INT64_MIN: a number that did not fit */
		if (term->kind == GT_FILTER_TIME)
			need(term->from != INT64_MIN && term->to != INT64_MIN);
	}
	gt_filter_fini(&filter);
}

static void try_command(const struct gt_command *command, char **words, size_t count)
{
	char *argv[WORDS_MAX + 1] = {NULL};
	struct printed err = {.size = 0};
	struct gt_cmdline_spec spec;
	struct gt_cmdline args;
	int rc;

	memcpy(argv, words, count * sizeof(*words));
	asked = NULL;
	command->run(0, argv);
	need(asked != NULL);
	spec = *asked;
	spec.takes_newest = false; /* a run that lies in the working folder is no word of these */
	print_into(&err, &stderr);
	rc = gt_cmdline_parse(&spec, (int)count, argv, &args);
	need(rc == GT_EXIT_OK ? !fflush(stderr) && err.size == 0 : rc == GT_EXIT_USAGE);
	if (rc == GT_EXIT_OK) {
		need(args.input_count >= spec.min_inputs && args.input_count <= spec.max_inputs);
		need(args.input_count + args.given_count <= count);
		for (size_t i = 0; i < args.given_count; i++)
			check_given(&spec.options[args.given[i].option], args.given[i].value);
		check_filter(&args);
	}
	print_out(&err, &stderr);
	need(rc == GT_EXIT_OK || err.size > 0);
	free(err.text);
}

/* Words of @text, each ended by a zero. */
static size_t split(char *text, size_t size, char **ret_words)
{
	size_t count = 0;

	for (size_t at = 0; at < size && count < WORDS_MAX; at += strlen(text + at) + 1)
		ret_words[count++] = text + at;
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *words[WORDS_MAX], *text;
	size_t count;

	if (!size || !(text = malloc(size)))
		return 0;
	memcpy(text, data + 1, size - 1); /* of its own, so that a read behind its end is seen */
	text[size - 1] = 0;
	count = split(text, size, words);
	try_environment(words, count);
	for (size_t i = 0; i < count; i++)
		try_run_option(words[i]);
	try_command(commands[data[0] % (sizeof(commands) / sizeof(commands[0]))], words, count);
	free(text);
	return 0;
}
