/* SPDX-License-Identifier: Apache-2.0
 *
 * set OPTION=VALUE: what may change in a running process (pipeline/settings.def).
 */
#include <errno.h>
#include <string.h>

#include "collectors/call/call.h"
#include "collectors/sampler/sampler.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "pipeline/pipeline.h"
#include "pipeline/turn.h"
#include "pipeline/verbs.h"

/* Puts a value of p->config into force. 0, or a negative errno and a line in @reply: then the old
 * value comes back. */
typedef int (*change_fn)(struct gt_pipeline *p, struct gt_reply *reply);

static int change_flush_period(struct gt_pipeline *p, struct gt_reply *reply)
{
	(void)reply;
	p->next_flush = 0;
	return 0;
}

static int change_duration(struct gt_pipeline *p, struct gt_reply *reply)
{
	if (p->outlet.recorder) {
		gt_reply_say(reply, "its --flight-recorder has no window that could end");
		return -EPERM;
	}
	p->window.length = (uint64_t)gt_config_number(&p->config, GT_CONFIG_DURATION);
	return 0;
}

/* No call takes so long as without stacks it would have to for one. */
static int change_stacks(struct gt_pipeline *p, struct gt_reply *reply)
{
	bool off = !strcmp(gt_config_text(&p->config, GT_CONFIG_STACKS), "off");

	if (!p->stacks.captured_frames) {
		gt_reply_say(reply, "the process was started with --stacks=off: nothing is "
				    "prepared for stacks");
		return -EPERM;
	}
	if (off)
		gt_call_set_stack_threshold(UINT64_MAX, UINT64_MAX);
	else
		gt_call_stacks_set_threshold(&p->config);
	return 0;
}

static int change_sampling(struct gt_pipeline *p, struct gt_reply *reply)
{
	int64_t hz = gt_config_number(&p->config, GT_CONFIG_SAMPLE_CPU);

	if (!p->samples.has_sampler) {
		gt_reply_say(reply, "the process was started without --sample-cpu: there is no "
				    "thread for it");
		return -EPERM;
	}
	if (!hz) {
		gt_reply_say(reply, "sampling cannot be switched off: 1 a second is the least");
		return -ERANGE;
	}
	gt_sampler_set_rate((uint32_t)hz);
	return 0;
}

static int change_voice(struct gt_pipeline *p, struct gt_reply *reply)
{
	(void)reply;
	gt_log_set_level(gt_config_bool(&p->config, GT_CONFIG_VERBOSE) ? GT_LOG_VERBOSE
								       : GT_LOG_NORMAL);
	return 0;
}

static int change_max_overhead(struct gt_pipeline *p, struct gt_reply *reply)
{
	uint32_t max;

	if (gt_governor_parse(gt_config_text(&p->config, GT_CONFIG_MAX_OVERHEAD), &max)) {
		gt_reply_say(reply, "max-overhead takes a percentage from 0.1 to 100, or nothing: "
				    "no maximum");
		return -EINVAL;
	}
	gt_cost_set_max(&p->cost, max);
	return 0;
}

/* Those that are applied by the drain thread. A trace says what it was filtered by. */
static const enum gt_capture_list changeable[] = {GT_CAPTURE_KERNELS, GT_CAPTURE_RANGES,
						  GT_CAPTURE_STREAMS, GT_CAPTURE_DEVICES};

static int change_filter(struct gt_pipeline *p, struct gt_reply *reply)
{
	struct gt_capture_filter next = p->filters.asked;

	if (p->outlet.recorder) {
		gt_reply_say(reply, "its --flight-recorder has filtered what it keeps already");
		return -EPERM;
	}
	for (size_t i = 0; i < sizeof(changeable) / sizeof(changeable[0]); i++) {
		const char *name = gt_capture_lists[changeable[i]];
		enum gt_option_id id = (enum gt_option_id)gt_config_find(name, strlen(name));

		if (gt_capture_filter_set(&next, changeable[i], gt_config_text(&p->config, id))) {
			gt_reply_say(reply, "%s takes patterns between commas, %d bytes at most",
				     name, GT_CAPTURE_LIST - 1);
			return -EINVAL;
		}
	}
	p->filters.next = next;
	p->filters.is_changed = true;
	return 0;
}

