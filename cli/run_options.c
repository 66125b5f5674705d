/* SPDX-License-Identifier: Apache-2.0
 *
 * See run_options.h.
 */
#include "cli/run_options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmdline.h"
#include "cli/nearest.h"
#include "cli/settings.h"
#include "cli/start_at.h"
#include "cli/words.h"
#include "core/config.h"
#include "core/overhead/governor.h"
#include "core/schema/cuda_api.h"
#include "core/window/capture_filter.h"
#include "core/window/capture_plan.h"
#include "core/window/flight_plan.h"
#include "core/window/glob.h"
#include "core/window/rank_list.h"

#define LINE_BYTES 4400

void gt_run_option_unknown(const char *dashes, const char *name, size_t length, char *ret_wrong,
			   size_t size)
{
	const char *names[GT_CONFIG_COUNT_];
	char word[64];
	const char *nearest;

	snprintf(word, sizeof(word), "%.*s", (int)length, name);
	for (int id = 0; id < GT_CONFIG_COUNT_; id++)
		names[id] = gt_options[id].name;
	nearest = gt_word_option_elsewhere(word);
	if (!nearest)
		nearest = gt_nearest(word, names, GT_CONFIG_COUNT_);
	if (!*word)
		snprintf(ret_wrong, size, "an option has no name; see gputrace run --help");
	else if (nearest)
		snprintf(ret_wrong, size, "there is no option %s%s; did you mean %s%s?", dashes,
			 word, dashes, nearest);
	else
		snprintf(ret_wrong, size, "there is no option %s%s; see gputrace run --help",
			 dashes, word);
}

/* The value of option @id in @option, whose name has @length bytes. NULL: it lacks one. */
static const char *value_of(const char *option, size_t length, int id)
{
	if (option[length])
		return option + length + 1;
	return gt_config_bare((enum gt_option_id)id);
}

/* The options that core/window/ reads. */
static bool fits_plan(enum gt_option_id id, const char *value, char *ret_wrong, size_t size)
{
	static const struct {
		enum gt_option_id option;
		const char *takes;
	} rows[] = {
		{GT_CONFIG_CAPTURE_RANGE,
		 "cudaProfilerApi, nvtx:NAME[@DOMAIN], python:FUNCTION or cudaGraphLaunch[:N]"},
		{GT_CONFIG_CAPTURE_RANGE_END,
		 "stop, none, repeat, repeat:N, stop-shutdown or repeat-shutdown:N"},
		{GT_CONFIG_SCHEDULE,
		 "SKIP_FIRST,WAIT,WARMUP,ACTIVE[,REPEAT] with ACTIVE from 1 on"},
	};
	struct gt_capture_plan plan;
	int wrong;

	gt_capture_plan_make(id == GT_CONFIG_CAPTURE_RANGE ? value : NULL,
			     id == GT_CONFIG_CAPTURE_RANGE_END ? value : NULL,
			     id == GT_CONFIG_SCHEDULE ? value : NULL, NULL, &plan, &wrong);
	if (wrong >= 0)
		snprintf(ret_wrong, size, "--%s=%s: it takes %s",
			 gt_options[rows[wrong].option].name, value, rows[wrong].takes);
	return wrong < 0;
}

static bool is_called(const char *pattern, size_t length)
{
	for (enum gt_api_domain domain = 0; domain < GT_API_DOMAIN_COUNT_; domain++)
		for (uint32_t cbid = 0; cbid < gt_cuda_api_end(domain); cbid++) {
			const struct gt_cuda_api *api = gt_cuda_api_find(domain, cbid);
			const char *name = api ? gt_cuda_api_name(api) : NULL;

			if (name && gt_glob_has(pattern, length, name, strlen(name)))
				return true;
		}
	return false;
}

/* A call that does not exist is a slip of the pen. */
static bool fits_calls(const char *list, char *ret_wrong, size_t size)
{
	const char *rest = list, *pattern;
	bool leaves_out;
	size_t length;

	while ((pattern = gt_capture_filter_next(&rest, &length, &leaves_out))) {
		if (is_called(pattern, length))
			continue;
		snprintf(ret_wrong, size, "--calls=%s: no CUDA call is called '%.*s'", list,
			 (int)length, pattern);
		return false;
	}
	return true;
}

/* --kernels and the other lists of core/window/capture_filter.h. */
static bool fits_filter(enum gt_option_id id, const char *value, char *ret_wrong, size_t size)
{
	struct gt_capture_filter filter = {0};

	for (int i = 0; i < GT_CAPTURE_LISTS_; i++) {
		if (strcmp(gt_options[id].name, gt_capture_lists[i]) != 0)
			continue;
		switch (gt_capture_filter_set(&filter, (enum gt_capture_list)i, value)) {
		case 0:
			return i != GT_CAPTURE_CALLS || fits_calls(value, ret_wrong, size);
		case -ENAMETOOLONG:
			snprintf(ret_wrong, size, "--%s: the list is longer than %d bytes",
				 gt_options[id].name, GT_CAPTURE_LIST - 1);
			return false;
		default:
			snprintf(ret_wrong, size,
				 "--%s=%s: it takes patterns between commas, as *gemm* or !*fill*",
				 gt_options[id].name, value);
			return false;
		}
	}
	return true;
}

