/* SPDX-License-Identifier: Apache-2.0
 *
 * Records without CUPTI, see the header. If the length of a kind was not noted (its first record
 * was not read in time), lengths are tried until the records form a chain up to the end of the
 * buffer: records of one kind are equally long. Checking only the next record is not enough: fields
 * that a newer CUPTI appended may look like the kind of another record.
 */
#include "collectors/cupti/replay.h"

#include <string.h>

#include "collectors/call/kernel_names.h"
#include "collectors/cupti/buffers.h"
#include "collectors/cupti/records/layout.h"
#include "core/correlate.h"
#include "core/guest/clock.h"
#include "core/guest/memory.h"
#include "core/spool_view.h"

/* Newer CUPTIs append fields to those of 11.8; twice the largest growth so far. */
#define GROWTH_MAX   96u
#define RECORD_BYTES 1024u
/* No GPU operation takes a day. */
#define WORK_MAX_NS  (86400ull * 1000000000u)
/* Bounds the search, whatever the bytes are. */
#define STEPS_MAX    (1u << 20)

/* Sizes in CUPTI 11.8, the smallest of each kind. */
static const uint16_t least_bytes[GT_TRANSLATE_KINDS] = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = sizeof(CUpti_ActivityMemcpy5),
	[CUPTI_ACTIVITY_KIND_MEMSET] = sizeof(CUpti_ActivityMemset4),
	[CUPTI_ACTIVITY_KIND_KERNEL] = sizeof(CUpti_ActivityKernel8),
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = sizeof(CUpti_ActivityKernel8),
	[CUPTI_ACTIVITY_KIND_DRIVER] = sizeof(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_RUNTIME] = sizeof(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = sizeof(CUpti_ActivityExternalCorrelation),
	[CUPTI_ACTIVITY_KIND_DEVICE] = sizeof(CUpti_ActivityDevice4),
	[CUPTI_ACTIVITY_KIND_CONTEXT] = sizeof(CUpti_ActivityContext),
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = sizeof(CUpti_ActivityOverhead),
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = sizeof(CUpti_ActivityMemcpyPtoP4),
	[CUPTI_ACTIVITY_KIND_CUDA_EVENT] = sizeof(CUpti_ActivityCudaEvent),
	[CUPTI_ACTIVITY_KIND_STREAM] = sizeof(CUpti_ActivityStream),
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = sizeof(CUpti_ActivitySynchronization),
	[CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API] = sizeof(CUpti_ActivityAPI),
	[CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER] = sizeof(CUpti_ActivityUnifiedMemoryCounter2),
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = sizeof(CUpti_ActivityGraphTrace),
	[CUPTI_ACTIVITY_KIND_MEMORY2] = sizeof(CUpti_ActivityMemory3),
	[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = sizeof(CUpti_ActivityMemoryPool2),
	[GT_CUPTI_KIND_HOST_NODE] = sizeof(struct gt_cupti_host_node),
	[GT_CUPTI_KIND_HOST_LAUNCH] = sizeof(struct gt_cupti_host_launch),
};

/* The process has read such a record, or @notes were completed by find_lengths. */
static bool is_known(const struct gt_translate_notes *notes, uint32_t kind)
{
	size_t least = least_bytes[kind] ? least_bytes[kind] : sizeof(CUpti_Activity);

	return notes->bytes[kind] >= least && notes->bytes[kind] <= RECORD_BYTES;
}

/* 0: not a kind that can be read here. Records that the process did not know either are only passed
 * over. */
static uint32_t kind_at(const struct gt_translate_notes *notes, const uint8_t *data)
{
	uint32_t kind;

	memcpy(&kind, data, sizeof(kind));
	return kind < GT_TRANSLATE_KINDS && (least_bytes[kind] || is_known(notes, kind)) ? kind : 0;
}

/* Offsets in records of GPU work. 0: no such kind, as each record begins with its kind. */
#define TIMES(type)                                                                                \
	{                                                                                          \
		offsetof(type, start), offsetof(type, end), offsetof(type, correlationId)          \
	}
static const struct {
	uint16_t start, end, correlation;
} times_at[GT_TRANSLATE_KINDS] = {
	[CUPTI_ACTIVITY_KIND_KERNEL] = TIMES(CUpti_ActivityKernel8),
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = TIMES(CUpti_ActivityKernel8),
	[CUPTI_ACTIVITY_KIND_MEMCPY] = TIMES(CUpti_ActivityMemcpy5),
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = TIMES(CUpti_ActivityMemcpyPtoP4),
	[CUPTI_ACTIVITY_KIND_MEMSET] = TIMES(CUpti_ActivityMemset4),
	[CUPTI_ACTIVITY_KIND_GRAPH_TRACE] = TIMES(CUpti_ActivityGraphTrace),
};

uint16_t gt_cupti_replay_end_at(uint32_t kind)
{
	return kind < GT_TRANSLATE_KINDS ? times_at[kind].end : 0;
}

/* False: not a record of GPU work. */
static bool times_of(const uint8_t *record, uint32_t kind, uint64_t *ret_start, uint64_t *ret_end)
{
	if (!times_at[kind].end)
		return false;
	memcpy(ret_start, record + times_at[kind].start, sizeof(*ret_start));
	memcpy(ret_end, record + times_at[kind].end, sizeof(*ret_end));
	return true;
}

/* Bytes in the middle of another record rarely look like two times of one clock, and work that is
 * under way has a launch. */
static bool may_be_record(const uint8_t *record, uint32_t kind)
{
	uint64_t start, end;
	uint32_t correlation;

	if (!times_of(record, kind, &start, &end))
		return true;
	memcpy(&correlation, record + times_at[kind].correlation, sizeof(correlation));
	if (!end)
		return correlation != 0;
	return start && (start < end ? end - start : start - end) < WORK_MAX_NS;
}

/* Lengths of kinds, 0: not known, and how far a chain of them reaches. */
struct guess {
	const struct gt_translate_notes *notes;
	const uint8_t *data;
	size_t left;
	size_t end; /* least end of the last record; unfinished buffer: end of nonzero bytes */
	uint32_t steps;
	uint16_t bytes[GT_TRANSLATE_KINDS];
	uint16_t best[GT_TRANSLATE_KINDS]; /* lengths with the longest chain */
	size_t best_at;
};

static bool chain_continues(struct guess *guess, size_t at);

/* The record at @at has a kind of unknown length. */
static bool try_lengths(struct guess *guess, size_t at, uint32_t kind)
{
	for (size_t bytes = least_bytes[kind]; bytes <= least_bytes[kind] + GROWTH_MAX;
	     bytes += 8) {
		if (bytes > guess->left - at)
			break;
		guess->bytes[kind] = (uint16_t)bytes;
		if (chain_continues(guess, at + bytes))
			return true;
	}
	guess->bytes[kind] = 0;
	return false;
}

/* Follows the chain from @at with the known lengths; recurses once per kind at most. */
static bool chain_continues(struct guess *guess, size_t at)
{
	while (at < guess->end && guess->left - at >= sizeof(uint32_t) &&
	       guess->steps < STEPS_MAX) {
		uint32_t kind = kind_at(guess->notes, guess->data + at);

		guess->steps++;
		if (kind && !guess->bytes[kind])
			return try_lengths(guess, at, kind);
		if (!kind || guess->bytes[kind] > guess->left - at ||
		    !may_be_record(guess->data + at, kind))
			break;
		at += guess->bytes[kind];
	}
	if (at > guess->best_at) {
		guess->best_at = at;
		memcpy(guess->best, guess->bytes, sizeof(guess->best));
	}
	return at >= guess->end;
}

size_t gt_cupti_replay_used(const uint8_t *data, size_t valid, bool unfinished)
{
	while (unfinished && valid && !data[valid - 1])
		valid--;
	return valid;
}

/* Notes the lengths with the longest chain through @left bytes at @data. */
static void find_lengths(const uint8_t *data, size_t left, bool unfinished,
			 struct gt_translate_notes *notes)
{
	struct guess guess = {.notes = notes, .data = data, .left = left};

	guess.end = gt_cupti_replay_used(data, left, unfinished);
	for (uint32_t kind = 0; kind < GT_TRANSLATE_KINDS; kind++)
		if (is_known(notes, kind))
			guess.bytes[kind] = notes->bytes[kind];
	chain_continues(&guess, 0);
	for (uint32_t kind = 0; kind < GT_TRANSLATE_KINDS; kind++)
		if (guess.best[kind])
			notes->bytes[kind] = guess.best[kind];
}

static size_t record_bytes(const uint8_t *data, size_t left, bool unfinished,
			   struct gt_translate_notes *notes)
{
	uint32_t kind = left >= sizeof(kind) ? kind_at(notes, data) : 0;

	if (!kind)
		return 0;
	if (!is_known(notes, kind))
		find_lengths(data, left, unfinished, notes);
	return is_known(notes, kind) && notes->bytes[kind] <= left ? notes->bytes[kind] : 0;
}

static bool is_text(const struct gt_string *string)
{
	return string && strlen(string->text) == string->length;
}

/* Whether @mangled becomes @name when it is translated: by what was noted, not by the demangler of
 * this machine. */
static bool has_learned(const struct gt_cupti_replay *how, const struct gt_string *mangled,
			const struct gt_string *name)
{
	struct gt_translate *t = how->translate;

	return is_text(mangled) &&
	       gt_demangle_learn(t->demangle,
				 gt_intern_get(t->strings, mangled->text, mangled->length),
				 gt_intern_get(t->strings, name->text, name->length));
}

/* The name that was at the address @pointer, from the notes. NULL: none was read there. */
static const char *name_of(const struct gt_cupti_replay *how, const char *pointer)
{
	uint64_t address = gt_spool_address(pointer);
	const struct gt_translate_name *note = gt_translate_name_slot(how->notes, address);
	const struct gt_string *name, *mangled;

	if (!pointer || !how->view)
		return pointer;
	name = note->address == address ? gt_spool_view_string(how->view, note->name) : NULL;
	if (!is_text(name))
		return NULL;
	mangled = note->mangled ? gt_spool_view_string(how->view, note->mangled) : NULL;
	return has_learned(how, mangled, name) ? mangled->text : name->text;
}

/* CUPTI may show a record the name at another address than the callback of the launch. */
static const char *launched_name(const struct gt_cupti_replay *how, const char *pointer,
				 uint32_t correlation)
{
	const char *name = gt_kernel_names_find(how->kernels, gt_spool_address(pointer));
	struct gt_correlate_aim aim;

	if (!name && how->calls && gt_correlate_aim_of(how->calls, correlation, &aim))
		name = gt_kernel_names_find(how->kernels, aim.aimed ? aim.symbol : 0);
	return name;
}

static const char *kernel_name_of(const struct gt_cupti_replay *how,
				  const CUpti_ActivityKernel8 *kernel)
{
	const char *name = name_of(how, kernel->name);

	if (!name && how->kernels)
		name = launched_name(how, kernel->name, kernel->correlationId);
	return name || !kernel->name ? name : "(name not recovered)";
}

/* It ends lines in which "(name not recovered)" alone would say nothing. */
static const char *device_name_of(const struct gt_cupti_replay *how, const char *pointer)
{
	const char *name = name_of(how, pointer);

	return name ? name : "GPU (name not recovered)";
}

/* Work that had not ended: its launch is reported as in flight. */
static bool is_under_way(const uint8_t *record, uint32_t kind)
{
	uint64_t start, end;

	return times_of(record, kind, &start, &end) && !end;
}

static void replay_record(const struct gt_cupti_replay *how, uint8_t *record, uint32_t kind)
{
	if ((how->unfinished && is_under_way(record, kind)) || how->notes->others >> kind & 1)
		return;
	if (kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		CUpti_ActivityKernel8 *kernel = (void *)record;

		kernel->name = kernel_name_of(how, kernel);
	} else if (kind == CUPTI_ACTIVITY_KIND_DEVICE) {
		CUpti_ActivityDevice4 *device = (void *)record;

		device->name = device->name ? device_name_of(how, device->name) : NULL;
	}
	gt_translate_record(how->translate, (const CUpti_Activity *)(const void *)record);
}

void gt_cupti_replay_learn(const struct gt_cupti_replay *how, const uint8_t *data, size_t valid)
{
	find_lengths(data, valid, how->unfinished, how->notes);
}

size_t gt_cupti_replay(const struct gt_cupti_replay *how, const uint8_t *data, size_t valid)
{
	_Alignas(8) uint8_t record[RECORD_BYTES];
	size_t at = 0, bytes;

	while (at < valid &&
	       (bytes = record_bytes(data + at, valid - at, how->unfinished, how->notes))) {
		memcpy(record, data + at, bytes);
		replay_record(how, record, kind_at(how->notes, data + at));
		at += bytes;
	}
	return valid - at;
}

void gt_cupti_replay_delivered(struct gt_translate *translate)
{
	struct gt_translate_notes *notes = translate->notes;
	struct gt_cupti_replay how = {.translate = translate};
	struct gt_cupti_buffer buffer;
	size_t left;

	translate->now = gt_clock_from_monotonic(translate->clock, gt_clock_now());
	how.notes = notes ? notes : gt_memory_map(sizeof(*notes));
	if (how.notes && !notes)
		gt_translate_note_lengths(how.notes, translate->version);
	while (how.notes && gt_cupti_buffers_next(&buffer)) {
		translate->borrowed = buffer.foreign;
		buffer.sampled = gt_clock_newest(translate->clock);
		gt_cupti_buffers_begin(&buffer, translate->now);
		translate->outside = gt_cupti_buffers_are_outside(&buffer);
		left = gt_cupti_replay(&how, buffer.data, buffer.valid);
		gt_ledger_add(translate->ledger, GT_LEDGER_RECORDS_UNREADABLE_BYTES, left);
		buffer.valid -= left;
		if (translate->read)
			translate->read(translate->context);
		gt_cupti_buffers_recycle(&buffer, translate->now);
	}
	if (how.notes && !notes)
		gt_memory_unmap(how.notes, sizeof(*how.notes));
}
