/* SPDX-License-Identifier: Apache-2.0
 *
 * An event is its kind, a mask of the fields that have changed, and the differences; numbers of 7
 * bits a byte, the lowest first. What changes most stands first in the tables: then masks are
 * short.
 */
#include "pipeline/recorder/event_code.h"

#include <string.h>

/* What a field holds. */
enum field_type {
	FIELD_NUMBER, /* @limit 0: any; else an enum, below it */
	FIELD_FLAG,
	FIELD_STRING, /* or NULL */
	FIELD_NAME,   /* a string that is always there */
	FIELD_STACK,
	FIELD_FRAME,
	FIELD_TEXT, /* characters, kept as an interned string */
};

struct field {
	uint16_t offset;
	uint8_t size, type;
	uint32_t limit;
};

#define SIZE_OF(member) sizeof(((struct gt_event *)0)->member)
#define FIELD(member, what)                                                                        \
	{                                                                                          \
		offsetof(struct gt_event, member), SIZE_OF(member), what, 0                        \
	}
#define NUMBER(member) FIELD(member, FIELD_NUMBER)
#define ENUM(member, values)                                                                       \
	{                                                                                          \
		offsetof(struct gt_event, member), SIZE_OF(member), FIELD_NUMBER, values           \
	}
#define FLAG(member)   FIELD(member, FIELD_FLAG)
#define STRING(member) FIELD(member, FIELD_STRING)
#define NAME(member)   FIELD(member, FIELD_NAME)
#define STACK(member)  FIELD(member, FIELD_STACK)
#define TEXT(member)   FIELD(member, FIELD_TEXT)
/* 8 bytes of an array, or of a struct without pointers */
#define WORD(member, at)                                                                           \
	{                                                                                          \
		offsetof(struct gt_event, member) + 8 * (at), 8, FIELD_NUMBER, 0                   \
	}

#define HOST NUMBER(start), NUMBER(end), NUMBER(correlation), STACK(stack), NUMBER(tid)

#define PLACE                                                                                      \
	NUMBER(place.stream), NUMBER(place.context), NUMBER(place.device), NUMBER(place.channel),  \
		FLAG(place.has_channel)

#define LAUNCH                                                                                     \
	NUMBER(launch.start), STACK(launch.stack), NUMBER(launch.tid), FLAG(launch.known),         \
		FLAG(launch.first), STRING(launch.nvtx), NUMBER(launch.range), NUMBER(launch.op),  \
		STACK(launch.forward)

static const struct field api[] = {
	HOST,
	NAME(api.name),
	NUMBER(api.cbid),
	ENUM(api.domain, GT_API_DOMAIN_COUNT_),
	FLAG(api.enqueues),
	NUMBER(api.op),
	NUMBER(api.result),
	ENUM(api.block.op, GT_BLOCK_OP_COUNT_),
	ENUM(api.block.kind, GT_BLOCK_KIND_COUNT_),
	NUMBER(api.block.device),
	NUMBER(api.block.address),
	NUMBER(api.block.bytes),
	NUMBER(api.block.handle),
	NUMBER(api.block.context),
};

