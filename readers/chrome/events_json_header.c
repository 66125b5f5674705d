/* SPDX-License-Identifier: Apache-2.0
 *
 * The header of a JSON file as metadata. One thread per reading.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/chrome/events_json.h"

static uint64_t member_number(const struct gt_span *object, const char *key)
{
	struct gt_span span;
	int64_t value;

	return gt_span_member(object, key, &span) && gt_span_int(&span, &value) ? (uint64_t)value
										: 0;
}

/* It has no character that JSON escapes. */
static void take_uuid(const struct gt_span *object, char *ret_text, size_t size)
{
	struct gt_span uuid;

	if (gt_span_member(object, "uuid", &uuid) && uuid.kind == GT_SPAN_STRING)
		snprintf(ret_text, size, "%.*s", (int)uuid.len, uuid.text);
}

static void take_device(struct gt_events_json *json, const struct gt_span *object,
			struct gt_metadata *metadata)
{
	uint64_t id = member_number(object, "id");
	struct gt_span name = {0};

	if (!gt_events_json_own_device(json, &id) || id >= GT_METADATA_DEVICES)
		return;
	while (metadata->device_count <= id)
		metadata->devices[metadata->device_count++].id = UINT32_MAX;
	gt_span_member(object, "name", &name);
	metadata->devices[id] = (struct gt_device_event){
		.id = (uint32_t)id,
		.name = gt_events_json_string(json, &name),
		.total_memory = member_number(object, "totalGlobalMem"),
		.compute_major = (uint32_t)member_number(object, "computeMajor"),
		.compute_minor = (uint32_t)member_number(object, "computeMinor"),
		.sm_count = (uint32_t)member_number(object, "numSms"),
		.warp_size = (uint32_t)member_number(object, "warpSize"),
		.max_threads_per_block = (uint32_t)member_number(object, "maxThreadsPerBlock"),
		.max_threads_per_sm =
			(uint32_t)member_number(object, "maxThreadsPerMultiprocessor"),
		.registers_per_block = (uint32_t)member_number(object, "regsPerBlock"),
		.registers_per_sm = (uint32_t)member_number(object, "regsPerMultiprocessor"),
		.shared_per_block = (uint32_t)member_number(object, "sharedMemPerBlock"),
		.shared_per_block_optin = (uint32_t)member_number(object, "sharedMemPerBlockOptin"),
		.shared_per_sm = (uint32_t)member_number(object, "sharedMemPerMultiprocessor")};
	take_uuid(object, metadata->devices[id].uuid, sizeof(metadata->devices[id].uuid));
}

static void take_devices(struct gt_events_json *json, const struct gt_header *header,
			 struct gt_metadata *metadata)
{
	struct gt_span array, element;
	uint32_t position = 0;
	char *copy;

	if (gt_header_span(header, "deviceProperties", &copy, &array) &&
	    array.kind == GT_SPAN_ARRAY)
		while (gt_span_next(&array, &position, &element))
			if (element.kind == GT_SPAN_OBJECT)
				take_device(json, &element, metadata);
	free(copy);
}

