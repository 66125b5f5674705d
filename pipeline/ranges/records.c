/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX records -> ranges, marks, counters, names; see pipeline/ranges/ranges.h. Records tell
 * levels, so that a stack finds its order again after records were lost.
 */
#include <string.h>

#include "collectors/nvtx/early.h"
#include "collectors/nvtx/library.h"
#include "collectors/nvtx/payload.h"
#include "collectors/nvtx/record.h"
#include "collectors/nvtx/registry.h"
#include "core/guest/text.h"
#include "pipeline/ranges/internal.h"
#include "pipeline/ranges/operator_name.h"

/* Names of ranges may fill this much of the strings, so that one name per range does not
 * leave the kernels without names. */
#define STRING_BYTES_MAX (24u << 20)

/* An end that finds no start in so many rounds over all rings has none. */
#define END_ROUNDS       4u

/* ---- strings ---- */

const struct gt_string *gt_range_string(struct gt_ranges *ranges, const char *text, size_t length)
{
	const struct gt_string *string = gt_intern_find(ranges->strings, text, length);

	if (string)
		return string;
	if (ranges->string_bytes > STRING_BYTES_MAX) {
		gt_ledger_add(ranges->ledger, GT_LEDGER_RANGE_NAMES_REFUSED, 1);
		return gt_intern_cstr(ranges->strings, "(range names over the limit)");
	}
	ranges->string_bytes += length + sizeof(*string);
	return gt_intern_get(ranges->strings, text, length);
}

const struct gt_string *gt_range_registered(struct gt_ranges *ranges, uint32_t reference)
{
	const struct gt_nvtx_object *object = gt_nvtx_at(reference);

	return object ? gt_range_string(ranges, object->text, object->length) : NULL;
}

static const struct gt_string *domain_of(struct gt_ranges *ranges,
					 const struct gt_nvtx_record *record)
{
	return gt_range_registered(ranges, record->domain);
}

static const struct gt_string *category_of(struct gt_ranges *ranges,
					   const struct gt_nvtx_record *record)
{
	struct gt_nvtx_key key = {.kind = GT_NVTX_CATEGORY,
				  .domain = record->domain,
				  .number = record->category,
				  .text = ""};
	const struct gt_nvtx_object *object;
	char text[24];

	if (!record->category)
		return NULL;
	object = gt_nvtx_find(&key);
	if (object)
		return gt_range_string(ranges, object->text, object->length);
	return gt_range_string(ranges, text, gt_text_decimal(text, record->category));
}

static void decode(const struct gt_nvtx_record *record, struct gt_nvtx_decoded *ret_decoded)
{
	gt_nvtx_decode(record->domain, record->data + gt_nvtx_payload_offset(record->text_length),
		       record->payload_length, ret_decoded);
}

static const struct gt_string *name_of(struct gt_ranges *ranges,
				       const struct gt_nvtx_record *record,
				       const struct gt_nvtx_decoded *decoded)
{
	if (record->cut)
		gt_ledger_add(ranges->ledger, GT_LEDGER_RANGE_NAMES_CUT, 1);
	if (record->string && gt_nvtx_at(record->string))
		return gt_range_registered(ranges, record->string);
	if (record->text_length)
		return gt_range_string(ranges, record->data, record->text_length);
	if (*decoded->message)
		return gt_range_string(ranges, decoded->message, strlen(decoded->message));
	if (decoded->schema_name)
		return gt_range_string(ranges, decoded->schema_name, strlen(decoded->schema_name));
	return gt_intern_cstr(ranges->strings, "(no name)");
}

static const struct gt_string *label_of(struct gt_ranges *ranges, const struct gt_string *domain,
					const struct gt_string *name)
{
	char text[GT_NVTX_NAME_MAX * 2 + 2];

	if (!domain)
		return name;
	return gt_range_string(
		ranges, text,
		gt_text_format(text, sizeof(text), "%s:%s", domain->text, name->text));
}

void gt_range_label(struct gt_ranges *ranges, struct gt_range *range)
{
	range->label = label_of(ranges, range->event.domain, range->event.name);
}

