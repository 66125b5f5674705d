/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of host events. None has "stream" or "device", which would make readers treat it as GPU
 * work.
 */
#include "writers/chrome/chrome.h"

#include <string.h>

#include "core/guest/text.h"
#include "core/json/event_text.h"
#include "core/schema/event_names.h"

#define TOO_LARGE ((uint64_t)1 << 53)

void gt_chrome_put_stack(struct gt_chrome *chrome, const struct gt_stack *stack, bool as_text)
{
	struct gt_json *json = &chrome->file.batch;
	bool first;

	if (!stack)
		return;
	if (as_text) {
		gt_chrome_put_launch_stack(&chrome->texts, json, stack);
	} else {
		gt_json_key(json, "stack");
		gt_json_put_u64(json, stack->id);
	}
	first = gt_chrome_first_use(&chrome->texts, stack);
	chrome->tally.stacks += first;
	if (!first && !chrome->options.full_stacks)
		return;
	gt_json_key(json, "frames");
	gt_chrome_put_frames(&chrome->texts, json, stack);
	gt_chrome_put_modules(&chrome->texts, json, "modules", stack);
}

static void put_host_slice(struct gt_chrome *chrome, const struct gt_event *event, uint32_t tid)
{
	struct gt_json *json = &chrome->file.batch;

	gt_chrome_put_where(chrome, json, gt_chrome_pid(chrome), tid, event->start);
	gt_chrome_put_duration(chrome, json, event);
	gt_chrome_begin_args(chrome);
}

/* The GPU operation of a call shows the stack as text; without GPU records, the call does. */
static bool stack_as_text(const struct gt_chrome *chrome, const struct gt_event *event)
{
	return !event->api.enqueues || !chrome->has_gpu_work;
}

static void put_block(struct gt_json *json, const struct gt_block *block)
{
	gt_json_member_cstr(json, "memory", gt_event_name_block_op(block->op));
	if (block->op == GT_BLOCK_ALLOCATE)
		gt_json_member_cstr(json, "memory kind", gt_event_name_block_kind(block->kind));
	if (block->address)
		gt_json_member_u64(json, "memory address", block->address);
	if (block->bytes)
		gt_json_member_u64(json, "memory bytes", block->bytes);
	if (block->handle)
		gt_json_member_u64(json, "memory handle", block->handle);
	if (block->device != GT_BLOCK_NO_DEVICE)
		gt_json_member_u64(json, "memory device", block->device);
	if (block->context)
		gt_json_member_u64(json, "memory context", block->context);
}

/* {"ph": ... "ts":  the same for all calls of a function by a thread. */
static void begin_call(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t name = event->api.name ? event->api.name->id : 0;
	struct gt_chrome_call_part *part = gt_chrome_call_slot(chrome->parts, name, event->tid);
	size_t begin;

	if (part->length && part->name == name && part->tid == event->tid &&
	    part->domain == event->api.domain) {
		gt_json_short(json, part->text, part->length, GT_CHROME_CALL_BYTES);
		return;
	}
	gt_chrome_name_thread(chrome, event->tid);
	begin = json->length;
	if (event->api.domain == GT_API_DRIVER)
		gt_chrome_begin(json, "X", "cuda_driver");
	else
		gt_chrome_begin(json, "X", "cuda_runtime");
	gt_chrome_name(json);
	gt_chrome_put_string(&chrome->texts, json, event->api.name);
	gt_chrome_begin_where(chrome, json, gt_chrome_pid(chrome), event->tid);
	if (json->failed || json->length - begin > GT_CHROME_CALL_BYTES || !name)
		return;
	part->name = name;
	part->tid = event->tid;
	part->domain = event->api.domain;
	part->length = (uint32_t)(json->length - begin);
	memcpy(part->text, json->text + begin, part->length);
}

static void put_call_args(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;

	if (event->api.cbid && !chrome->options.few_details && !chrome->options.brief)
		gt_json_member_u64(json, "cbid", event->api.cbid);
	if (event->correlation) {
		gt_json_key(json, "correlation");
		gt_json_put_u64(json, event->correlation);
	}
	if (event->api.op)
		gt_json_member_u64(json, "External id", event->api.op);
	if (event->api.result)
		gt_json_member_i64(json, "result", event->api.result);
	if (event->api.block.op)
		put_block(json, &event->api.block);
}

void gt_chrome_put_api(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;

	begin_call(chrome, event);
	gt_json_put_us(json, gt_chrome_time(chrome, event->start));
	gt_chrome_put_duration(chrome, json, event);
	gt_chrome_begin_args(chrome);
	put_call_args(chrome, event);
	gt_chrome_put_stack(chrome, event->stack, stack_as_text(chrome, event));
	gt_chrome_end_args(chrome);
}

