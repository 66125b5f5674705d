/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/dump.h"

#include <stdatomic.h>
#include <string.h>

#include "core/guest/log.h"
#include "core/guest/memory.h"
#include "core/guest/text.h"
#include "core/spool.h"
#include "pipeline/dump_signal.h"
#include "pipeline/flusher.h"
#include "pipeline/pipeline.h"
#include "pipeline/recorder/flows.h"
#include "pipeline/turn.h"
#include "writers/file.h"

#define MS_NS    1000000u

/* CUPTI has it, to give what it holds for a dump. */
#define FLUSH_NS (500ull * MS_NS)

static struct {
	const char *_Atomic newest; /* reason of the newest request; NULL: there is none */
	void (*_Atomic wake)(void);
	const char *reason; /* of the one that waits for CUPTI */
	uint64_t at;        /* CLOCK_MONOTONIC ns */
	uint64_t flushes;   /* once this many have ended, it has given what was complete then */
	uint32_t tries;     /* dumps so far, with those that could not be written */
	char last[1024];    /* path of the last dump */
	bool is_on;         /* there is a recorder */
} asked;

/* What of the recorder goes into the file. */
struct dump {
	struct gt_pipeline *pipeline;
	struct gt_recorder_flows flows;
	const char *reason;
	uint64_t from, to; /* trace ns */
};

/* What chooses by itself what is written. */
static const enum gt_option_id others[] = {GT_CONFIG_CAPTURE_RANGE, GT_CONFIG_SCHEDULE,
					   GT_CONFIG_DURATION};

void gt_dump_plan(struct gt_pipeline *p)
{
	const struct gt_config *config = &p->config;
	const char *text = gt_config_text(config, GT_CONFIG_FLIGHT_RECORDER);

	if (gt_flight_plan_parse(text, &p->recorder.plan))
		gt_log_say("'%s' is no value for GPUTRACE_FLIGHT_RECORDER: it takes TIME[,BYTES], "
			   "as 30s,256M; there is no recorder",
			   text);
	for (size_t i = 0; p->recorder.plan.keep_ns && i < sizeof(others) / sizeof(others[0]);
	     i++) {
		if (config->value[others[i]].is_default)
			continue;
		gt_log_say("GPUTRACE_FLIGHT_RECORDER does nothing with %s, which chooses what is "
			   "written",
			   gt_options[others[i]].env);
		p->recorder.plan = (struct gt_flight_plan){0};
	}
}

/* Half of it, for others need some: rings, buffers, names. */
static void limit(struct gt_flight_plan *plan, uint64_t room, const char *where)
{
	if (!plan->keep_ns || plan->bytes <= room / 2)
		return;
	gt_log_say("--flight-recorder has %lu MiB, half of what %s allows",
		   (unsigned long)(room >> 21), where);
	plan->bytes = room / 2;
}

void gt_dump_fit(struct gt_pipeline *p)
{
	struct gt_flight_plan *plan = &p->recorder.plan;

	limit(plan, (uint64_t)gt_config_number(&p->config, GT_CONFIG_MAX_RSS),
	      gt_memory_limit_cause());
	if (p->spooling.spooled)
		limit(plan, gt_spool_room(), "the memory for the spool");
}

void gt_dump_serve(const struct gt_pipeline *p, void (*wake)(void))
{
	asked.reason = NULL;
	atomic_store(&asked.newest, NULL);
	asked.is_on = p->outlet.recorder != NULL;
	atomic_store(&asked.wake, wake);
	if (asked.is_on)
		gt_dump_signal_start(&p->config, gt_dump_ask);
	else
		gt_dump_signal_disarm();
}

void gt_dump_ask(const char *reason)
{
	void (*wake)(void) = atomic_load(&asked.wake);

	if (!asked.is_on)
		return;
	atomic_store(&asked.newest, reason);
	if (wake)
		wake();
}

bool gt_dump_is_due(struct gt_pipeline *p, uint64_t now)
{
	const char *newest = atomic_exchange(&asked.newest, NULL);

	if (newest && !asked.reason) {
		asked.reason = newest;
		asked.at = now;
		asked.flushes = gt_turn_flush_soon(p, gt_flusher_is_busy());
	}
	return asked.reason && (gt_turn_flushes(p) >= asked.flushes || now >= asked.at + FLUSH_NS);
}

static void write_kept(void *context, const struct gt_event *event)
{
	struct dump *dump = context;
	struct gt_event mine = *event;

	gt_recorder_flows_see(&dump->flows, &mine);
	gt_outlet_write(&dump->pipeline->outlet, &mine);
}

/* Trace ns since the start of the session, in ms. */
static unsigned long ms_of(const struct gt_pipeline *p, uint64_t time)
{
	return time > p->metadata.start ? (time - p->metadata.start) / MS_NS : 0;
}

