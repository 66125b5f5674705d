/* SPDX-License-Identifier: Apache-2.0
 *
 * See metadata_json.h. If it does not fit, parts are left out step by step, and the header says so.
 */
#include "core/json/metadata_json.h"

#include "core/intern.h"

#define SHORT_NAME ((size_t)96)

static void next_line(struct gt_json *json, bool lines)
{
	if (lines)
		gt_json_raw(json, ",\n", 2);
}

/* Memory limits and threads of one device, as Kineto names them. */
static void put_device_limits(struct gt_json *json, const struct gt_device_event *device)
{
	gt_json_member_u64(json, "maxThreadsPerBlock", device->max_threads_per_block);
	gt_json_member_u64(json, "maxThreadsPerMultiprocessor", device->max_threads_per_sm);
	gt_json_member_u64(json, "regsPerBlock", device->registers_per_block);
	gt_json_member_u64(json, "warpSize", device->warp_size);
	gt_json_member_u64(json, "sharedMemPerBlock", device->shared_per_block);
	gt_json_member_u64(json, "numSms", device->sm_count);
	gt_json_member_u64(json, "regsPerMultiprocessor", device->registers_per_sm);
	if (device->shared_per_block_optin)
		gt_json_member_u64(json, "sharedMemPerBlockOptin", device->shared_per_block_optin);
	gt_json_member_u64(json, "sharedMemPerMultiprocessor", device->shared_per_sm);
}

static void put_device(struct gt_json *json, uint32_t index, const struct gt_device_event *device,
		       bool brief)
{
	const struct gt_string *name = device->id == index ? device->name : NULL;

	gt_json_comma(json);
	gt_json_char(json, '{');
	gt_json_member_u64(json, "id", index);
	gt_json_key(json, "name");
	if (name)
		gt_json_string(json, name->text,
			       gt_json_text_prefix(name->text, name->length, SHORT_NAME));
	else
		gt_json_cstr(json, "unknown");
	if (name && *device->uuid)
		gt_json_member_cstr(json, "uuid", device->uuid);
	gt_json_member_u64(json, "totalGlobalMem", device->total_memory);
	gt_json_member_u64(json, "computeMajor", device->compute_major);
	gt_json_member_u64(json, "computeMinor", device->compute_minor);
	if (!brief)
		put_device_limits(json, device);
	gt_json_char(json, '}');
}

/* The list is indexed by device id, so only its end may be cut. */
static void put_devices(const struct gt_metadata *metadata, struct gt_json *json, unsigned int cut)
{
	uint32_t count = metadata->device_count < GT_METADATA_DEVICES ? metadata->device_count
								      : GT_METADATA_DEVICES;

	if (cut > 3)
		count >>= cut - 3;
	gt_json_key(json, "deviceProperties");
	gt_json_char(json, '[');
	for (uint32_t i = 0; i < count; i++)
		put_device(json, i, &metadata->devices[i], cut > 0);
	gt_json_char(json, ']');
}

/* HTA finds the rank by a pattern that needs the blank after the colon. */
static void put_distributed(const struct gt_metadata *metadata, struct gt_json *json)
{
	gt_json_key(json, "distributedInfo");
	gt_json_char(json, '{');
	if (*metadata->backend)
		gt_json_member_cstr(json, "backend", metadata->backend);
	gt_json_member_i64(json, "rank", metadata->rank);
	gt_json_member_i64(json, "world_size", metadata->world_size);
	if (metadata->local_rank >= 0)
		gt_json_member_i64(json, "local_rank", metadata->local_rank);
	gt_json_char(json, '}');
}

static void put_versions(const struct gt_metadata *metadata, struct gt_json *json)
{
	if (metadata->cupti_version)
		gt_json_member_u64(json, "cupti_version", metadata->cupti_version);
	if (metadata->runtime_version)
		gt_json_member_u64(json, "cuda_runtime_version", metadata->runtime_version);
	if (metadata->driver_version)
		gt_json_member_u64(json, "cuda_driver_version", metadata->driver_version);
}

#define EXACT_MAX ((int64_t)1 << 53)

/* A number that JavaScript would round: printed as a string. */
static void put_big(struct gt_json *json, uint64_t value)
{
	gt_json_char(json, '"');
	gt_json_u64(json, value);
	gt_json_char(json, '"');
}

/* The distance of two clocks may be, or not. */
static void put_offset(struct gt_json *json, int64_t value)
{
	bool is_big = value >= EXACT_MAX || value <= -EXACT_MAX;

	if (is_big)
		gt_json_char(json, '"');
	gt_json_i64(json, value);
	if (is_big)
		gt_json_char(json, '"');
}

static void put_clock(const struct gt_metadata *metadata, struct gt_json *json)
{
	gt_json_member_us(json, "clock_start_us",
			  metadata->start > metadata->base ? metadata->start - metadata->base : 0);
	gt_json_member_u64(json, "clock_first_monotonic_ns", metadata->clock_first.monotonic);
	gt_json_key(json, "clock_first_realtime_ns");
	put_big(json, metadata->clock_first.realtime);
	gt_json_member_u64(json, "clock_first_error_ns", metadata->clock_first.error_ns);
	gt_json_member_u64(json, "clock_last_monotonic_ns", metadata->clock_last.monotonic);
	gt_json_key(json, "clock_last_realtime_ns");
	put_big(json, metadata->clock_last.realtime);
	gt_json_member_u64(json, "clock_last_error_ns", metadata->clock_last.error_ns);
	if (!metadata->cupti_clock_error)
		return;
	gt_json_key(json, "cupti_clock_offset_ns");
	put_offset(json, metadata->cupti_clock_offset);
	gt_json_member_u64(json, "cupti_clock_error_ns", metadata->cupti_clock_error);
}