/* An additional track of the thread, for slices that may begin inside one call and end inside
 * another. */
static uint32_t thread_track(struct gt_chrome *chrome, const struct gt_event *event,
			     enum gt_track_kind kind)
{
	struct gt_track_request request =
		gt_track_of_thread(kind, event->tid, gt_chrome_time(chrome, event->start),
				   gt_chrome_time(chrome, event->end));

	return gt_chrome_track(chrome, &request);
}

void gt_chrome_put_overhead(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t tid = thread_track(chrome, event, GT_TRACK_OVERHEAD);

	gt_chrome_begin(json, "X", "overhead");
	gt_json_key(json, "name");
	gt_chrome_put_string(&chrome->texts, json, event->overhead.name);
	gt_chrome_put_where(chrome, json, gt_chrome_pid(chrome), tid, event->start);
	gt_chrome_put_duration(chrome, json, event);
	gt_chrome_begin_args(chrome);
	if (event->overhead.kernel) {
		gt_json_key(json, "kernel");
		gt_chrome_put_string(&chrome->texts, json, event->overhead.kernel);
	}
	gt_chrome_end_args(chrome);
}

/* Arguments that ranges and marks share. */
static void put_range_args(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_range_event *range = &event->range;

	if (range->id)
		gt_json_member_u64(json, "External id", range->id);
	if (range->domain) {
		gt_json_key(json, "domain");
		gt_chrome_put_string(&chrome->texts, json, range->domain);
	}
	if (range->category) {
		gt_json_key(json, "category");
		gt_chrome_put_string(&chrome->texts, json, range->category);
	}
	if (range->color) {
		gt_json_key(json, "color");
		gt_json_hex(json, range->color);
	}
	if (*range->payload)
		gt_json_member_cstr(json, "payload", range->payload);
	if (range->unfinished) {
		gt_json_key(json, "unfinished");
		gt_json_bool(json, true);
	}
}

static void put_operator_args(struct gt_json *json, const struct gt_range_event *range)
{
	if (!range->is_operator)
		return;
	if (range->has_sequence)
		gt_json_member_u64(json, "Sequence number", range->sequence);
	if (range->dims) {
		gt_json_key(json, "Input Dims");
		gt_json_raw(json, range->dims->text, range->dims->length);
	}
}

/* Doubles, which readers of JSON have, hold no such number. */
static void put_large(struct gt_json *json, uint64_t number)
{
	char text[24];

	text[gt_text_decimal(text, number)] = 0;
	gt_json_cstr(json, text);
}

void gt_chrome_put_library(struct gt_json *json, const struct gt_library_call *call, bool of_kernel)
{
	struct gt_library_value values[GT_LIBRARY_ARG_COUNT_];
	size_t count = gt_library_values(call, of_kernel, values);

	for (size_t i = 0; i < count; i++) {
		gt_json_key_text(json, gt_library_arg_name(values[i].arg));
		if (values[i].text)
			gt_json_cstr(json, values[i].text);
		else if (values[i].arg == GT_LIBRARY_RESULT)
			gt_json_i64(json, (int64_t)values[i].number);
		else if (values[i].number >= TOO_LARGE)
			put_large(json, values[i].number);
		else
			gt_json_u64(json, values[i].number);
	}
}

static void put_os_call(struct gt_chrome *chrome, const struct gt_range_event *range)
{
	struct gt_json *json = &chrome->file.batch;
	const char *kind = gt_os_kind_name(range->os.kind);

	if (range->os.has_bytes)
		gt_json_member_i64(json, "bytes", range->os.result);
	else
		gt_json_member_i64(json, "result", range->os.result);
	if (range->os.error)
		gt_json_member_u64(json, "errno", range->os.error);
	if (range->os.descriptor != GT_OS_NO_DESCRIPTOR)
		gt_json_member_i64(json, "descriptor", range->os.descriptor);
	if (kind)
		gt_json_member_cstr(json, "descriptor kind", kind);
	if (range->file) {
		gt_json_key(json, "file");
		gt_chrome_put_string(&chrome->texts, json, range->file);
	}
}

static void begin_range(struct gt_json *json, const struct gt_range_event *range)
{
	if (range->is_os)
		gt_chrome_begin(json, "X", "osrt");
	else if (range->is_library)
		gt_chrome_begin(json, "X", "library");
	else if (range->is_operator)
		gt_chrome_begin(json, "X", "cpu_op");
	else
		gt_chrome_begin(json, "X", "user_annotation");
}

#define STEP "ProfilerStep#"

static bool is_step(const struct gt_string *name)
{
	return name && !strncmp(name->text, STEP, sizeof(STEP) - 1);
}