static const struct setting {
	enum gt_option_id option;
	change_fn change;  /* NULL: it is read then */
	bool is_next;      /* from the next trace on */
	const char *fixed; /* NULL: it may change */
} settings[] = {
#define GT_SETTING(option, function) {GT_CONFIG_##option, function, false, NULL},
#define GT_NEXT(option, function)    {GT_CONFIG_##option, function, true, NULL},
#define GT_FIXED(option, why)        {GT_CONFIG_##option, NULL, false, why},
#include "pipeline/settings.def"
#undef GT_SETTING
#undef GT_NEXT
#undef GT_FIXED
};

/* Which ones may change. */
static void say_settings(struct gt_reply *reply)
{
	const char *before = "; gputrace set changes ";

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (settings[i].fixed)
			continue;
		gt_reply_say(reply, "%s%s", before, gt_options[settings[i].option].name);
		before = ", ";
	}
}

/* NULL, and the reason in @reply: it cannot change. */
static const struct setting *find_setting(enum gt_option_id option, struct gt_reply *reply)
{
	const char *why = "it is read when the process starts";

	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		if (settings[i].option != option)
			continue;
		if (!settings[i].fixed)
			return &settings[i];
		why = settings[i].fixed;
	}
	gt_reply_say(reply, "--%s cannot change in a running process: %s", gt_options[option].name,
		     why);
	say_settings(reply);
	return NULL;
}

/* Which form stacks have is of a trace, whether there are any is of a moment. */
static bool comes_later(const struct gt_pipeline *p, const struct setting *setting,
			const char *before)
{
	if (setting->option != GT_CONFIG_STACKS)
		return setting->is_next;
	return strcmp(before, "off") != 0 &&
	       strcmp(gt_config_text(&p->config, GT_CONFIG_STACKS), "off") != 0;
}

/* The header and, where one is being written, the trace itself have it; the header of a trace that
 * is open has what the next one will get in that. */
static void record_change(struct gt_pipeline *p, const struct setting *setting, bool is_next,
			  const char *text)
{
	bool is_later = is_next && !gt_window_waits(&p->window) && !p->outlet.recorder;

	if (!is_later)
		p->shown.value[setting->option] = p->config.value[setting->option];
	gt_config_describe(&p->shown, p->metadata.options, sizeof(p->metadata.options));
	p->metadata.generation++;
	if (gt_output_is_open(&p->output) || p->outlet.recorder)
		gt_outlet_note(&p->outlet, &(struct gt_note_event){.name = "option changed",
								   .what = text,
								   .cause = "gputrace set"});
}

static int set(struct gt_pipeline *p, const struct setting *setting, const char *value,
	       struct gt_reply *reply)
{
	const char *before = gt_config_text(&p->config, setting->option);
	char line[256];
	int error;

	if (gt_config_set(&p->config, setting->option, value)) {
		gt_config_explain(setting->option, gt_options[setting->option].name, value, line,
				  sizeof(line));
		gt_reply_say(reply, "%s", line);
		return -EINVAL;
	}
	error = setting->change ? setting->change(p, reply) : 0;
	if (error)
		gt_config_set(&p->config, setting->option, before);
	return error;
}

int gt_verb_set(struct gt_pipeline *p, const struct gt_verb_call *call)
{
	size_t length = strcspn(call->argument, "=");
	int id = gt_config_find(call->argument, length), error;
	const struct setting *setting;
	const struct gt_string *kept;
	const char *text, *before;
	bool is_next;

	if (id < 0 || !call->argument[length]) {
		gt_reply_say(call->reply, "it takes OPTION=VALUE with an option of gputrace run");
		return -EINVAL;
	}
	setting = find_setting((enum gt_option_id)id, call->reply);
	if (!setting)
		return -EPERM;
	kept = gt_intern_cstr(p->stores.strings, call->argument); /* for the config */
	if (strcmp(kept->text, call->argument) != 0) {
		gt_reply_say(call->reply, "it has no memory for the value");
		return -ENOMEM;
	}
	text = kept->text;
	if (!p->has_shown)
		p->shown = p->config;
	p->has_shown = true;
	before = gt_config_text(&p->config, setting->option);
	error = set(p, setting, text + length + 1, call->reply);
	if (error)
		return error;
	is_next = comes_later(p, setting, before);
	record_change(p, setting, is_next, text);
	gt_reply_say(call->reply, "%s%s", text, is_next ? " from the next trace on" : "");
	return 0;
}