static void plan(struct dump *dump)
{
	struct gt_pipeline *p = dump->pipeline;
	const struct gt_recorder *recorder = &p->recorder;
	uint64_t whole;

	dump->to = gt_clock_from_monotonic(&p->clock, gt_clock_now());
	dump->from = dump->to > recorder->plan.keep_ns ? dump->to - recorder->plan.keep_ns : 0;
	whole = gt_recorder_whole_from(recorder->store, dump->to);
	p->output.dump = gt_recorder_dumps(recorder->store) + 1;
	p->output.dump_time = dump->to;
	p->output.segments.newest_call = 0; /* which calls it has is known exactly */
	gt_text_format(p->metadata.window, sizeof(p->metadata.window),
		       "from %lu ms to %lu ms, dump %u (%s)",
		       ms_of(p, gt_window_from(&p->metadata, whole, dump->to)), ms_of(p, dump->to),
		       p->output.dump, dump->reason);
	p->metadata.generation++;
}

static void note(const struct dump *dump)
{
	gt_outlet_note(&dump->pipeline->outlet,
		       &(struct gt_note_event){
			       .name = "dump", .what = dump->reason, .cause = "--flight-recorder"});
}

/* @goes_on: the program, whose records are read between blocks. False: there is no file, and what
 * is kept stays for another dump. */
static bool write_blocks(struct dump *dump, bool goes_on)
{
	struct gt_pipeline *p = dump->pipeline;
	uint64_t seal = gt_recorder_seal(&p->recorder);

	if (gt_output_open(&p->output))
		return false;
	while (gt_recorder_read(&p->recorder, seal, dump->from, write_kept, dump))
		if (goes_on)
			gt_turn_round(p);
	gt_recorder_flows_fini(&dump->flows);
	return true;
}

static uint64_t written(const struct gt_pipeline *p)
{
	const struct gt_file *file = gt_output_file(&p->output);

	return file ? file->written.events : 0;
}

/* It should have more: its disk is full, or has failed. */
static bool lacks(const struct gt_pipeline *p)
{
	const struct gt_file *file = gt_output_file(&p->output);

	return file && gt_losses_sum(&file->lost);
}

static void say(const struct dump *dump, bool is_empty)
{
	const struct gt_pipeline *p = dump->pipeline;

	if (!*gt_output_name())
		return; /* why is said */
	gt_log_say("dump %u (%s): %s%s", p->output.dump, dump->reason, gt_output_name(),
		   is_empty ? ": nothing was recorded in that time" : "");
}

void gt_dump_make_for(struct gt_pipeline *p, const char *reason)
{
	struct dump dump = {.pipeline = p, .reason = reason};
	struct gt_ledger ledger;
	bool is_empty, has_file;

	if (!p->outlet.recorder)
		return;
	gt_turn_all(p);
	gt_turn_cut(p);
	is_empty = gt_recorder_is_empty(&p->recorder);
	note(&dump);
	plan(&dump);
	has_file = write_blocks(&dump, true);
	gt_outlet_flush(&p->outlet, true);
	is_empty |= written(p) <= 1 && !lacks(p); /* the note alone */
	ledger = p->ledger;
	gt_collectors_count(&p->collectors, &ledger);
	say(&dump, is_empty);
	gt_text_format(asked.last, sizeof(asked.last), "%s", gt_output_name());
	if (has_file)
		gt_recorder_closing(&p->recorder, dump.to);
	if (gt_output_end_dump(&p->output, &ledger)) {
		gt_recorder_done(&p->recorder, dump.to);
	} else {
		gt_recorder_not_done(&p->recorder);
		*asked.last = 0;
	}
	asked.tries++;
	gt_output_set_name(""); /* the spool has nothing of it any more */
	p->output.dump = 0;
}

const char *gt_dump_last(void)
{
	return asked.last;
}

uint32_t gt_dump_tries(void)
{
	return asked.tries;
}

void gt_dump_make(struct gt_pipeline *p)
{
	const char *reason = asked.reason;

	asked.reason = NULL;
	gt_dump_make_for(p, reason);
}

/* Why there is a dump at the end; NULL: there is none. */
static const char *reason_of_end(const struct gt_pipeline *p, int status, char *text, size_t size)
{
	const char *when = gt_config_text(&p->config, GT_CONFIG_DUMP_AT_EXIT);
	const char *newest = atomic_load(&asked.newest);

	if (newest || asked.reason)
		return newest ? newest : asked.reason;
	if (strcmp(when, "always") != 0 && (!status || strcmp(when, "failure") != 0))
		return NULL;
	gt_text_format(text, size, "exit status %d", status);
	return text;
}

static void write_last(struct gt_pipeline *p, const char *reason)
{
	struct dump dump = {.pipeline = p, .reason = reason};

	gt_turn_last(p);
	if (gt_recorder_is_empty(&p->recorder))
		return;
	note(&dump);
	plan(&dump);
	write_blocks(&dump, false);
	say(&dump, false);
	p->outlet.recorder = NULL; /* what still comes goes into the file */
}

void gt_dump_close(struct gt_pipeline *p, int status)
{
	char text[32];
	const char *reason =
		p->outlet.recorder ? reason_of_end(p, status, text, sizeof(text)) : NULL;

	if (reason)
		write_last(p, reason);
	gt_turn_close(p);
}
