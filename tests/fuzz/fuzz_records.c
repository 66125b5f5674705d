/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as activity records. The first byte says which CUPTI they come from, or that they
 * are the buffer of a process that is gone:
 *
 *   live    byte 1: what is known of the clocks; then record behind record, each as long as that
 * CUPTI makes its kind, the place of a name being a number in the table below replay  lengths of
 * the kinds that were noted, in units of 8, places of four noted names, then the buffer
 *
 * Each record is counted once, what becomes of it is a whole event, and what lies behind the form
 * of CUPTI 11.8 does not matter.
 */
#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/replay.h"
#include "collectors/cupti/records/sanity.h"
#include "core/guest/log.h"
#include "core/spool_view.h"
#include "tests/fuzz/fuzz.h"

#include <cupti.h>
#include <stdlib.h>
#include <string.h>

#define SECOND      1000000000ull
#define EPOCH       (1790000000ull * SECOND)
#define REPLAY      0x80
#define OVERHEAD_AT offsetof(CUpti_ActivityOverhead3, overheadData)
#define DEVICE_AT   offsetof(CUpti_ActivityDevice4, name)
#define KERNEL_AT   offsetof(CUpti_ActivityKernel8, name)

static const uint32_t versions[] = {18, 22, 26, 130000, 990000};
#define FORMS 4u /* the last version has that before it */

/* Bytes by version, what it counts as, and how many events it becomes. */
static const struct form {
	uint32_t kind;
	uint16_t bytes[FORMS];
	uint16_t name_at; /* 0: it has none */
	enum gt_ledger_key counted;
	int least, most;
} forms[] = {
	{CUPTI_ACTIVITY_KIND_MEMCPY, {88, 88, 96, 96}, 0, GT_LEDGER_RECORDS_MEMCPY, 1, 1},
	{CUPTI_ACTIVITY_KIND_MEMSET, {88, 88, 88, 88}, 0, GT_LEDGER_RECORDS_MEMSET, 1, 1},
	{CUPTI_ACTIVITY_KIND_KERNEL,
	 {200, 208, 208, 216},
	 KERNEL_AT,
	 GT_LEDGER_RECORDS_KERNEL,
	 1,
	 1},
	{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	 {200, 208, 208, 216},
	 KERNEL_AT,
	 GT_LEDGER_RECORDS_KERNEL,
	 1,
	 1},
	{CUPTI_ACTIVITY_KIND_MEMCPY2, {96, 96, 96, 96}, 0, GT_LEDGER_RECORDS_MEMCPY, 1, 1},
	{CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, {40, 40, 56, 56}, 0, GT_LEDGER_RECORDS_SYNC, 0, 1},
	{CUPTI_ACTIVITY_KIND_OVERHEAD, {40, 56, 56, 56}, 0, GT_LEDGER_RECORDS_OVERHEAD, 0, 1},
	{CUPTI_ACTIVITY_KIND_DEVICE, {176, 184, 184, 184}, DEVICE_AT, GT_LEDGER_RECORDS_FACT, 0, 1},
	{CUPTI_ACTIVITY_KIND_CONTEXT, {16, 24, 32, 32}, 0, GT_LEDGER_RECORDS_FACT, 1, 1},
	{CUPTI_ACTIVITY_KIND_STREAM, {24, 24, 24, 24}, 0, GT_LEDGER_RECORDS_FACT, 1, 1},
	{CUPTI_ACTIVITY_KIND_GRAPH_TRACE, {48, 56, 56, 56}, 0, GT_LEDGER_RECORDS_GRAPH, 1, 1},
	{CUPTI_ACTIVITY_KIND_CUDA_EVENT, {24, 24, 56, 56}, 0, GT_LEDGER_RECORDS_FACT, 0, 0},
	{CUPTI_ACTIVITY_KIND_DRIVER, {40, 40, 40, 40}, 0, GT_LEDGER_RECORDS_API, 0, 0},
	{CUPTI_ACTIVITY_KIND_RUNTIME, {40, 40, 40, 40}, 0, GT_LEDGER_RECORDS_API, 0, 0},
	{CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API, {40, 40, 40, 40}, 0, GT_LEDGER_RECORDS_API, 0, 0},
	{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
	 {24, 24, 24, 24},
	 0,
	 GT_LEDGER_RECORDS_API,
	 0,
	 0},
	{CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
	 {64, 64, 104, 104},
	 0,
	 GT_LEDGER_RECORDS_UNIFIED,
	 0,
	 1},
	{CUPTI_ACTIVITY_KIND_MEMORY2, {120, 120, 128, 128}, 0, GT_LEDGER_RECORDS_MEMORY, 0, 1},
	{CUPTI_ACTIVITY_KIND_MEMORY_POOL, {72, 72, 72, 80}, 0, GT_LEDGER_RECORDS_MEMORY, 0, 1},
	{GT_CUPTI_KIND_HOST_NODE, {56, 56, 56, 56}, 0, GT_LEDGER_RECORDS_SYNC, 0, 1},
	{GT_CUPTI_KIND_HOST_LAUNCH, {48, 48, 48, 48}, 0, GT_LEDGER_RECORDS_SYNC, 0, 1},
	/* any other kind */
	{0, {64, 64, 64, 64}, 0, GT_LEDGER_RECORDS_UNKNOWN, 0, 0},
};
#define FORM_COUNT (sizeof(forms) / sizeof(forms[0]))

