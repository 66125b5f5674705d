/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI as a collector, see the header.
 */
#include "pipeline/sources/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/cupti/buffers.h"
#include "collectors/cupti/library/driver.h"
#include "collectors/cupti/library/load.h"
#include "collectors/cupti/library/quirks.h"
#include "collectors/cupti/library/timestamp.h"
#include "collectors/cupti/replay.h"
#include "core/correlate.h"
#include "core/guest/log.h"
#include "core/guest/text.h"
#include "core/thread.h"
#include "core/window/attached.h"
#include "pipeline/output/outlet.h"
#include "pipeline/sources/coexist.h"
#include "pipeline/sources/collector.h"
#include "pipeline/sources/release.h"
#include "pipeline/spool/spooled.h"

/* ---- what the translator makes ---- */

static void fill_device(struct gt_metadata *metadata, const struct gt_device_event *device)
{
	if (device->id >= GT_METADATA_DEVICES)
		return;
	while (metadata->device_count <= device->id)
		metadata->devices[metadata->device_count++].id = UINT32_MAX;
	metadata->devices[device->id] = *device;
	metadata->generation++;
}

static void take_event(void *context, struct gt_event *event)
{
	struct gt_gpu *gpu = context;

	if (event->kind == GT_EVENT_DEVICE)
		fill_device(gpu->metadata, &event->device);
	gt_call_join_record(gpu->join, event);
	if (gpu->translate.outside)
		gt_release_note_read(gpu->spooling, gpu->join);
}

static void take_tie(void *context, uint32_t correlation, uint32_t id)
{
	struct gt_gpu *gpu = context;

	gt_ties_put(&gpu->join->ties, correlation, id);
}

/* Records that are judged together. */
#define WATCHED_LEAST 200u

/* Records with times of 0. Others have none that mean anything, were forced out too early, or were
 * under way when CUPTI got another clock. */
static uint64_t count_zero_times(const struct gt_gpu *gpu)
{
	const uint64_t *count = gpu->ledger->count;
	uint64_t untimed = count[GT_LEDGER_KERNELS_UNTIMED] + count[GT_LEDGER_MEMCPYS_UNTIMED] +
			   count[GT_LEDGER_MEMSETS_UNTIMED] + count[GT_LEDGER_GRAPHS_UNTIMED];
	uint64_t others = count[GT_LEDGER_RECORDS_UNFINISHED] + count[GT_LEDGER_TIME_UNKNOWN] +
			  gpu->translate.clock_untimed;

	return untimed > others ? untimed - others : 0;
}

/* CUPTI's buffers on the GPU are used up: from then on nothing has times, until the program ends.
 * Some work may have none for other reasons, and a queue behind the end of a window has none. */
static void watch_times(struct gt_gpu *gpu)
{
	static const struct gt_note_event note = {
		.name = "LOST",
		.what = "CUPTI no longer gives times of GPU work",
		.cause = "CUPTI's buffers on the GPU may be used up: raise --gpu-memory",
	};
	const uint64_t *count = gpu->ledger->count;
	uint64_t work = count[GT_LEDGER_RECORDS_KERNEL] + count[GT_LEDGER_RECORDS_MEMCPY] +
			count[GT_LEDGER_RECORDS_MEMSET] + count[GT_LEDGER_RECORDS_GRAPH];
	uint64_t zero = count_zero_times(gpu);
	bool none = (zero - gpu->times.zero) * 2 > work - gpu->times.work &&
		    !atomic_load(&gpu->times.by_force);

	if (work - gpu->times.work < WATCHED_LEAST)
		return;
	gpu->times.work = work;
	gpu->times.zero = zero;
	if (!none || gpu->times.reported)
		return;
	gpu->times.reported = true;
	gt_outlet_note(gpu->join->outlet, &note);
	gt_log_say("%s: %s", note.what, note.cause);
}

static void end_buffer(void *context)
{
	struct gt_gpu *gpu = context;

	gt_release_note_read(gpu->spooling, gpu->join);
	watch_times(gpu);
}

/* In order, but for work that CUPTI has not reported yet. Calls that have returned meanwhile are
 * taken first: their work is written with them. */
static void spill(void *context)
{
	struct gt_gpu *gpu = context;
	struct gt_output *output = gpu->join->outlet->output;

	if (gpu->turn)
		gpu->turn->others(gpu->turn->context);
	gt_call_join_spill(gpu->join);
	if (gt_output_is_open(output))
		gt_output_flush(output, UINT64_MAX);
	gt_release_note_read(gpu->spooling, gpu->join);
}

void gt_gpu_init(struct gt_gpu *gpu, const struct gt_clock *clock, struct gt_intern *strings,
		 struct gt_demangle *demangle)
{
	struct gt_translate *translate = &gpu->translate;

