/* SPDX-License-Identifier: Apache-2.0
 *
 * Metadata and ledger of a .pftrace: annotations with their names in place. One thread per reading.
 */
#include "readers/perfetto/pftrace.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct pair {
	char name[48];
	uint64_t number;
	const struct gt_string *text;
	struct gt_wire whole;
};

static struct pair take_pair(struct gt_pftrace *pf, struct gt_wire wire)
{
	struct pair pair = {.whole = wire};
	struct gt_wire_field field;

	while (gt_wire_next(&wire, &field)) {
		if (field.number == GT_PF_ANNOTATION_NAME && field.data &&
		    field.size < sizeof(pair.name))
			memcpy(pair.name, field.data, field.size);
		else if (field.number == GT_PF_ANNOTATION_UINT ||
			 field.number == GT_PF_ANNOTATION_INT)
			pair.number = field.value;
		else if (field.number == GT_PF_ANNOTATION_STRING)
			pair.text = gt_pftrace_text(pf, &field);
	}
	return pair;
}

/* A member of a struct: name in the file, offset, size. */
struct metadata_place {
	const char *name;
	size_t offset, size;
};

#define PLACE(type, name, member)                                                                  \
	{                                                                                          \
		name, offsetof(struct type, member), sizeof(((struct type *)0)->member)            \
	}

static const struct metadata_place numbers[] = {
	PLACE(gt_metadata, "schema_version", schema),
	PLACE(gt_metadata, "pid", pid),
	PLACE(gt_metadata, "has_rank", has_rank),
	PLACE(gt_metadata, "base_ns", base),
	PLACE(gt_metadata, "start_ns", start),
	PLACE(gt_metadata, "cupti_version", cupti_version),
	PLACE(gt_metadata, "cuda_runtime_version", runtime_version),
	PLACE(gt_metadata, "cuda_driver_version", driver_version),
	PLACE(gt_metadata, "clock_first_monotonic_ns", clock_first.monotonic),
	PLACE(gt_metadata, "clock_first_realtime_ns", clock_first.realtime),
	PLACE(gt_metadata, "clock_first_error_ns", clock_first.error_ns),
	PLACE(gt_metadata, "clock_last_monotonic_ns", clock_last.monotonic),
	PLACE(gt_metadata, "clock_last_realtime_ns", clock_last.realtime),
	PLACE(gt_metadata, "clock_last_error_ns", clock_last.error_ns),
	PLACE(gt_metadata, "cupti_clock_offset_ns", cupti_clock_offset),
	PLACE(gt_metadata, "cupti_clock_error_ns", cupti_clock_error),
	PLACE(gt_metadata, "rank", rank),
	PLACE(gt_metadata, "world_size", world_size),
	PLACE(gt_metadata, "local_rank", local_rank),
	PLACE(gt_metadata, "starts", starts),
	PLACE(gt_metadata, "repaired", repaired.done),
	PLACE(gt_metadata, "repaired_events", repaired.events),
	PLACE(gt_metadata, "repaired_cut_bytes", repaired.cut_bytes),
	PLACE(gt_metadata, "recovered_calls", repaired.calls),
	PLACE(gt_metadata, "recovered_operations", repaired.operations),
	PLACE(gt_metadata, "in_flight", repaired.in_flight),
	PLACE(gt_metadata, "maybe_removed", repaired.maybe_removed),
#define GT_SEGMENT(id, json, help) PLACE(gt_metadata, "segment_" json, segment[GT_SEGMENT_##id]),
#include "core/schema/segment.def"
#undef GT_SEGMENT
};

static const struct metadata_place device_numbers[] = {
	PLACE(gt_device_event, "id", id),
	PLACE(gt_device_event, "total_memory", total_memory),
	PLACE(gt_device_event, "compute_major", compute_major),
	PLACE(gt_device_event, "compute_minor", compute_minor),
	PLACE(gt_device_event, "sm_count", sm_count),
	PLACE(gt_device_event, "warp_size", warp_size),
	PLACE(gt_device_event, "max_threads_per_block", max_threads_per_block),
	PLACE(gt_device_event, "max_threads_per_sm", max_threads_per_sm),
	PLACE(gt_device_event, "max_warps_per_sm", max_warps_per_sm),
	PLACE(gt_device_event, "max_blocks_per_sm", max_blocks_per_sm),
	PLACE(gt_device_event, "registers_per_block", registers_per_block),
	PLACE(gt_device_event, "registers_per_sm", registers_per_sm),
	PLACE(gt_device_event, "shared_per_block", shared_per_block),
	PLACE(gt_device_event, "shared_per_block_optin", shared_per_block_optin),
	PLACE(gt_device_event, "shared_per_sm", shared_per_sm),
};