static const struct field kernel[] = {
	HOST,
	LAUNCH,
	NAME(kernel.name),
	PLACE,
	NUMBER(kernel.grid[0]),
	NUMBER(kernel.grid[1]),
	NUMBER(kernel.grid[2]),
	NUMBER(kernel.block[0]),
	NUMBER(kernel.block[1]),
	NUMBER(kernel.block[2]),
	NUMBER(kernel.registers),
	NUMBER(kernel.static_shared),
	NUMBER(kernel.dynamic_shared),
	NUMBER(kernel.shared_executed),
	NUMBER(kernel.blocks_per_sm_micro),
	NUMBER(kernel.warps_per_sm_micro),
	NUMBER(kernel.est_occupancy_percent),
	NUMBER(kernel.theoretical_occupancy_percent),
	NUMBER(kernel.queued),
	NUMBER(kernel.submitted),
	NUMBER(kernel.graph_node_id),
	NUMBER(kernel.grid_id),
	NUMBER(kernel.graph_id),
	STACK(kernel.created),
	WORD(kernel.cluster, 0), /* two numbers: there is room for 64 fields */
	NUMBER(kernel.cluster[2]),
	NUMBER(kernel.local_per_thread),
	FLAG(kernel.cooperative),
	FLAG(kernel.has_priority),
	NUMBER(kernel.priority),
	FLAG(kernel.has_occupancy),
	NUMBER(kernel.resident_blocks),
	NUMBER(kernel.limit_blocks),
	NUMBER(kernel.limit_warps),
	NUMBER(kernel.limit_registers),
	NUMBER(kernel.limit_shared),
	STRING(kernel.mangled),
	WORD(kernel.library, 0),
	WORD(kernel.library, 1),
	WORD(kernel.library, 2),
	WORD(kernel.library, 3),
	WORD(kernel.library, 4),
	WORD(kernel.library, 5),
	WORD(kernel.library, 6),
	WORD(kernel.library, 7),
	WORD(kernel.library, 8),
	WORD(kernel.library, 9),
	WORD(kernel.library, 10),
};

#define MEMORY                                                                                     \
	HOST, LAUNCH, NUMBER(memory.bytes), PLACE, ENUM(memory.copy, GT_COPY_KIND_COUNT_),         \
		ENUM(memory.src, GT_MEMORY_KIND_COUNT_), ENUM(memory.dst, GT_MEMORY_KIND_COUNT_),  \
		NUMBER(memory.value), FLAG(memory.peer), NUMBER(memory.src_device),                \
		NUMBER(memory.dst_device), NUMBER(memory.graph_id), NUMBER(memory.graph_node_id),  \
		STACK(memory.created)

static const struct field memory[] = {MEMORY};

static const struct field graph[] = {
	HOST,
	LAUNCH,
	PLACE,
	NUMBER(graph.graph_id),
	NUMBER(graph.nodes),
	FLAG(graph.has_end_device),
	NUMBER(graph.end_device),
	STACK(graph.created),
};

static const struct field synchronization[] = {
	HOST,
	LAUNCH,
	PLACE,
	ENUM(sync.kind, GT_SYNC_KIND_COUNT_),
	NUMBER(sync.cuda_event),
	FLAG(sync.has_wait_on),
	NUMBER(sync.wait_on_stream),
	NUMBER(sync.wait_on_correlation),
	NUMBER(sync.thread),
	NUMBER(sync.graph_id),
	NUMBER(sync.graph_node_id),
	STACK(sync.created),
};

static const struct field overhead[] = {HOST, PLACE, NAME(overhead.name), STRING(overhead.kernel)};

static const struct field range[] = {
	HOST,
	NUMBER(range.id),
	NAME(range.name),
	STRING(range.domain),
	STRING(range.category),
	PLACE,
	NUMBER(range.color),
	FLAG(range.unfinished),
	FLAG(range.on_gpu),
	FLAG(range.detached),
	FLAG(range.is_operator),
	FLAG(range.is_backward),
	FLAG(range.has_sequence),
	NUMBER(range.sequence),
	STRING(range.dims),
	WORD(range.payload, 0),
	WORD(range.payload, 1),
	WORD(range.payload, 2),
	WORD(range.payload, 3),
	WORD(range.payload, 4),
	WORD(range.payload, 5),
	WORD(range.payload, 6),
	WORD(range.payload, 7),
	WORD(range.payload, 8),
	WORD(range.payload, 9),
	WORD(range.payload, 10),
	WORD(range.payload, 11),
	FLAG(range.is_library),
	WORD(range.library, 0),
	WORD(range.library, 1),
	WORD(range.library, 2),
	WORD(range.library, 3),
	WORD(range.library, 4),
	WORD(range.library, 5),
	WORD(range.library, 6),
	WORD(range.library, 7),
	WORD(range.library, 8),
	WORD(range.library, 9),
	WORD(range.library, 10),
	FLAG(range.is_os),
	WORD(range.os, 0),
	WORD(range.os, 1),
	STRING(range.file),
	FLAG(range.is_unified),
};

