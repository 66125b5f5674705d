/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python stack of the calling thread, captured in the middle of a CUDA call together with the
 * native one, with the GIL or without: nobody else changes a thread's frames while it is inside C
 * code. The drain thread resolves names and lines later (collectors/python/frames.h).
 *
 * Application threads. Once the code objects are known: no lock, no allocation, no system call.
 */
#ifndef GT_COLLECTORS_PYTHON_PYTHON_H
#define GT_COLLECTORS_PYTHON_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Frames per capture, at most. */
#define GT_PYTHON_DEPTH 256

struct gt_python_runtime;

/*
 * One frame in a word: the number of its code object (collectors/python/codes.h; 0: an evaluation
 * loop without a frame), whether an evaluation loop in C was entered with it, and the byte offset
 * of its current instruction, < 0: not begun.
 */
static inline uint64_t gt_python_pack(uint32_t code, bool is_entry, int32_t offset)
{
	return (uint64_t)code << 33 | (uint64_t)is_entry << 32 | (uint32_t)offset;
}

/* The code object of a frame word. */
static inline uint32_t gt_python_code_of(uint64_t frame)
{
	return (uint32_t)(frame >> 33);
}

/* Whether an evaluation loop in C was entered with it. */
static inline bool gt_python_is_entry(uint64_t frame)
{
	return frame >> 32 & 1;
}

/* The byte offset of its instruction, < 0: not begun. */
static inline int32_t gt_python_offset_of(uint64_t frame)
{
	return (int32_t)(uint32_t)frame;
}

/* Frames that a thread finds again by their addresses: a power of two. Each thread has them, so
 * they are small. */
#define GT_PYTHON_KNOWN      128u

/* Where a known word has the byte of its frame that tells entries and loops. */
#define GT_PYTHON_KIND_SHIFT 56

struct gt_python_code;

/* A frame as it was when it was read last: its word is the same if none of this has changed, nor
 * its code object. */
struct gt_python_known {
	uint64_t frame; /* 0: none */
	uint64_t instruction;
	const struct gt_python_code *original;
	uint64_t word; /* with the kind */
};

/* State of a thread. Initially zeroed. */
struct gt_python_thread {
	const void *state; /* the thread state that was checked */
	bool refused;      /* it belongs to another thread */
	uint64_t owner;    /* pthread_self() of the thread that checked it */
	uint64_t frames[GT_PYTHON_DEPTH];
	/* the stack whose key was made last */
	uint64_t last[GT_PYTHON_DEPTH], last_key;
	uint32_t last_count;
	struct gt_python_known known[GT_PYTHON_KNOWN];
};

/* Counters of Python stacks. */
struct gt_python_counts {
	uint64_t broken;  /* captures that ended at a bad pointer or in a cycle */
	uint64_t foreign; /* thread states that belonged to another thread */
};

/*
 * Finds an interpreter and enables captures; to be repeated when modules were loaded. Not on a hot
 * path, never two at a time. NULL: on, or no interpreter; else a short reason why its stacks are
 * not read. The first stack shows whether the layout is right; if not, the next call returns that.
 */
const char *gt_python_start(void);

/* Version of the interpreter that is read: PY_VERSION_HEX, 0: none. Any thread. */
uint32_t gt_python_version(void);

/* An address in the interpreter's module, 0: none is read. Any thread. */
uint64_t gt_python_address(void);

/*
 * The frames of the calling thread, whose state is @thread: at most @max of them, innermost first,
 * valid until its next capture. *ret_key is a hash of them. Returns their number, 0: no Python.
 * errno is kept.
 */
uint32_t gt_python_capture(struct gt_python_thread *thread, uint32_t max,
			   const uint64_t **ret_frames, uint64_t *ret_key);

/* The walk of gt_python_capture from the innermost @frame of @runtime; @known: the
 * frames that were seen before, GT_PYTHON_KNOWN of them. -EFAULT: an unreadable pointer, -ELOOP: a
 * cycle. */
int gt_python_walk(const struct gt_python_runtime *runtime, struct gt_python_known *known,
		   uint64_t frame, uint32_t max, uint64_t *ret_frames, uint32_t *ret_count);

/* The interpreter, once a stack proved that its layout is right; NULL: none, or it is finalizing.
 * Any thread; async-signal-safe. */
const struct gt_python_runtime *gt_python_proven(void);

/* The current counters. Any thread. */
struct gt_python_counts gt_python_get_counts(void);

#endif
