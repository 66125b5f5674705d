/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/hang/hang.h"

#include <string.h>

#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/intern.h"
#include "core/json/json.h"
#include "core/thread.h"
#include "core/window/attached.h"
#include "pipeline/hang/report.h"
#include "pipeline/join/join.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/calls.h"
#include "pipeline/sources/stacks.h"
#include "writers/sink.h"

#define PATH_BYTES   1024
#define REPORT_BYTES (64u << 10)

static bool is_outside(const struct gt_metadata *metadata)
{
	return metadata->window_begin == UINT64_MAX || metadata->window_end;
}

/* A flush is nothing to speak of before: on a GPU the longest of many took 8 ms. */
#define FLUSH_SLOW_NS 100000000u

static uint64_t slow_flush(uint64_t busy_ns)
{
	return busy_ns < FLUSH_SLOW_NS ? 0 : busy_ns;
}

struct gt_hang_report *gt_hang_collect(struct gt_hang *hang, uint64_t now, bool is_asked)
{
	static struct gt_hang_report report;
	const struct gt_watchdog *watchdog = &hang->watchdog;

	memset(&report, 0, sizeof(report));
	report.hang = hang;
	report.now = now;
	report.trace_now = gt_clock_from_monotonic(hang->calls->clock, now);
	report.idle = watchdog->since && now > watchdog->since ? now - watchdog->since : 0;
	report.is_asked = is_asked;
	report.flushing = slow_flush(hang->flushing(now));
	report.has_cupti = *hang->calls->join->has_cupti;
	report.is_outside = is_outside(hang->output->metadata);
	report.began_late = gt_attached_is_on() || gt_threads_sum(GT_THREAD_CALLS_PASSED);
	gt_call_stacks_refresh(hang->calls->stacks);
	gt_hang_find_streams(&report);
	gt_hang_find_collectives(&report);
	gt_hang_find_threads(&report);
	gt_hang_judge(&report);
	return &report;
}

/* The threads that matter most come first. */
void gt_hang_print(struct gt_hang *hang, uint64_t now, const struct gt_hang_form *form,
		   struct gt_json *out)
{
	struct gt_hang_report *report = gt_hang_collect(hang, now, true);

	for (;;) {
		if (form->as_json)
			gt_hang_print_json(report, out);
		else
			gt_hang_print_text(report, out);
		if (form->summary)
			gt_hang_print_summary(report, out);
		if (out->length <= form->most || !report->thread_count)
			return;
		report->thread_count--;
		report->threads_more++;
		gt_json_cut(out, 0);
	}
}

/* Beside the trace, under its name; a trace in a pipe has none. Where none is open, as outside of a
 * window and with --flight-recorder, under the name of the process. False: there is no place. */
static bool name_file(const struct gt_hang *hang, char *ret_folder, char *ret_name)
{
	const struct gt_sink *sink = hang->output->sink;
	const char *path = sink ? gt_sink_path(sink) : "";
	const char *slash = strrchr(path, '/');
	const char *end = slash ? strstr(slash, ".pt.trace.json") : NULL;

	if (!sink)
		return gt_output_beside(hang->output, ret_folder, ret_name, PATH_BYTES);
	if (!slash || !gt_sink_can_patch(sink))
		return false;
	if (!end && slash)
		end = strstr(slash, ".pftrace");
	if (!end || end < slash)
		end = path + strlen(path);
	if ((size_t)(end - path) + 1 >= PATH_BYTES)
		return false;
	gt_text_format(ret_folder, PATH_BYTES, "%s", path);
	ret_folder[slash - path] = 0;
	gt_text_format(ret_name, PATH_BYTES, "%s", slash + 1);
	ret_name[end - slash - 1] = 0;
	return true;
}

