/* SPDX-License-Identifier: Apache-2.0
 *
 * See join_key.h.
 */
#include "recover/join_key.h"

#include <string.h>

#include "core/hash.h"
#include "core/intern.h"
#include "core/stack.h"

/* Words that tell apart events of one kind, thread and time; what is not set is 0. */
enum { WORDS = 5 };

static uint64_t text_hash(const struct gt_string *text)
{
	return text ? gt_hash_bytes(text->text, text->length) : 0;
}

static void add_call(const struct gt_event *event, uint64_t *words)
{
	words[0] = event->api.domain;
}

static void add_gpu(const struct gt_event *event, uint64_t *words)
{
	words[0] = event->correlation;
	words[1] = event->place.context;
	words[2] = event->place.stream;
	if (event->kind == GT_EVENT_KERNEL)
		words[3] = event->kernel.graph_node_id;
	else if (event->kind == GT_EVENT_GRAPH)
		words[3] = event->graph.graph_id;
	else if (event->kind == GT_EVENT_SYNC)
		words[3] = event->sync.graph_node_id;
	else
		words[3] = event->memory.graph_node_id;
}

/* A shadow of a range is on a stream, the range itself on its thread. The context of a shadow is
 * not in every file. */
static void add_range(const struct gt_event *event, uint64_t *words)
{
	words[0] = event->range.is_operator;
	words[1] = event->range.on_gpu;
	words[2] = event->range.is_unified ? event->range.unified.address : 0;
	if (!event->range.on_gpu)
		return;
	words[2] = event->place.device;
	words[3] = event->place.stream;
}

static void add_frame(const struct gt_event *event, uint64_t *words)
{
	const struct gt_stack_frame *frame = event->frame.frame;

	words[0] = text_hash(frame->function);
	words[1] = text_hash(frame->module);
	words[2] = text_hash(frame->file);
	words[3] = frame->line;
	words[4] = frame->offset;
}

static void add_counter(const struct gt_event *event, uint64_t *words)
{
	words[0] = text_hash(event->counter.name);
	words[1] = text_hash(event->counter.series);
	words[2] = event->counter.on_gpu;
	words[3] = event->place.device;
}

static void add_stream(const struct gt_event *event, uint64_t *words)
{
	words[0] = event->place.device;
	words[1] = event->place.stream;
}

static void add_note(const struct gt_event *event, uint64_t *words)
{
	words[0] = gt_hash_bytes(event->note.name, strlen(event->note.name));
	if (event->note.cause)
		words[1] = gt_hash_bytes(event->note.cause, strlen(event->note.cause));
}

static void add_tensor(const struct gt_event *event, uint64_t *words)
{
	words[0] = event->tensor.address;
	words[1] = (uint64_t)event->tensor.bytes;
}

static void (*const adders[GT_EVENT_COUNT_])(const struct gt_event *event, uint64_t *words) = {
	[GT_EVENT_API] = add_call,        [GT_EVENT_KERNEL] = add_gpu,
	[GT_EVENT_MEMCPY] = add_gpu,      [GT_EVENT_MEMSET] = add_gpu,
	[GT_EVENT_SYNC] = add_gpu,        [GT_EVENT_RANGE] = add_range,
	[GT_EVENT_MARK] = add_range,      [GT_EVENT_FRAME] = add_frame,
	[GT_EVENT_COUNTER] = add_counter, [GT_EVENT_STREAM] = add_stream,
	[GT_EVENT_NOTE] = add_note,       [GT_EVENT_GRAPH] = add_gpu,
	[GT_EVENT_TENSOR] = add_tensor,
};

/* A thread and a stream have one name. */
uint64_t gt_join_key(const struct gt_event *event)
{
	uint64_t words[4 + WORDS] = {(uint64_t)event->kind + 1, event->tid};

	if (event->kind != GT_EVENT_THREAD && event->kind != GT_EVENT_STREAM) {
		words[2] = event->start;
		words[3] = event->end;
	}
	if (adders[event->kind])
		adders[event->kind](event, words + 4);
	return gt_hash_bytes(words, sizeof(words)) | 1;
}