static void put_value(const struct gt_nvtx_record *record, char *out)
{
	double real;
	size_t n;

	switch (record->value_type) {
	case GT_NVTX_UNSIGNED:
		n = gt_text_decimal(out, record->value);
		break;
	case GT_NVTX_SIGNED:
		n = gt_text_format(out, 24, "%ld", (long)record->value);
		break;
	case GT_NVTX_REAL:
		memcpy(&real, &record->value, sizeof(real));
		n = gt_text_real(out, real);
		break;
	default:
		return;
	}
	out[n] = 0;
}

/* What both ends of a range attached, one behind the other. */
static void add_payload(struct gt_range_event *event, const struct gt_nvtx_record *record,
			const struct gt_nvtx_decoded *decoded)
{
	size_t used = strlen(event->payload), room = sizeof(event->payload) - used;
	char value[32] = "";
	const char *text = value;

	put_value(record, value);
	if (*decoded->text)
		text = decoded->text;
	if (*text)
		gt_text_format(event->payload + used, room, "%s%s", used ? " " : "", text);
}

/* With --pytorch, the text that PyTorch gives an operator is its name and more. */
static bool describe_operator(struct gt_ranges *ranges, const struct gt_nvtx_record *record,
			      struct gt_range_event *ret_event)
{
	struct gt_operator_name name;

	bool is_operator;

	if (!ranges->operators || record->domain || record->string || !record->text_length)
		return false;
	is_operator = gt_operator_name_parse(record->data, record->text_length, &name);
	if (!is_operator && name.length == record->text_length)
		return false;
	*ret_event = (struct gt_range_event){
		.id = ret_event->id,
		.name = gt_range_string(ranges, record->data, name.length),
		.is_operator = is_operator,
		.is_backward = name.is_backward,
		.has_sequence = name.has_sequence,
		.sequence = name.sequence,
		.dims = name.dims ? gt_range_string(ranges, name.dims, name.dims_length) : NULL,
	};
	return true;
}

static void describe(struct gt_ranges *ranges, const struct gt_nvtx_record *record,
		     struct gt_range_event *ret_event)
{
	struct gt_nvtx_decoded decoded;

	decode(record, &decoded);
	ret_event->name = name_of(ranges, record, &decoded);
	ret_event->domain = domain_of(ranges, record);
	ret_event->category = category_of(ranges, record);
	ret_event->color = record->color;
	add_payload(ret_event, record, &decoded);
}

/* ---- ranges ---- */

static uint64_t time_of(struct gt_ranges *ranges, uint64_t monotonic)
{
	return gt_clock_from_monotonic(ranges->clock, monotonic);
}

/* It stays in the list of its thread, where others have their places by it. */
static void filter(struct gt_ranges *ranges, struct gt_range *range)
{
	struct gt_event event = {.kind = GT_EVENT_RANGE, .range = range->event};

	range->left_out = gt_outlet_leaves_out(ranges->outlet, &event);
	ranges->open_count -= range->left_out;
}

/* A library inside another one, as cuBLAS in cuSOLVER: if the outer call says what it computes, the
 * inner one is a part of it, and so are its kernels. */
static const struct gt_range *enclosing(const struct gt_range *range)
{
	for (const struct gt_range *outer = range->below; outer; outer = outer->below)
		if (outer->event.is_library && outer->event.library.is_math &&
		    outer->event.library.math.flops)
			return outer;
	return NULL;
}

/* No step, and no filter of NVTX ranges concerns it. */
void gt_range_describe_library(struct gt_ranges *ranges, struct gt_range *range,
			       const struct gt_library_call *call)
{
	const char *name = gt_library_name(call);
	const struct gt_range *outer;

	range->event.is_library = true;
	range->event.library = *call;
	range->event.name = range->label =
		gt_intern_cstr(ranges->strings, name ? name : "(unknown function)");
	if (call->is_math && (outer = enclosing(range))) {
		range->event.library.math.flops = range->event.library.math.bytes = 0;
		range->library = outer->library;
	} else {
		range->library = gt_range_library_begin(ranges, range->tid, call);
	}
	gt_range_collectives_call(&ranges->collectives, call, range->start);
}

