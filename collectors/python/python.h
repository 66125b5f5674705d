/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python stack of the calling thread, taken in the middle of a CUDA call beside the native one,
 * with the GIL or without: nobody else changes a thread's frames while it is inside C code. Names
 * and lines are made of it later, by the drain thread (collectors/python/frames.h).
 *
 * Application threads. Once the code objects have been seen: no lock, no allocation, no system
 * call.
 */
#ifndef GT_COLLECTORS_PYTHON_PYTHON_H
#define GT_COLLECTORS_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most frames that a capture can deliver. */
#define GT_PYTHON_DEPTH 256

struct gt_python_runtime;

/*
 * One frame in a word: the number of its code object (collectors/python/codes.h; 0: an evaluation
 * loop that has no frame just now), whether an evaluation loop in C was entered with it, and the
 * offset of the instruction that is executing, in bytes, < 0: not begun.
 */
static inline uint64_t gt_python_pack(uint32_t code, bool is_entry, int32_t offset)
{
	return (uint64_t)code << 33 | (uint64_t)is_entry << 32 | (uint32_t)offset;
}

static inline uint32_t gt_python_code_of(uint64_t frame)
{
	return (uint32_t)(frame >> 33);
}

static inline bool gt_python_is_entry(uint64_t frame)
{
	return frame >> 32 & 1;
}

static inline int32_t gt_python_offset_of(uint64_t frame)
{
	return (int32_t)(uint32_t)frame;
}

/* What is kept of a thread. Zeroed memory is right. */
struct gt_python_thread {
	const void *state; /* the thread state that was looked over */
	bool refused;      /* and found to be another thread's */
	uint64_t owner;    /* pthread_self() of the thread that looked it over */
	uint64_t frames[GT_PYTHON_DEPTH];
};

/* Counters of Python stacks. */
struct gt_python_counts {
	uint64_t broken;  /* captures that ended at a pointer that leads nowhere, or in a circle */
	uint64_t foreign; /* thread states that were not those of the thread that had them */
};

/*
 * Looks for an interpreter and switches captures on; again when the modules of the process have
 * changed. Not on a hot path, never two at a time. NULL: on, or no interpreter here; else one
 * phrase that says why the interpreter's stacks are not read. The first stack decides whether it is
 * laid out as its version says: the next call shows that it was not.
 */
const char *gt_python_start(void);

/* The interpreter that is read: PY_VERSION_HEX, 0: none. Any thread. */
uint32_t gt_python_version(void);

/* An address in the module that holds the interpreter, 0: none is read. Any thread. */
uint64_t gt_python_address(void);

/*
 * The frames of the calling thread, whose state is @thread: at most @max of them, nearest first,
 * valid until its next capture. *ret_key is a hash of them. Returns their number; 0 where there is
 * no Python. errno is kept.
 */
uint32_t gt_python_capture(struct gt_python_thread *thread, uint32_t max,
			   const uint64_t **ret_frames, uint64_t *ret_key);

/* The walk of gt_python_capture, from the innermost @frame of @runtime; for tests on memory that
 * was made for them. -EFAULT: a pointer that cannot be read, -ELOOP: a circle. */
int gt_python_walk(const struct gt_python_runtime *runtime, uint64_t frame, uint32_t max,
		   uint64_t *ret_frames, uint32_t *ret_count);

/* The interpreter whose stacks have been found to be what its version says; NULL: none, or it ends
 * just now. Any thread; async-signal-safe. */
const struct gt_python_runtime *gt_python_proven(void);

/* The counters now. Any thread. */
struct gt_python_counts gt_python_get_counts(void);

#endif