static bool fits_overhead(enum gt_option_id id, const char *value, char *ret_wrong, size_t size)
{
	uint32_t max;

	if (id != GT_CONFIG_MAX_OVERHEAD || !gt_governor_parse(value, &max))
		return true;
	snprintf(ret_wrong, size,
		 "--max-overhead=%s: it takes a percentage from 0.1 to 100, as 2%%", value);
	return false;
}

static bool fits_ranks(enum gt_option_id id, const char *value, char *ret_wrong, size_t size)
{
	if (id != GT_CONFIG_RANKS || !gt_rank_list_check(value))
		return true;
	snprintf(ret_wrong, size, "--ranks=%s: it takes " GT_RANK_LIST_FORM, value);
	return false;
}

static bool fits_recorder(enum gt_option_id id, const char *value, char *ret_wrong, size_t size)
{
	struct gt_flight_plan plan;
	int rc = id == GT_CONFIG_FLIGHT_RECORDER ? gt_flight_plan_parse(value, &plan) : 0;

	if (rc)
		snprintf(ret_wrong, size,
			 "'%s' is no value for --flight-recorder: it takes TIME[,BYTES], as "
			 "30s,256M%s",
			 value, rc == -ERANGE ? " (10ms..1d, 1M..64G)" : "");
	return !rc;
}

char *gt_run_option_variable(const char *option, char *ret_wrong, size_t size)
{
	size_t length = strcspn(option, "=");
	int id = gt_config_find(option, length);
	struct gt_config config;
	const char *value;
	char source[64], moment[32], *variable;

	if (id < 0) {
		gt_run_option_unknown("--", option, length, ret_wrong, size);
		return NULL;
	}
	value = value_of(option, length, id);
	if (!value) {
		snprintf(ret_wrong, size, "--%s needs a value: --%s=%s", gt_options[id].name,
			 gt_options[id].name, gt_options[id].argument);
		return NULL;
	}
	gt_config_init(&config);
	if (gt_config_set(&config, (enum gt_option_id)id, value)) {
		snprintf(source, sizeof(source), "--%s", gt_options[id].name);
		gt_config_explain((enum gt_option_id)id, source, value, ret_wrong, size);
		return NULL;
	}
	if (!fits_plan((enum gt_option_id)id, value, ret_wrong, size) ||
	    !fits_filter((enum gt_option_id)id, value, ret_wrong, size) ||
	    !fits_overhead((enum gt_option_id)id, value, ret_wrong, size) ||
	    !fits_ranks((enum gt_option_id)id, value, ret_wrong, size) ||
	    !fits_recorder((enum gt_option_id)id, value, ret_wrong, size))
		return NULL;
	if (id == GT_CONFIG_START_AT &&
	    !gt_start_at(value, moment, sizeof(moment), ret_wrong, size))
		return NULL;
	if (id == GT_CONFIG_START_AT)
		value = moment;
	if (asprintf(&variable, "%s=%s", gt_options[id].env, value) >= 0)
		return variable;
	snprintf(ret_wrong, size, "out of memory");
	return NULL;
}

/* "~" or "~/..." behind --output=. */
static bool has_tilde(const char *option)
{
	static const char output[] = "output=~";
	size_t length = sizeof(output) - 1;

	return !strncmp(option, output, length) && (!option[length] || option[length] == '/');
}

/* Sets the variable of "name=value" or "name". @ret_wrong: the reason when it is wrong. */
static void set_option(const char *option, char *ret_wrong, size_t size)
{
	char *variable;

	if (has_tilde(option))
		snprintf(ret_wrong, size,
			 "--%.2000s: the shell leaves this ~ as it is; say "
			 "--output=\"$HOME%.2000s\"",
			 option, strchr(option, '~') + 1);
	else if ((variable = gt_run_option_variable(option, ret_wrong, size)))
		putenv(variable);
}

static int take_option(char **argv, char *ret_wrong, size_t size);

/* The first letter of "-qoDIR", which is option @name, then the others. */
static int take_switch(char **argv, const char *name, char *ret_wrong, size_t size)
{
	char *word = argv[0], dash = word[1];
	int words;

	set_option(name, ret_wrong, size);
	if (*ret_wrong)
		return 1;
	word[1] = '-'; /* for the rest of the word */
	argv[0]++;
	words = take_option(argv, ret_wrong, size);
	argv[0] = word;
	word[1] = dash;
	return words;
}

/* Takes an option ("--output=DIR", "--output DIR", "-o DIR", "-oDIR", "-q") and, where its value is
 * the next word, that one. Returns how many words; @ret_wrong: the reason when it is wrong, else
 * empty. */