/* Texts stored in the struct, and, below, those that it points to. */
static const struct metadata_place texts[] = {
#define GT_METADATA_TEXT(name, member) PLACE(gt_metadata, name, member),
#include "readers/metadata_texts.def"
	PLACE(gt_metadata, "backend", backend),
};

static const struct metadata_place pointers[] = {
	PLACE(gt_metadata, "gputrace_version", version),
	PLACE(gt_metadata, "mode", mode),
	PLACE(gt_metadata, "unwinder", unwinder),
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const struct metadata_place *find(const struct metadata_place *places, size_t count,
					 const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(places[i].name, name))
			return &places[i];
	return NULL;
}

/* Copies the low bytes, which come first: little-endian. */
static void set_number(void *to, const struct metadata_place *place, uint64_t number)
{
	if (place->size == sizeof(bool))
		number = number != 0;
	memcpy((char *)to + place->offset, &number, place->size);
}

static void set_text(struct gt_metadata *metadata, const struct pair *pair)
{
	const struct metadata_place *place = find(texts, COUNT(texts), pair->name);
	size_t size;

	if (place) {
		size = pair->text->length < place->size ? pair->text->length : place->size - 1;
		memset((char *)metadata + place->offset, 0, place->size);
		memcpy((char *)metadata + place->offset, pair->text->text, size);
		return;
	}
	place = find(pointers, COUNT(pointers), pair->name);
	if (place)
		*(const char **)((char *)metadata + place->offset) = pair->text->text;
}

static void take_device(struct gt_pftrace *pf, struct gt_wire wire, struct gt_metadata *metadata)
{
	struct gt_device_event device = {.id = UINT32_MAX};
	struct gt_wire_field field;

	while (gt_wire_next(&wire, &field)) {
		struct pair pair;
		const struct metadata_place *place;

		if (field.number != GT_PF_ANNOTATION_DICT)
			continue;
		pair = take_pair(pf, gt_wire_inside(&field));
		place = find(device_numbers, COUNT(device_numbers), pair.name);
		if (place)
			set_number(&device, place, pair.number);
		else if (!strcmp(pair.name, "name"))
			device.name = pair.text;
		else if (!strcmp(pair.name, "uuid") && pair.text)
			snprintf(device.uuid, sizeof(device.uuid), "%s", pair.text->text);
	}
	if (device.id >= GT_METADATA_DEVICES)
		return;
	while (metadata->device_count <= device.id)
		metadata->devices[metadata->device_count++].id = UINT32_MAX;
	metadata->devices[device.id] = device;
}

static void take_fact(struct gt_pftrace *pf, const struct pair *pair, struct gt_metadata *metadata)
{
	const struct metadata_place *place = find(numbers, COUNT(numbers), pair->name);

	if (place)
		set_number(metadata, place, pair->number);
	else if (!strcmp(pair->name, "processes"))
		pf->events->told_parts = (uint32_t)pair->number;
	else if (!strcmp(pair->name, "device"))
		take_device(pf, pair->whole, metadata);
	else if (pair->text)
		set_text(metadata, pair);
}

int gt_pftrace_take_metadata(struct gt_pftrace *pf, struct gt_wire wire)
{
	struct gt_metadata *metadata = &pf->events->metadata;
	struct gt_wire_field field;

	*metadata = (struct gt_metadata){.local_rank = -1, .world_size = 1};
	while (gt_wire_next(&wire, &field)) {
		struct pair pair;

		if (field.number != GT_PF_EVENT_ANNOTATION)
			continue;
		pair = take_pair(pf, gt_wire_inside(&field));
		take_fact(pf, &pair, metadata);
	}
	if (wire.bad)
		return -EBADMSG;
	pf->has_metadata = true;
	return pf->events->take_metadata ? pf->events->take_metadata(metadata, pf->events->data)
					 : 0;
}

void gt_pftrace_take_ledger(struct gt_pftrace *pf, struct gt_wire wire)
{
	struct gt_wire_field field;

	while (gt_wire_next(&wire, &field)) {
		struct pair pair;

		if (field.number != GT_PF_EVENT_ANNOTATION)
			continue;
		pair = take_pair(pf, gt_wire_inside(&field));
		for (int i = 0; i < GT_LEDGER_COUNT_; i++)
			if (!strcmp(gt_ledger_rows[i].json, pair.name)) {
				pf->events->ledger.count[i] = pair.number;
				pf->events->has_key[i] = true;
			}
	}
	pf->events->closed = pf->events->has_ledger = true;
}