static const char *const names[] = {NULL,
				    "kernel",
				    "_Z9transposePKfPf",
				    "",
				    "_ZN2at6native12_GLOBAL__N_1",
				    "not \xff UTF-8 \x80",
				    "a\nb\"c\\"};

static struct gt_clock trace_clock;
static struct gt_ledger ledger;
static struct gt_translate translate;
static struct gt_event newest;
static int event_count;

static void need(bool truth)
{
	if (!truth)
		abort();
}

static void check_string(const struct gt_string *string)
{
	need(string && string->text[string->length] == 0);
}

static void check_event(const struct gt_event *event)
{
	need((unsigned)event->kind < GT_EVENT_COUNT_ && event->end >= event->start);
	need(!event->launch.known && !event->stack);
	if (event->kind == GT_EVENT_KERNEL)
		check_string(event->kernel.name);
	else if (event->kind == GT_EVENT_OVERHEAD)
		check_string(event->overhead.name);
	else if (event->kind == GT_EVENT_DEVICE)
		check_string(event->device.name);
	else if (event->kind == GT_EVENT_NOTE)
		need(event->note.name && event->note.what && event->note.cause);
	else if (event->kind == GT_EVENT_MEMCPY || event->kind == GT_EVENT_MEMSET)
		need((unsigned)event->memory.copy < GT_COPY_KIND_COUNT_ &&
		     (unsigned)event->memory.src < GT_MEMORY_KIND_COUNT_ &&
		     (unsigned)event->memory.dst < GT_MEMORY_KIND_COUNT_);
	else if (event->kind == GT_EVENT_SYNC)
		need((unsigned)event->sync.kind < GT_SYNC_KIND_COUNT_);
}

static void take(void *context, struct gt_event *event)
{
	(void)context;
	check_event(event);
	newest = *event;
	event_count++;
}

static void take_tie(void *context, uint32_t correlation, uint32_t id)
{
	(void)context;
	(void)correlation;
	(void)id;
}

/* Strings are kept from input to input: there is a limit to them. */
static void start(uint8_t clocks)
{
	static struct gt_intern *strings;
	static struct gt_demangle *demangle;

	if (!strings) {
		gt_log_set_level(GT_LOG_QUIET);
		strings = gt_intern_new(8 << 20);
		demangle = gt_demangle_new(strings);
	}
	trace_clock = (struct gt_clock){.count = 1 + (clocks & 1),
					.trace_offset = (int64_t)(EPOCH - 100 * SECOND)};
	trace_clock.first = (struct gt_clock_sample){
		.monotonic = 100 * SECOND, .realtime = EPOCH, .ticks = 5000};
	trace_clock.samples[0] = trace_clock.first;
	trace_clock.samples[1] = (struct gt_clock_sample){
		.monotonic = 101 * SECOND, .realtime = EPOCH + SECOND, .ticks = 5000 + 3 * SECOND};
	memset(&ledger, 0, sizeof(ledger));
	memset(&translate, 0, sizeof(translate));
	translate.clock = &trace_clock;
	translate.strings = strings;
	translate.demangle = demangle;
	translate.ledger = &ledger;
	translate.session_start = EPOCH;
	translate.now = clocks & 2 ? EPOCH + 10 * SECOND : 0;
	translate.emit = take;
	translate.tie = take_tie;
	event_count = 0;
}

