/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside of trace/model*.c: what exists only while a model is being loaded.
 */
#ifndef GT_TRACE_LOAD_MODEL_BUILD_H
#define GT_TRACE_LOAD_MODEL_BUILD_H

#include "readers/keymap.h"
#include "readers/pairmap.h"
#include "trace/category.h"
#include "trace/model.h"

/* What an open slice will become. */
enum gt_open_role {
	GT_OPEN_OP,
	GT_OPEN_CALL,
	GT_OPEN_RANGE,
	GT_OPEN_NOTHING,
};

struct gt_open {        /* a 'B' that waits for its 'E' */
	uint32_t below; /* the one before it on its thread, + 1; of a free place: the next one */
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
	struct gt_pairmap threads; /* pid, tid -> index in model->threads + 1 */
	struct gt_pairmap pid_of;  /* pid, 0 -> place in pids + 1 */
	GT_VEC(int64_t) pids;      /* of rows of operations, where they are no devices */
	struct gt_category_rows rows;
	GT_VEC(struct gt_open) open;
	GT_VEC(uint32_t) innermost; /* by thread: the last of open, + 1 */
	uint32_t free_open;         /* a place in open, + 1 */
	uint64_t open_count;
	struct gt_stack_slot *slots; /* open addressing, id 0 is free */
	size_t slot_count, slot_used;
	uint32_t *short_stack; /* name of a "launched by" text -> index in stacks + 1 */
	size_t short_room;
	struct gt_keymap module_of; /* name of a path -> index in modules + 1 */
	char *text;                 /* for decoding */
	size_t text_room;
};

#define GT_BUILD_LARGEST_BLOCK (UINT64_C(1) << 50) /* bytes */
#define GT_BUILD_MAX_DEVICE    255                 /* of a block; above: not known */
#define GT_BUILD_NO_STACK      0xfffffffu          /* of a range */
#define GT_BUILD_LARGEST_COPY  ((int64_t)1 << 50)  /* bytes */

/* Takes in an event of a JSON trace. 0 or -ENOMEM. */
int gt_build_record(struct gt_builder *b, const struct gt_trace_event *record);

/* Takes in what @call did with memory: nothing, or a @block. @result: of the call, 0 is success. 0
 * or -ENOMEM. */
int gt_build_block(struct gt_model *model, const struct gt_call *call, const struct gt_block *block,
		   int64_t result);

/* Takes in a counter of memory in use, at @ts, of process @pid; others are none of it. */
int gt_build_memory_event(struct gt_model *model, const struct gt_event *event, int64_t ts,
			  uint32_t pid);

/* Takes in what PyTorch's allocator did at @ts: with its total, and as a block. Only of GPUs. */
int gt_build_tensor(struct gt_model *model, int64_t ts, uint32_t thread, uint32_t stack,
		    const struct gt_tensor_event *tensor);

/* Takes in what happened to unified memory. 0 or -ENOMEM. */
int gt_build_pages(struct gt_model *model, const struct gt_model_pages *pages);

/* The same as gt_build_block from the arguments of its record. */
int gt_build_block_of(struct gt_builder *b, const struct gt_trace_event *record,
		      const struct gt_call *call);

/* Index of a thread, made when new. */
uint32_t gt_build_thread(struct gt_builder *b, int64_t pid, int64_t tid);

#define GT_FARTHEST_NS (INT64_C(1) << 62) /* 146 years: times that are nearer differ by 64 bits */

/* A slice of the trace lasts from @start on so long. */
void gt_build_extent(struct gt_model *model, int64_t start, int64_t dur);

/* The number of an operator as a model has it. PyTorch numbers forward ones from 0 on; negative:
 * there is none. */
int32_t gt_build_sequence(int64_t number, bool is_backward);

/* A number within bounds; another one is counted in *@odd and becomes @otherwise. */
int64_t gt_build_bounded(int64_t value, int64_t low, int64_t high, int64_t otherwise,
			 uint64_t *odd);

/* The number of a process that has a row of operations: their call until they are linked. GT_NONE:
 * no memory. */
uint32_t gt_build_process(struct gt_builder *b, int64_t pid);

/* Finds the call of each operation and wait. 0 or -ENOMEM. */
int gt_build_links(struct gt_builder *b);

/* Index of the stack that has the number @id in the file, or GT_NONE; made, without frames, when
 * new. */
