/* SPDX-License-Identifier: Apache-2.0
 *
 * Records without CUPTI, see the header. Where the length of a kind was not noted (its first record
 * was not read in time), the shortest one is taken behind which another record, or the end, stands:
 * records of one kind are all equally long, and buffers were zero before CUPTI filled them.
 */
#include "collectors/cupti_replay.h"

#include <string.h>

#include "collectors/cupti_layout.h"
#include "core/spool_view.h"

/* Newer CUPTIs append to what 11.8 had; twice what any has appended so far. */
#define GROWTH_MAX   96u
#define RECORD_BYTES 1024u

/* Of CUPTI 11.8, the least that a record of the kind has. */
static const uint16_t least_bytes[GT_TRANSLATE_KINDS] = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = sizeof(CUpti_ActivityMemcpy5),
	[CUPTI_ACTIVITY_KIND_MEMSET] = sizeof(CUpti_ActivityMemset4),
	[CUPTI_ACTIVITY_KIND_KERNEL] = sizeof(CUpti_ActivityKernel8),
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizeof(CUpti_ActivityKernel8),
	[CUPTI_ACTIVITY_KIND_DRIVER] = sizeof(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_RUNTIME] = sizeof(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_DEVICE] = sizeof(CUpti_ActivityDevice4),
	[CUPTI_ACTIVITY_KIND_CONTEXT] = sizeof(CUpti_ActivityContext),
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = sizeof(CUpti_ActivityOverhead),
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = sizeof(CUpti_ActivityMemcpyPtoP4),
	[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = sizeof(CUpti_ActivityCudaEvent),
	[CUPTI_ACTIVITY_KIND_STREAM] = sizeof(CUpti_ActivityStream),
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = sizeof(CUpti_ActivitySynchronization),
	[CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API] = sizeof(CUpti_ActivityAPI),
};

/* 0: not a kind that can be read here. */
static uint32_t kind_at(const uint8_t *data)
{
	uint32_t kind;

	memcpy(&kind, data, sizeof(kind));
	return kind < GT_TRANSLATE_KINDS && least_bytes[kind] ? kind : 0;
}

static bool fits(const uint8_t *data, size_t left, size_t bytes)
{
	return bytes == left || (bytes + sizeof(uint32_t) <= left && kind_at(data + bytes));
}

static size_t record_bytes(const uint8_t *data, size_t left, struct gt_translate_notes *notes)
{
	uint32_t kind = left >= sizeof(kind) ? kind_at(data) : 0;
	size_t bytes;

	if (!kind)
		return 0;
	bytes = notes->bytes[kind];
	if (bytes >= least_bytes[kind] && bytes <= RECORD_BYTES)
		return bytes <= left ? bytes : 0;
	for (bytes = least_bytes[kind]; bytes <= least_bytes[kind] + GROWTH_MAX; bytes += 8) {
		if (bytes > left || !fits(data, left, bytes))
			continue;
		notes->bytes[kind] = (uint16_t)bytes;
		return bytes;
	}
	return 0;
}

/* The name that stood at the address @pointer, out of the notes. */
static const char *name_of(const struct gt_spool_view *view, const struct gt_translate_notes *notes,
			   const char *pointer)
{
	uint64_t address = gt_spool_address(pointer);
	const struct gt_translate_name *note = gt_translate_name_slot(notes, address);
	const struct gt_string *name;

	if (!pointer)
		return NULL;
	name = note->address == address ? gt_spool_view_string(view, note->name) : NULL;
	return name && strlen(name->text) == name->length ? name->text : "(name not recovered)";
}

size_t gt_cupti_replay(const struct gt_spool_view *view, const uint8_t *data, size_t valid,
		       struct gt_translate_notes *notes, struct gt_translate *translate)
{
	_Alignas(8) uint8_t record[RECORD_BYTES];
	size_t at = 0, bytes;

	while (at < valid && (bytes = record_bytes(data + at, valid - at, notes))) {
		uint32_t kind = kind_at(data + at);

		memcpy(record, data + at, bytes);
		if (kind == CUPTI_ACTIVITY_KIND_KERNEL ||
		    kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
			CUpti_ActivityKernel8 *kernel = (void *)record;

			kernel->name = name_of(view, notes, kernel->name);
		} else if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
			CUpti_ActivityDevice4 *device = (void *)record;

			device->name = name_of(view, notes, device->name);
		}
		gt_translate_record(translate, record);
		at += bytes;
	}
	return valid - at;
}