/* ---- live ---- */

static uint64_t records_counted(void)
{
	uint64_t sum = 0;

	for (int key = GT_LEDGER_RECORDS_KERNEL; key <= GT_LEDGER_RECORDS_INSANE; key++)
		sum += ledger.count[key];
	return sum + ledger.count[GT_LEDGER_RECORDS_UNIFIED] +
	       ledger.count[GT_LEDGER_RECORDS_MEMORY];
}

static const struct form *form_of(const uint8_t *data, size_t size)
{
	uint32_t kind = 0;
	size_t i = 0;

	memcpy(&kind, data, size < sizeof(kind) ? size : sizeof(kind));
	while (forms[i].kind && forms[i].kind != kind)
		i++;
	return &forms[i];
}

static void put_pointer(uint8_t *record, size_t at, const void *pointer)
{
	memcpy(record + at, &pointer, sizeof(pointer));
}

/* A record as CUPTI hands it out: of @bytes, its pointers valid. @ret_own is a name that whoever
 * reads the record has to free. */
static uint8_t *make_record(const struct form *form, const uint8_t *data, size_t size, size_t bytes,
			    char **ret_own)
{
	uint8_t *record = calloc(1, bytes);
	const char *name;

	need(record != NULL);
	memcpy(record, data, size < bytes ? size : bytes);
	*ret_own = NULL;
	if (form->name_at) {
		name = names[record[form->name_at] % (sizeof(names) / sizeof(names[0]))];
		if (form->kind == CUPTI_ACTIVITY_KIND_DEVICE && name && translate.version >= 130000)
			name = *ret_own = strdup(name);
		put_pointer(record, form->name_at, name);
	} else if (form->kind == CUPTI_ACTIVITY_KIND_OVERHEAD && bytes > OVERHEAD_AT) {
		put_pointer(record, OVERHEAD_AT, NULL);
		if (((CUpti_ActivityOverhead *)(void *)record)->overheadKind == 6u << 16)
			put_pointer(record, OVERHEAD_AT, malloc(16));
	}
	return record;
}

/* Translates it as version @version has it. False: it failed the look that a too new CUPTI's
 * get. */
static bool translate_one(const struct form *form, uint32_t version, size_t bytes,
			  const uint8_t *data, size_t size)
{
	uint64_t before = records_counted(), as_form = ledger.count[form->counted];
	uint64_t insane = ledger.count[GT_LEDGER_RECORDS_INSANE];
	uint8_t *record;
	char *own;

	translate.version = version;
	memset(translate.pools, 0, sizeof(translate.pools)); /* a pool as before is no event */
	record = make_record(form, data, size, bytes, &own);
	event_count = 0;
	gt_translate_record(&translate, record);
	free(record);
	insane = ledger.count[GT_LEDGER_RECORDS_INSANE] - insane;
	if (insane)
		free(own);
	need(records_counted() == before + 1);
	need(form->kind ==
		     CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER || /* of unknown counters, too */
	     ledger.count[form->counted] == as_form + !insane);
	need(insane ? event_count == 0 : event_count >= form->least && event_count <= form->most);
	return !insane;
}

static bool same_place(const struct gt_place *a, const struct gt_place *b)
{
	return a->device == b->device && a->context == b->context && a->stream == b->stream &&
	       a->channel == b->channel && a->has_channel == b->has_channel;
}

static bool same_kernel(const struct gt_kernel_event *a, const struct gt_kernel_event *b)
{
	return a->name == b->name && a->queued == b->queued && a->submitted == b->submitted &&
	       !memcmp(a->grid, b->grid, sizeof(a->grid)) &&
	       !memcmp(a->block, b->block, sizeof(a->block)) &&
	       !memcmp(a->cluster, b->cluster, sizeof(a->cluster)) &&
	       a->registers == b->registers && a->graph_node_id == b->graph_node_id &&
	       a->grid_id == b->grid_id && a->has_occupancy == b->has_occupancy &&
	       a->theoretical_occupancy_percent == b->theoretical_occupancy_percent &&
	       a->resident_blocks == b->resident_blocks && a->limit_blocks == b->limit_blocks &&
	       a->limit_warps == b->limit_warps && a->limit_registers == b->limit_registers &&
	       a->limit_shared == b->limit_shared;
}