static int take_option(char **argv, char *ret_wrong, size_t size)
{
	const char *word = argv[0], *next = gt_word_takes_next(word, argv[1]) ? argv[1] : NULL;
	const char *name = word + 2, *value = next;
	char *option;

	*ret_wrong = 0;
	if (word[1] != '-') {
		name = gt_word_of_letter(word[1]);
		if (name && word[2] && gt_word_is_switch(name))
			return take_switch(argv, name, ret_wrong, size);
		value = word[1] && word[2] ? word + 2 : next;
	}
	if (!name || (word[1] != '-' && gt_config_find(name, strlen(name)) < 0)) {
		snprintf(ret_wrong, size, "there is no option %s; see gputrace run --help", word);
		return 1;
	}
	if (asprintf(&option, "%s%s%s", name, value ? "=" : "", value ? value : "") < 0) {
		snprintf(ret_wrong, size, "out of memory");
		return 1;
	}
	set_option(option, ret_wrong, size);
	free(option);
	return next ? 2 : 1;
}

/* The variable of an option is there, and says more than the default. */
static bool is_given(enum gt_option_id id)
{
	const char *value = getenv(gt_options[id].env);

	return value && *value && strcmp(value, gt_options[id].initial) != 0;
}

/* Options that mean nothing without another one, or a second one. */
static const struct {
	enum gt_option_id option, needs, or ;
	const char *what;
} needs[] = {
	{GT_CONFIG_DUMP_SIGNAL, GT_CONFIG_FLIGHT_RECORDER, GT_CONFIG_FLIGHT_RECORDER,
	 "--flight-recorder=TIME[,BYTES]"},
	{GT_CONFIG_DUMP_AT_EXIT, GT_CONFIG_FLIGHT_RECORDER, GT_CONFIG_FLIGHT_RECORDER,
	 "--flight-recorder=TIME[,BYTES]"},
	{GT_CONFIG_WATCHDOG_IDLE, GT_CONFIG_WATCHDOG, GT_CONFIG_WATCHDOG, "--watchdog=TIME"},
	{GT_CONFIG_CAPTURE_RANGE_END, GT_CONFIG_CAPTURE_RANGE, GT_CONFIG_SCHEDULE,
	 "--capture-range=RANGE"},
};

/* --flight-recorder with those that choose by themselves what is written, and the table. */
static bool options_agree(char *ret_wrong, size_t size)
{
	static const enum gt_option_id others[] = {GT_CONFIG_CAPTURE_RANGE, GT_CONFIG_SCHEDULE,
						   GT_CONFIG_DURATION};
	bool has_recorder = is_given(GT_CONFIG_FLIGHT_RECORDER);

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		if (!is_given(needs[i].option) || is_given(needs[i].needs) || is_given(needs[i].or))
			continue;
		snprintf(ret_wrong, size, "--%s needs %s", gt_options[needs[i].option].name,
			 needs[i].what);
		return false;
	}
	for (size_t i = 0; has_recorder && i < sizeof(others) / sizeof(others[0]); i++) {
		if (!is_given(others[i]))
			continue;
		snprintf(ret_wrong, size,
			 "--flight-recorder and --%s do not go together: both choose what is "
			 "written",
			 gt_options[others[i]].name);
		return false;
	}
	return true;
}

static bool asks_for_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h");
}

/* Options, of the variables too, of which only one can be meant. NULL: none. */
static const char *find_conflict(void)
{
	struct gt_config config;

	gt_config_init(&config);
	gt_config_from_env(&config, environ, NULL);
	if (!gt_config_bool(&config, GT_CONFIG_WAIT))
		return NULL;
	if (!strcmp(gt_config_text(&config, GT_CONFIG_CONTROL), "off"))
		return "--wait with --control=off: nobody could start the recording";
	if (*gt_config_text(&config, GT_CONFIG_CAPTURE_RANGE) ||
	    *gt_config_text(&config, GT_CONFIG_SCHEDULE))
		return "--wait with --capture-range or --schedule: ranges begin the recording";
	return NULL;
}

int gt_run_options_take(int argc, char **argv)
{
	char wrong[LINE_BYTES];
	int i;

	for (i = 1; i < argc && *argv[i] == '-' && strcmp(argv[i], "--") != 0;) {
		if (asks_for_help(argv[i]))
			return 0;
		i += take_option(argv + i, wrong, sizeof(wrong));
		if (*wrong) {
			gt_cmdline_complain(wrong);
			return -GT_EXIT_USAGE;
		}
	}
	if (i < argc && !gt_settings_apply())
		return -GT_EXIT_USAGE;
	if (!options_agree(wrong, sizeof(wrong))) {
		gt_cmdline_complain(wrong);
		return -GT_EXIT_USAGE;
	}
	i += i < argc && !strcmp(argv[i], "--");
	if (find_conflict()) {
		gt_cmdline_complain(find_conflict());
		return -GT_EXIT_USAGE;
	}
	if (i < argc)
		return i;
	gt_cmdline_complain("run what? gputrace run [OPTION...] [--] CMD [ARGUMENT...]");
	return -GT_EXIT_USAGE;
}