	translate->clock = clock;
	translate->strings = strings;
	translate->demangle = demangle;
	translate->ledger = gpu->ledger;
	translate->session_start = clock->first.realtime;
	translate->notes = gt_spooling_notes(gpu->spooling);
	translate->emit = take_event;
	translate->tie = take_tie;
	translate->read = end_buffer;
	translate->spill = gpu->spooling && gpu->spooling->spooled ? spill : NULL;
	translate->context = gpu;
}

/* ---- start ---- */

/* What was asked of CUPTI, if it is not there; it may come when another tool is done with it. */
static void fill_missing(struct gt_gpu *gpu)
{
	static const char why[] = "CUPTI is not used (mode_reason)";
	struct gt_metadata *metadata = gpu->metadata;

	if (strcmp(gt_config_text(gpu->config, GT_CONFIG_GRAPHS), "node"))
		gt_text_format(metadata->graphs, sizeof(metadata->graphs), "none: %s", why);
	if (gt_config_number(gpu->config, GT_CONFIG_HW_TRACE))
		gt_text_format(metadata->hw_trace, sizeof(metadata->hw_trace), "off: %s", why);
}

/* Decided when CUPTI records for the first time. */
static void tell_graphs(const struct gt_gpu *gpu)
{
	struct gt_metadata *metadata = gpu->metadata;

	if (!strcmp(metadata->graphs, gpu->status.graphs))
		return;
	gt_text_format(metadata->graphs, sizeof(metadata->graphs), "%s", gpu->status.graphs);
	metadata->generation++;
}

static void fill_metadata(struct gt_gpu *gpu)
{
	const struct gt_cupti_status *status = &gpu->status;
	struct gt_metadata *metadata = gpu->metadata;

	metadata->mode = gpu->has_cupti ? "cupti" : "hooks only";
	metadata->cupti_version = status->version;
	metadata->driver_version = gt_cupti_driver_version();
	metadata->runtime_version = gt_cupti_cuda_major() * 1000;
	gt_text_format(metadata->cupti_path, sizeof(metadata->cupti_path), "%s", status->path);
	if (gpu->has_cupti)
		gt_cupti_quirks_list(status->version, metadata->cupti_quirks,
				     sizeof(metadata->cupti_quirks));
	gt_text_format(metadata->mode_reason, sizeof(metadata->mode_reason), "%s",
		       gpu->has_cupti ? status->refused : status->why);
	tell_graphs(gpu);
	gt_text_format(metadata->hw_trace, sizeof(metadata->hw_trace), "%s", status->hw_trace);
	if (!gpu->has_cupti)
		fill_missing(gpu);
	gpu->join->leaves_out_graphs = !strcmp(status->graphs, "off");
}

/* Options that record nothing without CUPTI. */
static void say_missing(const struct gt_gpu *gpu)
{
	static const struct {
		enum gt_option_id id;
		const char *name;
	} options[] = {{GT_CONFIG_MEMORY, "memory"}, {GT_CONFIG_UNIFIED_MEMORY, "unified-memory"}};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (gt_config_bool(gpu->config, options[i].id))
			gt_log_say("--%s records nothing without CUPTI: %s", options[i].name,
				   gpu->status.why);
}

/* CUPTI, or the reason why not in the metadata and, once, on stderr. */
static int start(void *part)
{
	struct gt_gpu *gpu = part;
	struct gt_cupti_status *status = &gpu->status;
	struct gt_cupti_user calls = {
		.on_init_finished = gpu->watch_end,
		.on_failed = gt_coexist_on_failure,
		.fetch = gpu->fetch,
	};
	bool wanted = strcmp(gt_config_text(gpu->config, GT_CONFIG_MODE), "hooks") != 0;

	gpu->started = -ENOENT;
	if (!wanted)
		gt_text_format(status->why, sizeof(status->why), "--mode=hooks");
	else
		gpu->started =
			gt_cupti_start(gpu->config, gpu->in_init, gpu->waits, &calls, status);
	gpu->has_cupti = gpu->started == 0;
	gpu->translate.version = status->version;
	if (status->version && gpu->translate.notes)
		gt_translate_note_lengths(gpu->translate.notes, status->version);
	fill_metadata(gpu);
	if (gpu->started && gt_attached_is_on())
		return gpu->started; /* no hook is in the way of a program that runs already */
	if (!gpu->has_cupti && wanted)
		gt_log_say("GPU work is not recorded, only CUDA calls and stacks: %s", status->why);
	if (!gpu->has_cupti)
		say_missing(gpu);
	else if (*status->refused)
		gt_log_say("CUPTI refused %s: these are missing in the trace", status->refused);
	return 0;
}