void gt_chrome_put_range(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t tid = event->tid;

	chrome->has_steps |= event->range.is_operator || is_step(event->range.name);
	if (event->range.detached)
		tid = thread_track(chrome, event, GT_TRACK_RANGE);
	else
		gt_chrome_name_thread(chrome, tid);
	begin_range(json, &event->range);
	gt_json_key(json, "name");
	gt_chrome_put_string(&chrome->texts, json, event->range.name);
	put_host_slice(chrome, event, tid);
	put_range_args(chrome, event);
	if (gt_range_is_call(&event->range))
		gt_chrome_put_library(json, &event->range.library, false);
	if (event->range.is_os)
		put_os_call(chrome, &event->range);
	put_operator_args(json, &event->range);
	gt_chrome_put_stack(chrome, event->stack, false);
	gt_chrome_end_args(chrome);
}

/* TensorBoard's times are those of steps, else of operators; without both they are -1.8e19 us. */
void gt_chrome_put_whole_step(struct gt_chrome *chrome)
{
	struct gt_json *json = &chrome->file.batch;
	struct gt_event whole = {.start = chrome->oldest, .end = chrome->file.output.newest};
	size_t begin = json->length;

	chrome->tally = (struct gt_file_tally){.key = GT_LEDGER_COUNT_};
	gt_chrome_name_whole(chrome);
	gt_chrome_begin(json, "X", GT_WHOLE_STEP_CATEGORY);
	gt_json_literal(json, "name", GT_WHOLE_STEP_NAME);
	put_host_slice(chrome, &whole, GT_TRACK_WHOLE);
	gt_json_member_u64(json, GT_WHOLE_STEP_ROW, 1);
	gt_chrome_end_args(chrome);
	gt_chrome_file_commit(&chrome->file, begin, &chrome->tally);
}

static void put_unified_args(struct gt_json *json, const struct gt_unified_facts *facts)
{
	char text[GT_UNIFIED_TEXT];
	uint64_t number;

	for (unsigned int arg = 0; arg < GT_UNIFIED_ARG_COUNT_; arg++) {
		const char *name = gt_unified_arg_name((enum gt_unified_arg)arg);

		if (!gt_unified_get(facts, (enum gt_unified_arg)arg, text, &number))
			continue;
		gt_json_key_text(json, name);
		if (*text)
			gt_json_cstr(json, text);
		else
			gt_json_u64(json, number);
	}
}

void gt_chrome_put_unified(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t tid = thread_track(chrome, event, GT_TRACK_UNIFIED);

	gt_chrome_begin(json, "X", "unified_memory");
	gt_json_key(json, "name");
	gt_chrome_put_string(&chrome->texts, json, event->range.name);
	put_host_slice(chrome, event, tid);
	put_unified_args(json, &event->range.unified);
	gt_chrome_end_args(chrome);
}

void gt_chrome_put_frame(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_frame_event *frame = &event->frame;
	uint32_t tid = thread_track(chrome, event, GT_TRACK_STACK);

	gt_chrome_begin(json, "X", "call_stack");
	gt_json_key(json, "name");
	gt_chrome_put_frame_name(&chrome->texts, json, frame->frame, frame->first_line,
				 frame->last_line);
	put_host_slice(chrome, event, tid);
	gt_json_key(json, "frame");
	gt_chrome_put_whole_frame(&chrome->texts, json, frame->frame);
	gt_json_member_u64(json, "calls", frame->calls);
	gt_chrome_end_args(chrome);
}

/* Readers take each slice called ProfilerStep#N for a step of the host, whatever its category: GPU
 * work of one step lies in the time of the next one. */
static void put_shadow_name(struct gt_chrome *chrome, const struct gt_string *name)
{
	struct gt_json *json = &chrome->file.batch;
	char text[64];

	gt_json_key(json, "name");
	if (!is_step(name)) {
		gt_chrome_put_string(&chrome->texts, json, name);
		return;
	}
	gt_text_format(text, sizeof(text), "step %s", name->text + sizeof(STEP) - 1);
	gt_json_cstr(json, text);
}

void gt_chrome_put_gpu_range(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	struct gt_track_request request = {.kind = GT_TRACK_ANNOTATION,
					   .device = event->place.device,
					   .context = event->place.context,
					   .stream = event->place.stream,
					   .start = gt_chrome_time(chrome, event->start),
					   .end = gt_chrome_time(chrome, event->end)};
	uint32_t tid;

	gt_chrome_name_device(chrome, event->place.device);
	tid = gt_chrome_track(chrome, &request);
	gt_chrome_begin(json, "X", "gpu_user_annotation");
	put_shadow_name(chrome, event->range.name);
	gt_chrome_put_where(chrome, json, event->place.device, tid, event->start);
	gt_chrome_put_duration(chrome, json, event);
	gt_chrome_begin_args(chrome);
	put_range_args(chrome, event);
	gt_chrome_end_args(chrome);
}