static uint64_t top_number(const struct gt_header *header, const char *key)
{
	const char *text = gt_header_find(header, key);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* Interns a text of "metadata", so that it lives as long as the reading. */
static const char *metadata_text(struct gt_events_json *json, const struct gt_header *header,
				 const char *key)
{
	char text[1024];

	if (!gt_header_text(header, "metadata", key, text, sizeof(text)))
		return NULL;
	return gt_intern_cstr(json->events->strings, text)->text;
}

static void copy_text(struct gt_events_json *json, const struct gt_header *header, const char *key,
		      char *out, size_t size)
{
	const char *text = metadata_text(json, header, key);

	snprintf(out, size, "%s", text ? text : "");
}

static void take_clock(const struct gt_span *members, struct gt_metadata *metadata)
{
	struct gt_span start;
	int64_t ns;

	if (gt_span_member(members, "clock_start_us", &start) && gt_span_ns(&start, &ns))
		metadata->start = metadata->base + (uint64_t)ns;
	metadata->clock_first.monotonic = member_number(members, "clock_first_monotonic_ns");
	metadata->clock_first.realtime = member_number(members, "clock_first_realtime_ns");
	metadata->clock_first.error_ns = member_number(members, "clock_first_error_ns");
	metadata->clock_last.monotonic = member_number(members, "clock_last_monotonic_ns");
	metadata->clock_last.realtime = member_number(members, "clock_last_realtime_ns");
	metadata->clock_last.error_ns = member_number(members, "clock_last_error_ns");
	metadata->cupti_clock_offset = (int64_t)member_number(members, "cupti_clock_offset_ns");
	metadata->cupti_clock_error = member_number(members, "cupti_clock_error_ns");
}

static void take_segment(const struct gt_header *header, struct gt_metadata *metadata)
{
	int64_t value;

	for (int i = 0; i < GT_SEGMENT_COUNT_; i++)
		if (gt_header_int(header, "segment", gt_segment_names[i], &value))
			metadata->segment[i] = (uint64_t)value;
}

static void take_words(struct gt_events_json *json, const struct gt_header *header,
		       struct gt_metadata *metadata)
{
	metadata->version = metadata_text(json, header, "gputrace_version");
	metadata->mode = metadata_text(json, header, "mode");
	metadata->unwinder = metadata_text(json, header, "unwinder");
#define GT_METADATA_TEXT(name, member)                                                             \
	copy_text(json, header, name, metadata->member, sizeof(metadata->member));
#include "readers/metadata_texts.def"
}

/* What the trace told, and of a merged file the trace of the wanted process. */
static int take_members(struct gt_events_json *json, const struct gt_header *header,
			struct gt_metadata *metadata)
{
	const struct gt_header *teller = header;
	struct gt_header own = {0};
	struct gt_span members;
	char *copy;
	int rc = json->parts.count ? gt_events_json_part_header(json, header, &own) : 0;

	if (gt_header_find(&own, "metadata"))
		teller = &own;
	take_words(json, teller, metadata);
	if (gt_header_span(teller, "metadata", &copy, &members) && members.kind == GT_SPAN_OBJECT) {
		metadata->pid = (uint32_t)member_number(&members, "pid");
		metadata->starts = (uint32_t)member_number(&members, "starts");
		take_clock(&members, metadata);
	}
	free(copy);
	gt_header_fini(&own);
	return rc;
}

int gt_events_json_header(struct gt_events_json *json, const struct gt_header *header)
{
	struct gt_metadata *metadata = &json->events->metadata;
	int64_t local_rank;

	*metadata = (struct gt_metadata){
		.rank = (int32_t)header->rank,
		.world_size = (int32_t)header->world_size,
		.local_rank = -1,
		.has_rank = header->world_size > 1,
		.base = (uint64_t)header->base_ns,
		.cupti_version = (uint32_t)top_number(header, "cupti_version"),
		.runtime_version = (uint32_t)top_number(header, "cuda_runtime_version"),
		.driver_version = (uint32_t)top_number(header, "cuda_driver_version")};
	if (take_members(json, header, metadata))
		return -ENOMEM;
	if (!metadata->version || !header->has_base)
		return gt_events_fail(json->events, json->path,
				      "not a trace of gputrace: its header does not say so",
				      -EBADMSG);
	if (header->backend)
		snprintf(metadata->backend, sizeof(metadata->backend), "%s", header->backend);
	if (gt_header_int(header, "distributedInfo", "local_rank", &local_rank))
		metadata->local_rank = (int32_t)local_rank;
	take_devices(json, header, metadata);
	take_segment(header, metadata);
	if (json->parts.count)
		gt_events_json_part_metadata(json, metadata);
	if (json->parts.count)
		gt_events_json_part_clock(json, header, metadata);
	json->base = header->base_ns;
	json->has_gpu_work = metadata->mode && !strcmp(metadata->mode, "cupti");
	json->has_metadata = true;
	return json->events->take_metadata
		       ? json->events->take_metadata(metadata, json->events->data)
		       : 0;
}