/* ---- its clock ---- */

#define TICKS_NEAR 10000000 /* some milliseconds */

/* Before the first record is read: there is one, so cuInit has finished. The processor's counter is
 * known better than one reading tells it. */
static void read_clock(struct gt_gpu *gpu)
{
	struct gt_cupti_timestamp stamp;

	gpu->has_read_clock = true;
	if (gt_cupti_read_clock(&stamp) || llabs(stamp.ticks) < TICKS_NEAR)
		return;
	gpu->metadata->cupti_clock_offset = stamp.offset_ns;
	gpu->metadata->cupti_clock_error = stamp.error_ns;
	gpu->metadata->generation++;
	if (gpu->spooling)
		gt_spooling_cupti_clock(gpu->spooling);
	gpu->translate.clock_offset = gt_translate_clock_offset(stamp.offset_ns, stamp.error_ns);
}

/* ---- its buffers ---- */

/* One buffer. The rings come between its parts: they are small and their threads do not wait. But
 * where many launches wait for their records already, one is read for each that is taken: launches
 * alone, more than we can take, would keep us busy and be forgotten before their records are read.
 */
static uint64_t read_buffer(struct gt_gpu *gpu, struct gt_cupti_reading *reading,
			    const struct gt_collector_turn *turn)
{
	const uint64_t *launches = &gpu->ledger->count[GT_LEDGER_LAUNCHES_SEEN];
	uint64_t records = 0, others = 0, before = *launches;

	while (gt_cupti_read_part(reading, &gpu->translate, &records))
		if (records >= *launches - before || gt_call_join_has_room(gpu->join))
			others += turn->others(turn->context);
	return records + others;
}

static uint64_t read_buffers(void *part, struct gt_collector_turn *turn)
{
	struct gt_gpu *gpu = part;
	struct gt_cupti_reading reading;
	uint64_t work = 0;
	size_t cost;

	gpu->turn = turn;
	while (turn->bytes && gpu->has_cupti && gt_cupti_read_begin(&reading, &gpu->translate)) {
		if (!gpu->has_read_clock)
			read_clock(gpu);
		cost = gt_cupti_buffer_cost(reading.buffer.valid);
		turn->bytes -= turn->bytes > cost ? cost : turn->bytes;
		work += turn->others(turn->context); /* what returned before it was full */
		work += read_buffer(gpu, &reading, turn);
	}
	gpu->turn = NULL;
	return work;
}

static size_t waiting(const void *part)
{
	const struct gt_gpu *gpu = part;

	return gpu->has_cupti ? gt_cupti_buffers_waiting() : 0;
}

static void flush(void *part, bool forced)
{
	struct gt_gpu *gpu = part;

	if (forced) { /* the last one */
		atomic_store(&gpu->times.by_force, true);
		gt_cupti_unified_give_up();
	}
	if (gpu->has_cupti && forced) {
		gt_cupti_flush(true);
		gt_cupti_settle_dropped();
	} else if (gpu->has_cupti)
		gt_cupti_flush_regularly();
}

/* Also when CUPTI has become ours again a moment ago and the drain thread has not seen it yet. */
static void fetch(void *part, bool forced)
{
	(void)part;
	gt_cupti_fetch_asked(forced);
}

static void begin(void *part)
{
	struct gt_gpu *gpu = part;

	atomic_store(&gpu->times.by_force, false);
	gt_cupti_begin(&gpu->status);
}

static void rest(void *part)
{
	(void)part;
	gt_cupti_rest();
}

static void part_with(void *part)
{
	(void)part;
	gt_cupti_part_with();
}

/* Work that is always under way keeps CUPTI from returning what came before it. */
static bool cease(void *part)
{
	const struct gt_gpu *gpu = part;

	return !gpu->has_cupti || !gt_threads_sum(GT_THREAD_CALLS_LATE) || gt_cupti_cease();
}

static void leave(void *part, bool stuck)
{
	static const struct gt_note_event note = {
		.name = "LOST",
		.what = "CUPTI did not return its last records in time",
		.cause = "flush timeout",
	};
	struct gt_gpu *gpu = part;

	gpu->has_cupti = false;
	if (!stuck)
		return;
	gt_cupti_buffers_demanded(UINT64_MAX);
	gt_cupti_replay_delivered(&gpu->translate);
	gt_outlet_note(gpu->join->outlet, &note);
}

/* ---- what it counts ---- */

static void watch_hw_trace(struct gt_gpu *gpu)
{
	if (!gt_cupti_lost_hw_trace(&gpu->status))
		return;
	gt_text_format(gpu->metadata->hw_trace, sizeof(gpu->metadata->hw_trace), "%s",
		       gpu->status.hw_trace);
	gpu->metadata->generation++;
}