/* Its path, or "": it could not be written. */
static void write_file(const struct gt_hang *hang, const char *suffix, const struct gt_json *text,
		       char *ret_path)
{
	char folder[PATH_BYTES], name[PATH_BYTES];
	struct gt_sink_options options = {.directory = folder, .name = name, .suffix = suffix};
	struct gt_sink *sink;
	size_t length;
	int error;

	*ret_path = 0;
	if (text->failed || !name_file(hang, folder, name))
		return;
	length = strlen(name);
	gt_text_format(name + length, sizeof(name) - length, ".hang%u", hang->reports + 1);
	sink = gt_sink_open(&options, &error);
	if (!sink)
		return;
	if (!gt_sink_write(sink, 0, text->text, text->length)) {
		gt_text_format(ret_path, PATH_BYTES, "%s", gt_sink_path(sink));
		gt_sink_close(sink);
	} else {
		gt_sink_discard(sink);
	}
}

/* For people, whose path is returned, and for programs. */
static void write_files(struct gt_hang *hang, const struct gt_hang_report *report, char *ret_path)
{
	char path[PATH_BYTES];
	struct gt_json text;

	*ret_path = 0;
	if (gt_json_init(&text, REPORT_BYTES))
		return;
	gt_hang_print_json(report, &text);
	write_file(hang, ".jsonl", &text, path);
	gt_json_cut(&text, 0);
	gt_hang_print_text(report, &text);
	write_file(hang, ".txt", &text, ret_path);
	hang->reports += *path || *ret_path;
	gt_json_fini(&text);
}

static void write_note(struct gt_hang *hang, const struct gt_hang_report *report)
{
	const struct gt_hang_thread *guilty = report->guilty;
	struct gt_event event = {.kind = GT_EVENT_NOTE};

	event.start = event.end = report->trace_now;
	if (guilty) {
		event.tid = guilty->tid;
		event.stack = guilty->stack ? guilty->stack : guilty->call_stack;
	}
	event.note = (struct gt_note_event){
		.name = "stall",
		.what = gt_intern_cstr(hang->calls->strings, report->text)->text,
		.cause = gt_hang_verdict_name(report->verdict),
		.of_what = "ms without progress",
		.count = report->idle / 1000000u,
	};
	gt_outlet_event(hang->calls->join->outlet, &event);
}

static void report_stall(struct gt_hang *hang, uint64_t now)
{
	struct gt_hang_report *report;
	char path[PATH_BYTES], idle[32];

	if (!is_outside(hang->output->metadata))
		gt_outlet_open(hang->calls->join->outlet); /* the first launch may hang */
	report = gt_hang_collect(hang, now, false);
	if (!report->is_outside)
		write_note(hang, report);
	write_files(hang, report, path);
	gt_hang_age_text(report->idle, idle, sizeof(idle));
	gt_log_say("no progress for %s%s%s%s: %s", idle, *path ? " (see " : "", path,
		   *path ? ")" : "", report->text);
}

static void report_end(struct gt_hang *hang, uint64_t stalled_ns)
{
	if (is_outside(hang->output->metadata))
		return;
	gt_outlet_note(hang->calls->join->outlet,
		       &(struct gt_note_event){.name = "stall ended",
					       .what = "there is progress again",
					       .cause = "progress",
					       .of_what = "ms without progress",
					       .count = stalled_ns / 1000000u});
}

bool gt_hang_watch(struct gt_hang *hang, uint64_t now)
{
	uint64_t since = hang->watchdog.since;
	enum gt_watchdog_state state =
		gt_watchdog_look(&hang->watchdog, hang->config, hang->calls->join, now);

	if (state == GT_WATCHDOG_STALLS)
		report_stall(hang, now);
	else if (state == GT_WATCHDOG_MOVES_AGAIN)
		report_end(hang, now - since);
	return state == GT_WATCHDOG_STALLS;
}

void gt_hang_end(struct gt_hang *hang, uint64_t now)
{
	if (hang->watchdog.told) /* then it cannot begin */
		gt_hang_watch(hang, now);
}