_Static_assert(sizeof(struct gt_os_facts) == 16, "WORDs of it");
_Static_assert(sizeof(struct gt_unified_facts) <= 80, "in the place of a library call");
_Static_assert(sizeof(struct gt_library_call) == 88, "WORDs of it");

static const struct field frame[] = {
	HOST,
	FIELD(frame.frame, FIELD_FRAME),
	NUMBER(frame.first_line),
	NUMBER(frame.last_line),
	NUMBER(frame.calls),
};

static const struct field sample[] = {HOST, FLAG(sample.waiting)};

static const struct field counter[] = {
	HOST,
	NUMBER(counter.value),
	NUMBER(counter.real),
	NAME(counter.name),
	STRING(counter.series),
	PLACE,
	FLAG(counter.is_real),
	FLAG(counter.on_gpu),
};

static const struct field tensor[] = {
	HOST,
	NUMBER(tensor.address),
	NUMBER(tensor.bytes),
	NUMBER(tensor.allocated),
	NUMBER(tensor.reserved),
	NUMBER(tensor.device),
	NUMBER(tensor.device_type),
};

static const struct field stream[] = {HOST, PLACE, NUMBER(stream.priority), STRING(stream.name)};

static const struct field thread[] = {HOST, NAME(thread.name)};

static const struct field note[] = {
	HOST,
	LAUNCH,
	PLACE,
	TEXT(note.name),
	TEXT(note.what),
	TEXT(note.cause),
	NUMBER(note.count),
	TEXT(note.of_what),
};

/* Kinds that no trace holds as events have none: devices are in the metadata. */
#define KIND(kind, fields) [GT_EVENT_##kind] = {fields, sizeof(fields) / sizeof(fields[0])}
static const struct {
	const struct field *fields;
	uint32_t count;
} kinds[GT_EVENT_COUNT_] = {
	KIND(API, api),       KIND(KERNEL, kernel),        KIND(MEMCPY, memory),
	KIND(MEMSET, memory), KIND(SYNC, synchronization), KIND(OVERHEAD, overhead),
	KIND(RANGE, range),   KIND(MARK, range),           KIND(FRAME, frame),
	KIND(SAMPLE, sample), KIND(COUNTER, counter),      KIND(CONTEXT, stream),
	KIND(STREAM, stream), KIND(THREAD, thread),        KIND(NOTE, note),
	KIND(GRAPH, graph),   KIND(TENSOR, tensor),
};
#define ROOM(fields)                                                                               \
	_Static_assert(sizeof(fields) / sizeof(fields[0]) <= GT_EVENT_CODE_FIELDS,                 \
		       "GT_EVENT_CODE_FIELDS")
ROOM(kernel);
ROOM(memory);
ROOM(range);

static size_t put_number(uint8_t *out, uint64_t value)
{
	size_t n = 0;

	for (; value >> 7; value >>= 7)
		out[n++] = (uint8_t)(value | 0x80);
	out[n++] = (uint8_t)value;
	return n;
}

/* 0: not whole. */
static size_t get_number(const uint8_t *in, size_t size, uint64_t *ret_value)
{
	size_t n = 0;

	*ret_value = 0;
	for (; n < size && n < 10; n++) {
		*ret_value |= (uint64_t)(in[n] & 0x7f) << (7 * n);
		if (!(in[n] & 0x80))
			return n + 1;
	}
	return 0;
}

/* Small differences, either way, become small numbers. */
static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t) - (int64_t)(difference >> 63);
}

static uint64_t unzigzag(uint64_t number)
{
	return number >> 1 ^ (uint64_t) - (int64_t)(number & 1);
}

static uint64_t load(const struct gt_event *event, const struct field *field,
		     struct gt_intern *strings)
{
	const void *from = (const char *)event + field->offset;
	uint64_t word = 0;
	const char *text;

	if (field->type == FIELD_TEXT) {
		memcpy(&text, from, sizeof(text));
		return text ? (uint64_t)(uintptr_t)gt_intern_cstr(strings, text) : 0;
	}
	if (field->size == 8)
		memcpy(&word, from, 8);
	else if (field->size == 4)
		memcpy(&word, from, 4);
	else
		memcpy(&word, from, 1);
	return word;
}

