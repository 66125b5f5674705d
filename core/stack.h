/* SPDX-License-Identifier: Apache-2.0
 *
 * Call stacks of the session, each stored once. An application thread delivers return addresses;
 * the drain thread interns the vector of addresses here and symbolizes each address once.
 *
 * Drain thread only. Stacks and frames live until gt_stacks_free.
 */
#ifndef GT_CORE_STACK_H
#define GT_CORE_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_string;

/* Kind of a frame. */
enum gt_frame_kind {
	GT_FRAME_NATIVE,
	GT_FRAME_PYTHON,
	GT_FRAME_JIT, /* in no module */
};

/* One location in code. Strings are interned; NULL: not known. */
struct gt_stack_frame {
	enum gt_frame_kind kind;
	const struct gt_string *function; /* demangled, or Python's qualified name */
	const struct gt_string *module;   /* path of the shared object or program */
	const struct gt_string *build_id; /* of the module, hexadecimal */
	const struct gt_string *file;     /* source file, whole path */
	uint32_t line;                    /* 1.., 0: not known */
	uint64_t offset;                  /* of the call, in the module; the address for JIT code */
	bool ours; /* of the tracer, the CUDA runtime or the driver: cut off at the innermost end */
	uint8_t line_class; /* 1 + enum gt_line_class; 0: gt_stack_line has not looked it up yet */
};

/* A stack. Its address stays valid and is the same for equal stacks. */
struct gt_stack {
	uint32_t id; /* 1.., unique in the process */
	uint32_t count;
	bool gone; /* has frames in a module that was unloaded since */
	const struct gt_stack_frame
		*frames[]; /* innermost first, without the innermost ones that are ours */
};

/* Of a library that --memory or --libraries preloads: without us the program has no such frame. It
 * lies between the program's frames and those of the library that is called, and is in no stack. */
bool gt_stack_frame_is_interposed(const struct gt_stack_frame *frame);

/* Turns a return address into a frame. NULL: no memory. */
typedef const struct gt_stack_frame *(*gt_frame_find_fn)(void *context, uint64_t pc);

struct gt_stacks;

/* A store of stacks that asks @find once for each address. @max_bytes bounds its memory; beyond it
 * new stacks are refused and counted. NULL: no memory. */
struct gt_stacks *gt_stacks_new(gt_frame_find_fn find, void *context, size_t max_bytes);
void gt_stacks_free(struct gt_stacks *stacks);

/* Sets the limit of frames per stack: the innermost @max_frames, not counting frames that are
 * ours. */
void gt_stacks_limit(struct gt_stacks *stacks, uint32_t max_frames);

/*
 * The stack of @key, a hash of its addresses made by the application thread. @pcs holds the @count
 * addresses if the record has them; NULL: an earlier record had them, and as far as the thread knew
 * none of their modules was unloaded since. Returns NULL if the addresses never arrived or memory
 * is short (counted in refused()).
 */
const struct gt_stack *gt_stacks_get(struct gt_stacks *stacks, uint64_t key, const uint64_t *pcs,
				     uint32_t count);

/* The latest stack of @key, even if one of its modules was unloaded. NULL: none arrived (not
 * counted in refused()). */
const struct gt_stack *gt_stacks_last(const struct gt_stacks *stacks, uint64_t key);

/* The same, but NULL if one of its modules was unloaded: its addresses must be sent again. */
const struct gt_stack *gt_stacks_find(const struct gt_stacks *stacks, uint64_t key);

/* The frame of the return address @pc, found once. NULL: no memory. */
const struct gt_stack_frame *gt_stacks_find_frame(struct gt_stacks *stacks, uint64_t pc);

/* Stores under @key a stack of @count frames that the caller assembled, innermost first; the frames
 * live as long as the store. NULL: no memory (counted in refused()). */
const struct gt_stack *gt_stacks_put(struct gt_stacks *stacks, uint64_t key,
				     const struct gt_stack_frame *const *frames, uint32_t count);

/*
 * The module in [@start, @end) was unloaded: its addresses may get another meaning. A stack with
 * such an address is replaced when its addresses are sent again. Until then its key still finds it,
 * for records of threads that have not noticed yet. Stacks already returned stay unchanged.
 */
void gt_stacks_forget(struct gt_stacks *stacks, uint64_t start, uint64_t end);

/* The frame that describes a stack best: the innermost Python one, else the innermost outside the C
 * library, else the innermost. NULL: none. */
const struct gt_stack_frame *gt_stack_best_frame(const struct gt_stack *stack);

/* Number of refused stacks. */
uint64_t gt_stacks_refused(const struct gt_stacks *stacks);

/* For recovery: restores stack @id of a spool under its old id. NULL: no memory, or already there.
 * _each calls @found for each stack of a spool's store; its frames[] are addresses in the spool. */
struct gt_spool_view;
const struct gt_stack *gt_stacks_restore(struct gt_stacks *stacks, uint64_t key, uint32_t id,
					 const struct gt_stack_frame *const *frames,
					 uint32_t count);
void gt_stacks_each(const struct gt_spool_view *view,
		    void (*found)(void *context, uint64_t key, const struct gt_stack *stack),
		    void *context);

/* Stacks stored so far. */
uint32_t gt_stacks_count(const struct gt_stacks *stacks);

#endif