/* ,{"ph": "i", "s": SCOPE, "cat": CAT, "name":  of an instant */
#define begin_instant(json, scope, category)                                                       \
	do {                                                                                       \
		gt_json_raw(json, ",{", 2);                                                        \
		gt_json_literal(json, "ph", "i");                                                  \
		gt_json_literal(json, "s", scope);                                                 \
		gt_json_literal(json, "cat", category);                                            \
		gt_json_key(json, "name");                                                         \
	} while (0)

void gt_chrome_put_mark(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;

	gt_chrome_name_thread(chrome, event->tid);
	begin_instant(json, "t", "user_annotation");
	gt_chrome_put_string(&chrome->texts, json, event->range.name);
	gt_chrome_put_where(chrome, json, gt_chrome_pid(chrome), event->tid, event->start);
	gt_chrome_begin_args(chrome);
	put_range_args(chrome, event);
	gt_chrome_put_stack(chrome, event->stack, false);
	gt_chrome_end_args(chrome);
}

void gt_chrome_put_sample(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t tid = thread_track(chrome, event, GT_TRACK_SAMPLE);
	const struct gt_stack_frame *place =
		event->stack ? gt_stack_best_frame(event->stack) : NULL;

	gt_chrome_name_thread(chrome, event->tid);
	begin_instant(json, "t", "cpu_sample");
	if (place)
		gt_chrome_put_frame_name(&chrome->texts, json, place, place->line, place->line);
	else
		gt_json_cstr(json, "(no stack)");
	gt_chrome_put_where(chrome, json, gt_chrome_pid(chrome), tid, event->start);
	gt_chrome_begin_args(chrome);
	gt_json_member_cstr(json, "state", event->sample.waiting ? "waiting" : "running");
	gt_chrome_put_stack(chrome, event->stack, false);
	gt_chrome_end_args(chrome);
}

/* As Kineto has it. */
void gt_chrome_put_tensor(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_tensor_event *tensor = &event->tensor;

	gt_chrome_name_thread(chrome, event->tid);
	begin_instant(json, "t", "cpu_instant_event");
	gt_json_cstr(json, "[memory]");
	gt_chrome_put_where(chrome, json, gt_chrome_pid(chrome), event->tid, event->start);
	gt_chrome_begin_args(chrome);
	gt_json_member_u64(json, "Total Reserved", tensor->reserved);
	gt_json_member_u64(json, "Total Allocated", tensor->allocated);
	gt_json_member_i64(json, "Bytes", tensor->bytes);
	gt_json_member_u64(json, "Addr", tensor->address);
	gt_json_member_i64(json, "Device Id", tensor->device);
	gt_json_member_i64(json, "Device Type", tensor->device_type);
	gt_chrome_put_stack(chrome, event->stack, false);
	gt_chrome_end_args(chrome);
}

void gt_chrome_put_counter(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	uint32_t pid = gt_chrome_pid(chrome);

	if (event->counter.on_gpu) {
		pid = event->place.device;
		gt_chrome_name_device(chrome, pid);
	}
	gt_chrome_begin(json, "C", "gputrace");
	gt_json_key(json, "name");
	gt_chrome_put_string(&chrome->texts, json, event->counter.name);
	gt_chrome_put_where(chrome, json, pid, 0, event->start);
	gt_json_key(json, "args");
	gt_json_char(json, '{');
	gt_chrome_put_string(&chrome->texts, json, event->counter.series);
	gt_json_spaced(json, ": ", 2);
	if (event->counter.is_real)
		gt_json_real(json, event->counter.real);
	else
		gt_json_i64(json, event->counter.value);
	gt_chrome_end_args(chrome);
}

void gt_chrome_put_note(struct gt_chrome *chrome, const struct gt_event *event)
{
	struct gt_json *json = &chrome->file.batch;
	const struct gt_note_event *note = &event->note;
	uint32_t tid = event->tid ? event->tid : gt_chrome_pid(chrome);

	if (event->tid) {
		gt_chrome_name_thread(chrome, event->tid);
		begin_instant(json, "t", "gputrace");
	} else {
		begin_instant(json, "p", "gputrace");
	}
	gt_json_cstr(json, note->name);
	gt_chrome_put_where(chrome, json, gt_chrome_pid(chrome), tid, event->start);
	gt_json_key(json, "args");
	gt_json_char(json, '{');
	gt_note_json_put(json, event);
	gt_chrome_put_stack(chrome, event->stack, false);
	gt_chrome_end_args(chrome);
}
