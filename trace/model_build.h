/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of analysis/model*.c: what exists only while a model is being loaded.
 */
#ifndef GT_TRACE_MODEL_BUILD_H
#define GT_TRACE_MODEL_BUILD_H

#include "trace/model.h"

/* What an open slice will become. */
enum gt_open_role {
	GT_OPEN_OP,
	GT_OPEN_CALL,
	GT_OPEN_RANGE,
	GT_OPEN_NOTHING,
};

struct gt_open { /* a 'B' that waits for its 'E' */
	uint32_t thread;
	uint8_t role;
	size_t index;
};

struct gt_stack_slot { /* the file's id of a stack -> index in model->stacks */
	int64_t id;
	uint32_t stack;
};

/* A model that is being built. */
struct gt_builder {
	struct gt_model *model;
	uint32_t last_thread;
	GT_VEC(struct gt_open) open;
	struct gt_stack_slot *slots; /* open addressing, id 0 is free */
	size_t slot_count, slot_used;
	uint32_t *short_stack; /* name of a "launched by" text -> index in stacks + 1 */
	size_t short_room;
	char *text; /* for decoding */
	size_t text_room;
};

/* Takes in an event. 0 or -ENOMEM. */
int gt_build_record(struct gt_builder *b, const struct gt_trace_event *record);

/* Index of a thread, made when new. */
uint32_t gt_build_thread(struct gt_builder *b, int64_t pid, int64_t tid);

/* The name number of a string argument. */
uint32_t gt_build_text(struct gt_builder *b, const struct gt_span *span);

/* Index of the record's call stack in model->stacks, or GT_NONE. */
uint32_t gt_build_stack(struct gt_builder *b, const struct gt_trace_event *record);

/* Sorts, links calls and operations, nests ranges. */
int gt_build_finish(struct gt_builder *b);
void gt_build_fini(struct gt_builder *b);

#endif
