/* SPDX-License-Identifier: Apache-2.0
 *
 * Records without CUPTI, see the header. Where the length of a kind was not noted (its first record
 * was not read in time), lengths are tried until the records lead from one to the next up to the end of
 * the buffer: records of one kind are all equally long. A single look behind a record is not enough,
 * for what a newer CUPTI has appended may look like the kind of another one.
 */
#include "collectors/cupti_replay.h"

#include <string.h>

#include "collectors/cupti_layout.h"
#include "core/spool_view.h"

/* Newer CUPTIs append to what 11.8 had; twice what any has appended so far. */
#define GROWTH_MAX   96u
#define RECORD_BYTES 1024u
/* Whatever the bytes are, trying comes to an end. */
#define STEPS_MAX    (1u << 20)

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

/* Lengths of kinds, 0: not known, and how far they lead. */
struct guess {
	const uint8_t *data;
	size_t left;
	uint32_t steps;
	uint16_t bytes[GT_TRANSLATE_KINDS];
	uint16_t best[GT_TRANSLATE_KINDS]; /* those that lead furthest */
	size_t best_at;
};

static bool leads_on(struct guess *guess, size_t at);

/* The record at @at is of a kind whose length is not known. */
static bool try_lengths(struct guess *guess, size_t at, uint32_t kind)
{
	for (size_t bytes = least_bytes[kind]; bytes <= least_bytes[kind] + GROWTH_MAX;
	     bytes += 8) {
		if (bytes > guess->left - at)
			break;
		guess->bytes[kind] = (uint16_t)bytes;
		if (leads_on(guess, at + bytes))
			return true;
	}
	guess->bytes[kind] = 0;
	return false;
}

/* From @at to the end, with what is known so far; calls itself once for each kind at most. */
static bool leads_on(struct guess *guess, size_t at)
{
	while (guess->left - at >= sizeof(uint32_t) && guess->steps < STEPS_MAX) {
		uint32_t kind = kind_at(guess->data + at);

		guess->steps++;
		if (kind && !guess->bytes[kind])
			return try_lengths(guess, at, kind);
		if (!kind || guess->bytes[kind] > guess->left - at)
			break;
		at += guess->bytes[kind];
	}
	if (at > guess->best_at) {
		guess->best_at = at;
		memcpy(guess->best, guess->bytes, sizeof(guess->best));
	}
	return at == guess->left;
}

static bool is_known(const struct gt_translate_notes *notes, uint32_t kind)
{
	return notes->bytes[kind] >= least_bytes[kind] && notes->bytes[kind] <= RECORD_BYTES;
}

/* Notes the lengths that lead furthest through @left bytes at @data. */
static void find_lengths(const uint8_t *data, size_t left, struct gt_translate_notes *notes)
{
	struct guess guess = {.data = data, .left = left};

	for (uint32_t kind = 0; kind < GT_TRANSLATE_KINDS; kind++)
		if (is_known(notes, kind))
			guess.bytes[kind] = notes->bytes[kind];
	leads_on(&guess, 0);
	for (uint32_t kind = 0; kind < GT_TRANSLATE_KINDS; kind++)
		if (guess.best[kind])
			notes->bytes[kind] = guess.best[kind];
}

static size_t record_bytes(const uint8_t *data, size_t left, struct gt_translate_notes *notes)
{
	uint32_t kind = left >= sizeof(kind) ? kind_at(data) : 0;

	if (!kind)
		return 0;
	if (!is_known(notes, kind))
		find_lengths(data, left, notes);
	return is_known(notes, kind) && notes->bytes[kind] <= left ? notes->bytes[kind] : 0;
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