static bool same_event(const struct gt_event *a, const struct gt_event *b)
{
	if (a->kind != b->kind || a->start != b->start || a->end != b->end || a->tid != b->tid)
		return false;
	if (a->kind == GT_EVENT_OVERHEAD) /* newer ones tell the call */
		return a->overhead.name == b->overhead.name;
	if (a->correlation != b->correlation || !same_place(&a->place, &b->place))
		return false;
	if (a->kind == GT_EVENT_KERNEL)
		return same_kernel(&a->kernel, &b->kernel);
	if (a->kind == GT_EVENT_MEMCPY || a->kind == GT_EVENT_MEMSET)
		return a->memory.bytes == b->memory.bytes && a->memory.copy == b->memory.copy &&
		       a->memory.dst == b->memory.dst && a->memory.value == b->memory.value;
	if (a->kind == GT_EVENT_DEVICE)
		return a->device.id == b->device.id && a->device.name == b->device.name;
	return true;
}

static void translate_live(const uint8_t *data, size_t size, uint32_t which)
{
	while (size) {
		const struct form *form = form_of(data, size);
		size_t bytes = form->bytes[which < FORMS ? which : FORMS - 1];
		struct gt_event oldest;
		int count;

		translate_one(form, versions[0], form->bytes[0], data, size);
		oldest = newest;
		count = event_count;
		if (translate_one(form, versions[which], bytes, data, size))
			need(event_count == count && (!count || same_event(&newest, &oldest)));
		data += bytes < size ? bytes : size;
		size -= bytes < size ? bytes : size;
	}
}

/* ---- replay ---- */

#define NOTED_NAMES 4u
#define REPLAY_HEAD (FORM_COUNT - 1 + NOTED_NAMES)
#define VIEW_BASE   4096u

static struct gt_translate_notes notes;

static void set_notes(const uint8_t *head)
{
	memset(notes.bytes, 0, sizeof(notes.bytes));
	for (size_t i = 0; i < FORM_COUNT - 1; i++)
		notes.bytes[forms[i].kind] = (uint16_t)(head[i] * 8);
	for (uint64_t i = 1; i <= NOTED_NAMES; i++) {
		uintptr_t name = VIEW_BASE + 8u * head[FORM_COUNT - 2 + i];

		*gt_translate_name_slot(&notes, i) = (struct gt_translate_name){
			.address = i, .name = (const struct gt_string *)name};
	}
}

static void replay_buffer(uint8_t clocks, const uint8_t *data, size_t size)
{
	uint8_t *buffer =
		malloc(size ? size : 1); /* of its own, so that a read behind it is seen */
	struct gt_spool_view view = {.data = buffer, .size = size, .base = VIEW_BASE};
	const struct gt_cupti_replay how = {
		.view = &view, .notes = &notes, .translate = &translate};
	uint64_t records;
	size_t left;
	int count;

	need(buffer != NULL);
	memcpy(buffer, data, size);
	left = gt_cupti_replay(&how, buffer, size);
	need(left <= size);
	count = event_count;
	records = records_counted();
	need((left < size) == (records > 0) && (uint64_t)count <= records);
	/* the lengths that were found out are those that it was read by; of what the records told
	 * nothing is kept */
	start(clocks);
	need(gt_cupti_replay(&how, buffer, size) == left);
	need(event_count == count && records_counted() == records);
	free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	start(data[1]);
	if (!(data[0] & REPLAY)) {
		translate_live(data + 2, size - 2,
			       data[0] % (sizeof(versions) / sizeof(versions[0])));
	} else if (size >= 2 + REPLAY_HEAD) {
		set_notes(data + 2);
		replay_buffer(data[1], data + 2 + REPLAY_HEAD, size - 2 - REPLAY_HEAD);
	}
	return 0;
}
