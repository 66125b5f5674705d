/* SPDX-License-Identifier: Apache-2.0
 *
 * What a traced program held in the memory of each device, and of the host (pinned): every block
 * with its life, the peak, what was never freed, calls that failed. From the calls of run --memory.
 * Pure over constant models; one thread per use.
 */
#ifndef GT_ANALYSIS_MEMORY_MEMORY_H
#define GT_ANALYSIS_MEMORY_MEMORY_H

#include <stdint.h>
#include <stdio.h>

#include "analysis/table/table.h"
#include "core/schema/event.h"
#include "trace/job.h"

#define GT_MEMORY_ALIVE SIZE_MAX
#define GT_MEMORY_HOST  (UINT32_MAX - 1)
#define GT_MEMORY_TORCH 0x10000u /* added to a device: the blocks of PyTorch's allocator there */

/* A block that was allocated. */
struct gt_memory_block {
	uint64_t address, bytes;
	size_t from, until; /* changes; GT_MEMORY_ALIVE: it was never freed */
	uint64_t place;     /* equal where the line, or the stack, is */
	uint32_t stack;     /* of the model */
	uint32_t name;      /* of the call */
	uint8_t kind;       /* enum gt_block_kind */
	bool was_reset;     /* it went with its context */
};

/* A moment at which the memory in use changed. */
struct gt_memory_change {
	int64_t ts;      /* ns */
	uint64_t in_use; /* from now on, bytes */
	uint32_t block;  /* that came or went */
	bool came;
};

/* The memory of one device of one process, or of its host. */
struct gt_memory_use {
	const struct gt_model *model;
	uint32_t device; /* GT_MEMORY_HOST: pinned memory; GT_BLOCK_NO_DEVICE: not known */
	GT_VEC(struct gt_memory_block) blocks;
	GT_VEC(struct gt_memory_change) changes; /* by time */
	size_t peak;        /* the change after which most was in use; of equal ones the first */
	uint64_t allocated; /* bytes, of all blocks */
	uint64_t failed;    /* allocations that did */
	uint64_t double_frees, unknown_frees; /* that the driver refused */
	uint64_t freed_before;      /* successful frees of what was allocated outside the trace */
	uint64_t nodes, node_bytes; /* of graphs: in none of the above */
	/* What the counter in the trace tells, which does not need the calls in the file. */
	struct {
		uint64_t values; /* 0: there is none, the rest means nothing */
		uint64_t peak, end;
		int64_t last; /* when the end was */
	} counted;
};

/* All of a job. */
struct gt_memory {
	GT_VEC(struct gt_memory_use) uses; /* by process, then device */
};

/* Replays the calls of all processes. @by_stack: each call stack is a place of its own, else all
 * that have the same frame of the user's code. 0 or -ENOMEM; free with gt_memory_fini in either
 * case. */
int gt_memory_build(const struct gt_job *job, bool by_stack, struct gt_memory *ret_memory);
void gt_memory_fini(struct gt_memory *memory);

/* The bytes in use after a change, 0 before the first one (GT_MEMORY_ALIVE). */
uint64_t gt_memory_in_use(const struct gt_memory_use *use, size_t change);

/* Whether a block was there after a change. */
static inline bool gt_memory_is_there(const struct gt_memory_block *block, size_t change)
{
	return block->from <= change && (block->until == GT_MEMORY_ALIVE || block->until > change);
}

/* How many calls are not in the files of a process, and events that may be calls. */
uint64_t gt_memory_missing(const struct gt_model *model);

/* Takes the counters of a process in, whose uses are those from @first on. 0 or -ENOMEM. */
int gt_memory_take_counters(struct gt_memory *memory, size_t first, const struct gt_model *model);

/* Whether there is a call of it in the trace; else there is only a counter. */
static inline bool gt_memory_has_calls(const struct gt_memory_use *use)
{
	return use->blocks.count || use->failed || use->double_frees || use->unknown_frees ||
	       use->freed_before || use->nodes;
}

/* A line for each device whose numbers are none but bounds, with what its counter tells. Returns
 * how many. */
size_t gt_memory_print_missing(const struct gt_memory *memory, FILE *out);

/* "3 memory nodes of graphs (1.5 MB) are in no number: ...". False: there is none. */
bool gt_memory_nodes(const struct gt_memory *memory, char *ret_text, size_t size);

/* "rank 0 GPU 1", "rank 0 GPU 1 PyTorch" or "rank 0 host". */
void gt_memory_label(const struct gt_memory_use *use, char *out, size_t size);

/* The tables of `gputrace memory`, in the order in which they are printed. 0 or -ENOMEM; free with
 * gt_table_fini. */
int gt_memory_summary(const struct gt_memory *memory, struct gt_table *ret_table);
int gt_memory_at_peak(const struct gt_memory *memory, struct gt_table *ret_table);
int gt_memory_never_freed(const struct gt_memory *memory, struct gt_table *ret_table);
int gt_memory_steps(const struct gt_memory *memory, struct gt_table *ret_table);
int gt_memory_failed(const struct gt_memory *memory, const struct gt_job *job,
		     struct gt_table *ret_table);
/* How the segments of PyTorch's allocator are filled, at the peak of its blocks, where an
 * allocation failed and at the end. */
int gt_memory_segments(const struct gt_memory *memory, struct gt_table *ret_table);
/* What happened to unified memory, by what allocated it: run --unified-memory. */
int gt_memory_unified(const struct gt_memory *memory, const struct gt_job *job,
		      struct gt_table *ret_table);
/* Memory in use over time, from the first to the last change, in @parts equal intervals. */
int gt_memory_timeline(const struct gt_memory *memory, size_t parts, struct gt_table *ret_table);

/* Memory in use over time by the places that hold most of it, as one SVG file. 0 or -ENOMEM. */
int gt_memory_print_svg(const struct gt_memory *memory, FILE *out);

#endif
