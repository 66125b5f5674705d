/* SPDX-License-Identifier: Apache-2.0
 *
 * Call stacks of the session, each stored once. An application thread delivers return addresses;
 * the drain thread interns the address vector here and symbolises each address once.
 * Drain thread only. Stacks and frames live until gt_stacks_fini.
 */
#ifndef GT_CORE_STACK_H
#define GT_CORE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_string;

enum gt_frame_kind {
	GT_FRAME_NATIVE,
	GT_FRAME_PYTHON,
	GT_FRAME_JIT, /* in no module */
};

/* One place in code. Strings are interned; NULL: not known. */
struct gt_frame {
	enum gt_frame_kind kind;
	const struct gt_string *function; /* demangled, or Python's qualified name */
	const struct gt_string *module;   /* path of the shared object or program */
	const struct gt_string *file;     /* source file, whole path */
	uint32_t line;                    /* 1.., 0: not known */
	uint64_t offset;                  /* into the module */
};

struct gt_stack {
	uint32_t id;    /* 1.., unique in the process */
	uint32_t count;
	const struct gt_frame *frames[]; /* nearest first, tracer's and CUDA's own already cut off */
};

/* Turns a return address into a frame. Returns NULL on lack of memory. */
typedef const struct gt_frame *(*gt_frame_find_fn)(void *context, uint64_t pc);

/* Tells whether a frame at the near end belongs to the tracer, the CUDA runtime or the driver. */
typedef bool (*gt_frame_is_ours_fn)(const struct gt_frame *frame);

struct gt_stacks;

/*
 * A store of stacks that asks @find for each address once. @is_ours may be NULL (cut nothing).
 * @max_bytes bounds its memory; over it new stacks are refused and counted.
 * Returns NULL on lack of memory.
 */
struct gt_stacks *gt_stacks_new(gt_frame_find_fn find, gt_frame_is_ours_fn is_ours, void *context,
				size_t max_bytes);
void gt_stacks_free(struct gt_stacks *stacks);

/*
 * The stack under @key, a hash of its addresses that the application thread made. @pcs with @count
 * addresses when the record carried them, else NULL: then the stack must have come before.
 * Returns NULL when it did not, or when memory is short (counted in refused()).
 */
const struct gt_stack *gt_stacks_get(struct gt_stacks *stacks, uint64_t key, const uint64_t *pcs,
				     uint32_t count);

uint64_t gt_stacks_refused(const struct gt_stacks *stacks);
uint32_t gt_stacks_count(const struct gt_stacks *stacks);

#endif