/* What runs in the engine's range is no forward operator of its thread. */
static void tell_direction(struct gt_ranges *ranges, const struct gt_range *range)
{
	struct gt_range_thread *thread = gt_range_thread_get(ranges, range->tid);
	const struct gt_range *at = range;
	bool was = thread && thread->runs_backward && !thread->runs_forward;

	while (at && !at->event.is_backward)
		at = at->below;
	if (!thread || (!at && !range->event.has_sequence))
		return;
	thread->runs_backward |= at != NULL;
	thread->runs_forward |= at == NULL;
	ranges->backward_threads += !was && thread->runs_backward && !thread->runs_forward;
}

static struct gt_range *begin(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_range *range = gt_range_open(ranges, record->tid, time_of(ranges, record->time));
	const struct gt_library_call *library = gt_nvtx_library(record);

	if (!range)
		return NULL;
	range->domain = record->domain;
	range->key = record->id;
	if (library) {
		gt_range_describe_library(ranges, range, library);
		return range;
	}
	if (describe_operator(ranges, record, &range->event))
		tell_direction(ranges, range);
	else
		describe(ranges, record, &range->event);
	gt_range_nccl_begin(ranges, range, record);
	gt_range_label(ranges, range);
	range->started = record->head.flags == GT_NVTX_START;
	if (!gt_range_steps_begin(&ranges->steps, range))
		filter(ranges, range);
	return range;
}

/* Ranges at @level and deeper that are still open have lost their end. They lie above the
 * others. */
static void close_from(struct gt_ranges *ranges, const struct gt_nvtx_record *record,
		       uint64_t level)
{
	struct gt_range *range = gt_range_innermost(ranges, record->tid);

	while (range) {
		struct gt_range *below = range->below;
		bool pushed = !range->started && range->domain == record->domain;

		if (pushed && range->key < level)
			return;
		if (pushed)
			gt_range_finish(ranges, range, time_of(ranges, record->time), true);
		range = below;
	}
}

static void push(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	close_from(ranges, record, record->id);
	begin(ranges, record);
}

static void count_math(struct gt_ledger *ledger, const struct gt_math_call *call)
{
	static const enum gt_ledger_key keys[GT_MATH_UNKNOWN_COUNT_] = {
		[GT_MATH_UNKNOWN_DESCRIPTOR] = GT_LEDGER_LIBRARY_UNKNOWN,
		[GT_MATH_FREED_DESCRIPTOR] = GT_LEDGER_LIBRARY_FREED,
		[GT_MATH_OUT_OF_RANGE] = GT_LEDGER_LIBRARY_RANGE,
		[GT_MATH_UNKNOWN_VERSION] = GT_LEDGER_LIBRARY_VERSION,
	};

	if (call->unknown && call->unknown < GT_MATH_UNKNOWN_COUNT_)
		gt_ledger_add(ledger, keys[call->unknown], 1);
	if (call->overflow)
		gt_ledger_add(ledger, GT_LEDGER_LIBRARY_OVERFLOW, 1);
}

/* What was refused has computed nothing. */
static void end_library(struct gt_ranges *ranges, struct gt_library_call *call, uint64_t value)
{
	int32_t result = (int32_t)value;

	call->result = result;
	if (call->is_mpi) {
		call->source = value >> 32 ? (uint32_t)(value >> 32) : call->source;
		gt_range_collectives_end(&ranges->collectives, call);
	}
	if (call->is_math && result)
		call->math.flops = call->math.bytes = call->math.overflow = 0;
	if (call->is_math)
		count_math(ranges->ledger, &call->math);
}