size_t gt_event_code_put(struct gt_event_code *code, const struct gt_event *event,
			 struct gt_intern *strings, uint8_t *out)
{
	const struct field *fields = kinds[event->kind].fields;
	uint64_t *last = code->last[event->kind];
	uint64_t numbers[GT_EVENT_CODE_FIELDS], mask = 0;
	uint32_t changed = 0;
	size_t n = 1;

	for (uint32_t i = 0; i < kinds[event->kind].count; i++) {
		uint64_t word = load(event, &fields[i], strings);

		if (word == last[i])
			continue;
		mask |= UINT64_C(1) << i;
		numbers[changed++] = zigzag(word - last[i]);
		last[i] = word;
	}
	out[0] = (uint8_t)event->kind;
	n += put_number(out + n, mask);
	for (uint32_t i = 0; i < changed; i++)
		n += put_number(out + n, numbers[i]);
	return n;
}

static const void *follow(const struct field *field, const struct gt_event_addresses *a,
			  const void *pointer)
{
	if (!a || !pointer)
		return pointer;
	if (field->type == FIELD_STACK)
		return a->stack(a->context, pointer);
	if (field->type == FIELD_FRAME)
		return a->frame(a->context, pointer);
	return a->string(a->context, pointer);
}

/* False: nothing can be made of it. */
static bool store_pointer(struct gt_event *event, const struct field *field,
			  const struct gt_event_addresses *addresses, uint64_t word)
{
	const void *pointer = follow(field, addresses, (const void *)(uintptr_t)word);

	if (field->type == FIELD_TEXT && pointer)
		pointer = ((const struct gt_string *)pointer)->text;
	memcpy((char *)event + field->offset, &pointer, sizeof(pointer));
	return pointer || (field->type != FIELD_NAME && field->type != FIELD_FRAME);
}

static bool store(struct gt_event *event, const struct field *field,
		  const struct gt_event_addresses *addresses, uint64_t word)
{
	char *to = (char *)event + field->offset;

	if (field->type > FIELD_FLAG)
		return store_pointer(event, field, addresses, word);
	if (field->type == FIELD_FLAG)
		word = word != 0;
	if (field->limit && word >= field->limit)
		return false;
	memcpy(to, &word, field->size); /* little endian, as all that CUDA runs on */
	return true;
}

/* All fields have their words in @last. */
static bool make_event(enum gt_event_kind kind, const uint64_t *last,
		       const struct gt_event_addresses *addresses, struct gt_event *event)
{
	bool usable = true;

	memset(event, 0, sizeof(*event));
	event->kind = kind;
	for (uint32_t i = 0; i < kinds[kind].count; i++)
		usable &= store(event, &kinds[kind].fields[i], addresses, last[i]);
	if (kind == GT_EVENT_RANGE || kind == GT_EVENT_MARK)
		event->range.payload[sizeof(event->range.payload) - 1] = 0;
	return usable && event->end >= event->start && (kind != GT_EVENT_NOTE || event->note.name);
}

size_t gt_event_code_get(struct gt_event_code *code, const uint8_t *in, size_t size,
			 const struct gt_event_addresses *addresses, struct gt_event *ret_event)
{
	uint64_t mask, number, *last;
	size_t n, length;

	if (!size || in[0] >= GT_EVENT_COUNT_ || !kinds[in[0]].count)
		return 0;
	last = code->last[in[0]];
	length = get_number(in + 1, size - 1, &mask);
	n = 1 + length;
	for (uint32_t i = 0; length && i < kinds[in[0]].count; i++) {
		if (!(mask >> i & 1))
			continue;
		length = get_number(in + n, size - n, &number);
		n += length;
		last[i] += unzigzag(number);
	}
	if (!length)
		return 0;
	if (!make_event((enum gt_event_kind)in[0], last, addresses, ret_event))
		ret_event->kind = GT_EVENT_COUNT_;
	return n;
}
