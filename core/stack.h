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

/* What a frame is. */
enum gt_frame_kind {
	GT_FRAME_NATIVE,
	GT_FRAME_PYTHON,
	GT_FRAME_JIT, /* in no module */
};

/* One place in code. Strings are interned; NULL: not known. */
struct gt_stack_frame {
	enum gt_frame_kind kind;
	const struct gt_string *function; /* demangled, or Python's qualified name */
	const struct gt_string *module;   /* path of the shared object or program */
	const struct gt_string *build_id; /* of the module, hexadecimal */
	const struct gt_string *file;     /* source file, whole path */
	uint32_t line;                    /* 1.., 0: not known */
	uint64_t offset;                  /* into the module, of the call; address of a JIT frame */
	bool ours; /* the tracer's, the CUDA runtime's or the driver's: cut off at the near end */
};

/* A stack, kept once. Its address stays valid and is the same for equal stacks. */
struct gt_stack {
	uint32_t id; /* 1.., unique in the process */
	uint32_t count;
	bool gone; /* leads through a module that was unloaded since */
	const struct gt_stack_frame
		*frames[]; /* nearest first, without the near ones that are ours */
};

/* Turns a return address into a frame. Returns NULL on lack of memory. */
typedef const struct gt_stack_frame *(*gt_frame_find_fn)(void *context, uint64_t pc);

struct gt_stacks;

/*
 * A store of stacks that asks @find for each address once. @max_bytes bounds its memory; over it
 * new stacks are refused and counted. Returns NULL on lack of memory.
 */
struct gt_stacks *gt_stacks_new(gt_frame_find_fn find, void *context, size_t max_bytes);
void gt_stacks_free(struct gt_stacks *stacks);

/* From now on stacks keep their nearest @max_frames, counted behind the frames that are ours. */
void gt_stacks_limit(struct gt_stacks *stacks, uint32_t max_frames);

/*
 * The stack under @key, a hash of its addresses that the application thread made. @pcs with @count
 * addresses when the record carried them, else NULL: then the stack must have come before, and its
 * thread had not yet heard of a module that has gone since. Returns NULL when it did not come, or
 * when memory is short (counted in refused()).
 */
const struct gt_stack *gt_stacks_get(struct gt_stacks *stacks, uint64_t key, const uint64_t *pcs,
				     uint32_t count);

/* The stack under @key as it came last, whatever has gone since. NULL: it has not come (not counted
 * in refused()). */
const struct gt_stack *gt_stacks_last(const struct gt_stacks *stacks, uint64_t key);

/* The same, NULL also when it has to come anew since its addresses may mean something else now. */
const struct gt_stack *gt_stacks_find(const struct gt_stacks *stacks, uint64_t key);

/* The frame of the return address @pc, asked for once. NULL: no memory. */
const struct gt_stack_frame *gt_stacks_find_frame(struct gt_stacks *stacks, uint64_t pc);

/*
 * Makes the stack under @key of @count frames that the caller put together, nearest first; they
 * live as long as the store. Returns NULL when memory is short (counted in refused()).
 */
const struct gt_stack *gt_stacks_put(struct gt_stacks *stacks, uint64_t key,
				     const struct gt_stack_frame *const *frames, uint32_t count);

/*
 * The module that lay in [@start, @end) is gone: its addresses, and the keys of stacks that lead
 * through it, may come to mean something else. Such a stack is taken anew when it is delivered
 * again; until then it is what its key means, since there may be records under way whose threads
 * know of nothing. What was handed out stays as it is.
 */
void gt_stacks_forget(struct gt_stacks *stacks, uint64_t start, uint64_t end);

/* The frame that says best where a stack is: the nearest of Python, else the nearest outside the C
 * library, else the nearest. NULL: there is none. */
const struct gt_stack_frame *gt_stack_place(const struct gt_stack *stack);

/* Stacks that were asked for and not given. */
uint64_t gt_stacks_refused(const struct gt_stacks *stacks);

/*
 * For recovery: the stack @id of a spool under its old number. NULL: no memory, or it is there.
 * _each hands out what a spool's store holds; frames[] are addresses in the spool.
 */
struct gt_spool_view;
const struct gt_stack *gt_stacks_restore(struct gt_stacks *stacks, uint64_t key, uint32_t id,
					 const struct gt_stack_frame *const *frames,
					 uint32_t count);
void gt_stacks_each(const struct gt_spool_view *view,
		    void (*found)(void *context, uint64_t key, const struct gt_stack *stack),
		    void *context);

/* Stacks made so far. */
uint32_t gt_stacks_count(const struct gt_stacks *stacks);

#endif