static void end_range(struct gt_ranges *ranges, struct gt_range *range,
		      const struct gt_nvtx_record *record)
{
	struct gt_nvtx_decoded decoded;

	if (range->event.is_library) {
		end_library(ranges, &range->event.library, record->value);
	} else {
		decode(record, &decoded);
		add_payload(&range->event, record, &decoded);
		gt_range_nccl_end(ranges, range, record);
	}
	gt_range_finish(ranges, range, time_of(ranges, record->time), false);
}

static void pop(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_range *range =
		gt_range_find_pushed(ranges, record->tid, record->domain, record->id);

	close_from(ranges, record, record->id + 1);
	if (range) /* else its push was lost, and counted */
		end_range(ranges, range, record);
}

static void start(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_range *range = begin(ranges, record);

	if (!range)
		return;
	range->event.detached = true;
	gt_range_add_started(ranges, range);
}

static void end(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_range *range = gt_range_find_started(ranges, record->id);

	/* another thread's launches may still lie in its ring: they come before the end */
	if (range && range->tid == record->tid)
		end_range(ranges, range, record);
	else if (ranges->end_count < GT_RANGE_ENDS)
		ranges->ends[ranges->end_count++] =
			(struct gt_range_end){.program_id = record->id, .time = record->time};
	else
		ranges->lost++;
}

void gt_ranges_round(struct gt_ranges *ranges)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ranges->end_count; i++) {
		struct gt_range_end *e = &ranges->ends[i];
		struct gt_range *range = gt_range_find_started(ranges, e->program_id);

		if (range)
			gt_range_finish(ranges, range, time_of(ranges, e->time), false);
		else if (++e->rounds < END_ROUNDS)
			ranges->ends[kept++] = *e;
		else
			gt_ledger_add(ranges->ledger, GT_LEDGER_RANGES_WRONG, 1);
	}
	ranges->end_count = kept;
	gt_range_nccl_round(ranges);
	gt_range_told_round(ranges, false);
}

static void mark(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_event event = {.kind = GT_EVENT_MARK, .tid = record->tid};

	event.start = event.end = time_of(ranges, record->time);
	describe(ranges, record, &event.range);
	if (!gt_outlet_leaves_out(ranges->outlet, &event))
		gt_outlet_event(ranges->outlet, &event);
}

/* Told afterwards, with times of nvtxTimestampGet, which are ours. */
static void deferred(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_event event = {.kind = GT_EVENT_MARK, .tid = record->tid};
	struct gt_nvtx_decoded decoded;
	uint64_t now = record->time;

	decode(record, &decoded);
	if (!decoded.has_times || decoded.begin <= 0 || decoded.end < decoded.begin ||
	    (uint64_t)decoded.end > now) {
		gt_ledger_add(ranges->ledger, GT_LEDGER_RANGES_WRONG, 1);
		return;
	}
	event.start = time_of(ranges, (uint64_t)decoded.begin);
	event.end = time_of(ranges, (uint64_t)decoded.end);
	describe(ranges, record, &event.range);
	event.range.detached = true;
	if (event.end > event.start)
		event.kind = GT_EVENT_RANGE;
	if (!gt_outlet_leaves_out(ranges->outlet, &event))
		gt_outlet_event(ranges->outlet, &event);
}

/* ---- counters ---- */

struct sample {
	struct gt_ranges *ranges;
	struct gt_event event;
};

static void emit_number(void *context, const struct gt_nvtx_number *number)
{
	struct sample *sample = context;
	struct gt_ranges *ranges = sample->ranges;
	struct gt_counter_event *counter = &sample->event.counter;
	const char *name = *number->name ? number->name : "value";

	if (number->is_enum)
		return;
	counter->series = gt_range_string(ranges, name, strlen(name));
	counter->is_real = number->is_real;
	counter->value = number->integer;
	counter->real = number->real;
	gt_outlet_event(ranges->outlet, &sample->event);
}

static void emit_value(struct sample *sample, const struct gt_nvtx_record *record)
{
	struct gt_nvtx_number number = {.name = "", .integer = (int64_t)record->value};

	number.is_real = record->value_type == GT_NVTX_REAL;
	memcpy(&number.real, &record->value, sizeof(number.real));
	emit_number(sample, &number);
}