static void put_optional(struct gt_json *json, const char *key, const char *text)
{
	if (!text || !text[0])
		return;
	gt_json_key_text(json, key);
	gt_json_cstr(json, text);
}

static void put_metadata(const struct gt_metadata *metadata, struct gt_json *json, unsigned int cut)
{
	gt_json_key(json, "metadata");
	gt_json_char(json, '{');
	put_optional(json, "gputrace_version", metadata->version);
	put_optional(json, "hostname", metadata->host);
	put_optional(json, "boot", metadata->boot);
	put_optional(json, "clock", metadata->clock);
	put_optional(json, "run", metadata->run);
	put_optional(json, "job", metadata->job);
	put_optional(json, "launch", metadata->launch);
	put_optional(json, "launcher", metadata->launcher);
	if (metadata->starts)
		gt_json_member_u64(json, "starts", metadata->starts);
	put_optional(json, "rank_doubt", metadata->rank_doubt);
	put_optional(json, "process", metadata->process);
	gt_json_member_u64(json, "pid", metadata->pid);
	put_optional(json, "mode", metadata->mode);
	put_optional(json, "unwinder", metadata->unwinder);
	put_optional(json, "python", metadata->python);
	put_optional(json, "frameworks", metadata->frameworks);
	put_optional(json, "not_recorded", gt_metadata_not_recorded(metadata));
	put_optional(json, "graphs", metadata->graphs);
	put_optional(json, "hw_trace", metadata->hw_trace);
	put_optional(json, "nvml", metadata->nvml);
	put_optional(json, "attached", metadata->attached);
	put_optional(json, "window", metadata->window);
	put_optional(json, "filters", metadata->filters);
	put_optional(json, "merged_clock", metadata->merged_clock);
	put_optional(json, "cost", metadata->cost);
	if (cut < 3) {
		put_optional(json, "mode_reason", metadata->mode_reason);
		put_optional(json, "cupti_path", metadata->cupti_path);
		put_optional(json, "cupti_quirks", metadata->cupti_quirks);
	}
	if (cut < 2) {
		put_optional(json, "command", metadata->command);
		put_optional(json, "options", metadata->options);
		put_optional(json, "memory", metadata->memory);
		put_optional(json, "seccomp", metadata->seccomp);
	}
	put_optional(json, "spool", metadata->spool);
	put_clock(metadata, json);
	if (cut)
		gt_json_member_u64(json, "header_cuts", cut);
	gt_json_char(json, '}');
}

/* This file is one of several of the process. */
static void put_segment(const struct gt_metadata *metadata, struct gt_json *json)
{
	gt_json_key(json, "segment");
	gt_json_char(json, '{');
	for (int i = 0; i < GT_SEGMENT_COUNT_; i++) {
		gt_json_key_text(json, gt_segment_names[i]);
		gt_json_u64(json, metadata->segment[i]);
	}
	gt_json_char(json, '}');
}

void gt_metadata_json_put(const struct gt_metadata *metadata, struct gt_json *json, bool lines,
			  unsigned int cut)
{
	gt_json_member_u64(json, "schemaVersion",
			   metadata->schema ? metadata->schema : GT_METADATA_SCHEMA);
	next_line(json, lines);
	put_devices(metadata, json, cut);
	next_line(json, lines);
	put_distributed(metadata, json);
	if (metadata->cupti_version || metadata->runtime_version || metadata->driver_version)
		next_line(json, lines);
	put_versions(metadata, json);
	next_line(json, lines);
	put_metadata(metadata, json, cut);
	if (metadata->segment[GT_SEGMENT_NUMBER]) {
		next_line(json, lines);
		put_segment(metadata, json);
	}
	next_line(json, lines);
	gt_json_literal(json, "displayTimeUnit", "ns");
	next_line(json, lines);
	gt_json_member_u64(json, "baseTimeNanoseconds", metadata->base);
}

void gt_metadata_json_put_ledger(struct gt_json *json, const struct gt_ledger *ledger)
{
	gt_json_key(json, "ledger");
	gt_json_char(json, '{');
	for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
		gt_json_key_text(json, gt_ledger_rows[i].json);
		gt_json_u64(json, ledger->count[i]);
	}
	gt_json_char(json, '}');
}

/* For a file that its process did not close and that was converted from another format. */
void gt_metadata_json_put_repaired(struct gt_json *json,
				   const struct gt_metadata_repaired *repaired)
{
	if (!repaired->done)
		return;
	gt_json_key(json, "repaired");
	gt_json_char(json, '{');
	gt_json_member_u64(json, "events", repaired->events);
	gt_json_member_u64(json, "cut_bytes", repaired->cut_bytes);
	gt_json_member_u64(json, "recovered_calls", repaired->calls);
	gt_json_member_u64(json, "recovered_operations", repaired->operations);
	gt_json_member_u64(json, "in_flight", repaired->in_flight);
	if (repaired->maybe_removed)
		gt_json_member_u64(json, "maybe_removed", repaired->maybe_removed);
	gt_json_char(json, '}');
}