static void watch_unified(struct gt_gpu *gpu)
{
	struct gt_note_event note = {.name = "unified memory is not recorded", .cause = "CUPTI"};
	char why[256];

	gt_cupti_unified_poll();
	if (!gt_cupti_unified_refused(why, sizeof(why)))
		return;
	note.what = gt_intern_cstr(gpu->translate.strings, why)->text;
	gt_outlet_note(gpu->join->outlet, &note);
	gt_log_say("%s: %s", note.name, why);
}

static void write_notice(struct gt_gpu *gpu)
{
	struct gt_cupti_notice notice;

	if (!gt_cupti_notice_take(&notice))
		return;
	gt_outlet_note(gpu->join->outlet,
		       &(struct gt_note_event){
			       .name = notice.is_warning ? "CUPTI warning" : "CUPTI error",
			       .what = gt_intern_cstr(gpu->translate.strings, notice.text)->text,
			       .cause = "CUPTI",
			       .of_what = notice.more ? "more such reports" : NULL,
			       .count = notice.more});
}

static void report(void *part)
{
	struct gt_gpu *gpu = part;

	if (!gpu->has_cupti)
		return;
	tell_graphs(gpu);
	gt_cupti_count(gpu->ledger);
	watch_hw_trace(gpu);
	watch_unified(gpu);
	write_notice(gpu);
}

static uint64_t dropped_records(const void *part)
{
	const struct gt_gpu *gpu = part;

	return gpu->ledger->count[GT_LEDGER_RECORDS_DROPPED];
}

static uint64_t discarded_buffers(const void *part)
{
	const struct gt_gpu *gpu = part;

	uint64_t all = gpu->ledger->count[GT_LEDGER_BUFFERS_DISCARDED];
	uint64_t crowded = gt_cupti_buffers_count().crowded;

	return all > crowded ? all - crowded : 0;
}

static uint64_t crowded_buffers(const void *part)
{
	(void)part;
	return gt_cupti_buffers_count().crowded;
}

static uint64_t evicted_calls(const void *part)
{
	const struct gt_gpu *gpu = part;

	return gt_correlate_count(gpu->join->calls).evicted;
}

static uint64_t in_flight(const void *part)
{
	const struct gt_gpu *gpu = part;

	return gt_call_join_in_flight(gpu->join) + gpu->join->unexpected +
	       gt_call_join_lost(gpu->join, gt_threads_lost_launches());
}

static uint64_t clock_steps(const void *part)
{
	const struct gt_gpu *gpu = part;

	return gpu->translate.clock->steps;
}

static uint64_t longest_flush(const void *part)
{
	(void)part;
	return gt_cupti_flush_longest();
}

static uint64_t late_fetches(const void *part)
{
	(void)part;
	return gt_cupti_fetches_late();
}

static const struct gt_collector_count counts[] = {
	{dropped_records, GT_LEDGER_COUNT_, "LOST", "dropped by CUPTI", "GPU records",
	 "CUPTI had no buffer in time"},
	{discarded_buffers, GT_LEDGER_COUNT_, "LOST", "no buffer", "activity buffers",
	 "all memory for buffers in use: raise --max-memory"},
	{crowded_buffers, GT_LEDGER_COUNT_, "LOST", "too many buffers", "activity buffers",
	 "CUPTI asked for more at a time than there can be, as for many threads: lower "
	 "--flush-period"},
	{late_fetches, GT_LEDGER_COUNT_, "LOST", "flush timeout", "calls that went on without it",
	 "CUPTI's flush took longer than a call could wait: records of its context may be missing"},
	{evicted_calls, GT_LEDGER_CORRELATION_EVICTED, NULL, NULL, NULL, NULL},
	{in_flight, GT_LEDGER_OPS_IN_FLIGHT, NULL, NULL, NULL, NULL},
	{clock_steps, GT_LEDGER_CLOCK_STEPS, NULL, NULL, NULL, NULL},
	{longest_flush, GT_LEDGER_FLUSH_LONGEST, NULL, NULL, NULL, NULL},
};

static void count_buffers(void *part, struct gt_ledger *ledger)
{
	(void)part;
	gt_cupti_buffers_report(ledger);
}

/* GPU work, by CUPTI's activity records. */
const struct gt_collector gt_gpu_collector = {
	.name = "CUPTI",
	.start = start,
	.read = read_buffers,
	.waiting = waiting,
	.flush = flush,
	.fetch = fetch,
	.begin = begin,
	.rest = rest,
	.part_with = part_with,
	.cease = cease,
	.leave = leave,
	.report = report,
	.counts = counts,
	.count_count = sizeof(counts) / sizeof(counts[0]),
	.count = count_buffers,
	.release = gt_cupti_stop,
};