static void sample_counter(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	const struct gt_nvtx_object *counter = gt_nvtx_at(record->string);
	struct sample sample = {.ranges = ranges,
				.event = {.kind = GT_EVENT_COUNTER, .tid = record->tid}};

	if (!counter)
		return;
	sample.event.start = sample.event.end = time_of(ranges, record->time);
	sample.event.counter.name =
		label_of(ranges, domain_of(ranges, record),
			 gt_range_string(ranges, counter->text, counter->length));
	if (record->value_type)
		emit_value(&sample, record);
	else
		gt_nvtx_decode_numbers(record->domain,
				       record->data + gt_nvtx_payload_offset(record->text_length),
				       record->payload_length, emit_number, &sample);
}

/* ---- names ---- */

const struct gt_string *gt_ranges_thread_name(struct gt_ranges *ranges, uint32_t tid)
{
	struct gt_nvtx_key key = {.kind = GT_NVTX_THREAD, .number = tid, .text = ""};
	const struct gt_nvtx_object *object = gt_nvtx_find(&key);

	return object ? gt_range_string(ranges, object->text, object->length) : NULL;
}

static void name_thread(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_event event = {.kind = GT_EVENT_THREAD, .tid = (uint32_t)record->id};

	event.start = event.end = time_of(ranges, record->time);
	event.thread.name = gt_range_string(ranges, record->data, record->text_length);
	gt_outlet_event(ranges->outlet, &event);
}

static void name_stream(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_event event = {.kind = GT_EVENT_STREAM};

	event.start = event.end = time_of(ranges, record->time);
	event.place.device = (uint32_t)record->value;
	event.place.stream = (uint32_t)record->id;
	event.stream.name = gt_range_string(ranges, record->data, record->text_length);
	gt_outlet_event(ranges->outlet, &event);
}

/* Devices and contexts have names of their own in the trace: the program's stands in a mark. */
static void name_other(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	struct gt_event event = {.kind = GT_EVENT_MARK, .tid = record->tid};
	char text[GT_NVTX_NAME_MAX + 48];
	size_t n;

	if (record->head.flags == GT_NVTX_NAME_DEVICE)
		n = gt_text_format(text, sizeof(text), "GPU %lu is called ",
				   (unsigned long)record->id);
	else
		n = gt_text_format(text, sizeof(text), "context 0x%lx is called ",
				   (unsigned long)record->id);
	memcpy(text + n, record->data, record->text_length);
	event.start = event.end = time_of(ranges, record->time);
	event.range.name = gt_range_string(ranges, text, n + record->text_length);
	gt_outlet_event(ranges->outlet, &event);
}

/* ---- */

static void (*const handlers[])(struct gt_ranges *, const struct gt_nvtx_record *) = {
	[GT_NVTX_PUSH] = push,
	[GT_NVTX_POP] = pop,
	[GT_NVTX_START] = start,
	[GT_NVTX_END] = end,
	[GT_NVTX_MARK] = mark,
	[GT_NVTX_SAMPLE] = sample_counter,
	[GT_NVTX_DEFERRED] = deferred,
	[GT_NVTX_NAME_THREAD] = name_thread,
	[GT_NVTX_NAME_DEVICE] = name_other,
	[GT_NVTX_NAME_CONTEXT] = name_other,
	[GT_NVTX_NAME_STREAM] = name_stream,
	[GT_NVTX_TOLD] = gt_range_told,
	[GT_NVTX_NETWORK] = gt_range_network,
};

void gt_ranges_record(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	uint16_t op = record->head.flags;

	if (op < sizeof(handlers) / sizeof(handlers[0]) && handlers[op])
		handlers[op](ranges, record);
}

static void take(void *ranges, const struct gt_nvtx_record *record)
{
	gt_ranges_record(ranges, record);
}

void gt_ranges_take_early(struct gt_ranges *ranges)
{
	if (gt_nvtx_early_is_pending())
		gt_nvtx_early_drain(take, ranges);
}