uint32_t gt_build_stack_by_id(struct gt_builder *b, int64_t id);

/* The same of the stack that has the number @id from now on, and these @count names as its frames,
 * the nearest first. */
uint32_t gt_build_stack_of(struct gt_builder *b, int64_t id, const uint32_t *frame, uint32_t count);

/* The same of a trace without such numbers: one stack per text. */
uint32_t gt_build_stack_by_text(struct gt_builder *b, uint32_t text);

/* The name number of a Python function: "<built-in method softmax of Tensor object at 0x7ce2>"
 * loses the address, which is another one in each run. */
uint32_t gt_build_function(struct gt_model *model, const char *name, size_t len);

/* The launch with this correlation is the backward pass of what the stack launched. -ENOMEM. */
int gt_build_forward(struct gt_model *model, int64_t correlation, uint32_t stack);

/* Sorts them; one for each launch. */
void gt_build_forwards(struct gt_model *model);

/* The module of some frames had the file @path with that build id. */
void gt_build_module(struct gt_builder *b, const char *path, size_t path_len, const char *build_id,
		     size_t build_id_len);

/* The name number of a string argument; GT_NAME_NONE: it is none. */
uint32_t gt_build_text(struct gt_builder *b, const struct gt_span *span);

/* Adds the frames of a text: @gap stands between them, the nearest comes first. */
void gt_build_split_frames(struct gt_model *model, struct gt_frames *stack, const char *text,
			   const char *gap);

/* The call of a library with that number failed, or did not return: its kernels, which may have
 * been written before, have computed nothing that is known. 0 or -ENOMEM. */
int gt_build_failed_call(struct gt_model *model, uint32_t number);

/* Takes in how much the call of the kernel with this correlation computes, and the same from the
 * arguments of the kernel's record. 0 or -ENOMEM. */
int gt_build_work(struct gt_model *model, int64_t correlation, const struct gt_math_call *call);
int gt_build_work_of(struct gt_model *model, const struct gt_trace_event *record);

/* Takes in how much an operator computes, by the shapes and types (NULL: not known) of its inputs
 * in JSON, and the same from its record. 0 or -ENOMEM. */
int gt_build_operator_work(struct gt_model *model, const struct gt_model_range *range,
			   const char *dims, size_t dims_length, const char *types,
			   size_t types_length);
int gt_build_operator_work_of(struct gt_model *model, const struct gt_model_range *range,
			      const struct gt_trace_event *record);

/* Sorts what these have taken in. */
void gt_build_works(struct gt_model *model);

/* Finds out which step is open at which time. 0 or -ENOMEM. */
int gt_build_steps(struct gt_model *model);

/* Finds the operations of each device. 0 or -ENOMEM. */
int gt_build_devices(struct gt_model *model);

/* Sorts, links calls and operations, nests ranges. */
int gt_build_finish(struct gt_builder *b);
void gt_build_fini(struct gt_builder *b);

/* A kernel with the name number @name is called @mangled, a name number too, in its module. Where
 * several of one name are called differently, the name stands for itself. 0 or -ENOMEM. */
int gt_build_mangled(struct gt_model *model, uint32_t name, uint32_t mangled);

/* Bytes of a collective's message (types as in c10/core/ScalarType.h of PyTorch), the larger one of
 * what goes in and what comes out; 0: the trace does not hold them. */
int64_t gt_build_message(const struct gt_trace_event *record);

/* The comm of a collective's kernel: its group by name and members, as names repeat between jobs'
 * dimensions. */
uint8_t gt_build_group(struct gt_model *model, const struct gt_trace_event *record);
uint8_t gt_build_group_of(struct gt_model *model, const char *name, const char *ranks,
			  int64_t size);

/* The place of a kernel among the collectives of its communicator, which gputrace numbers:
 * PyTorch's Seq counts sends as well. 0 or -ENOMEM. */
int gt_build_place(struct gt_model *model, int64_t correlation, uint64_t sequence);
int gt_build_place_of(struct gt_model *model, const struct gt_trace_event *record);
/* The same of messages of NCCL. */
int gt_build_messages(struct gt_model *model, int64_t correlation,
		      const struct gt_library_call *call);

/* Sorts them; one for each launch, and none where it is said to have several. */
void gt_build_places(struct gt_model *model);

#endif
