/* SPDX-License-Identifier: Apache-2.0
 *
 * Around each interposed call of a library that computes. Application threads; no lock, no
 * allocation, no system call once the function is known.
 */
#ifndef GT_PRELOAD_LIBRARIES_MATH_H
#define GT_PRELOAD_LIBRARIES_MATH_H

#include <stdbool.h>

#include "core/schema/library_call.h"

/* A call between its begin and its end; on the stack of its wrapper. */
struct math_entry {
	const struct gt_library_sink *sink; /* NULL: nobody has been told */
	uint32_t before;                    /* calls around it */
};

/* Whether anybody learns of a call that begins now, in a function with that frame. */
bool math_is_told_in(const void *frame);
#define math_is_told() math_is_told_in(__builtin_frame_address(0))

/* Before the library is called; the end must follow. Libraries call some of their functions
 * themselves: the tracer learns of the outermost one only. Its FLOPs and bytes are counted here
 * (gt_math_count). */
void math_begin_in(const void *frame, struct math_entry *entry, struct gt_math_call *call);
#define math_begin(entry, call) math_begin_in(__builtin_frame_address(0), entry, call)

/* The same of a call whose FLOPs and bytes are counted already, or are nothing. */
void math_begin_counted_in(const void *frame, struct math_entry *entry, struct gt_math_call *call);
#define math_begin_counted(entry, call)                                                            \
	math_begin_counted_in(__builtin_frame_address(0), entry, call)

/* @result: what the library returned. */
void math_end(struct math_entry *entry, int result);

/* What is known of the library does not hold for its version. */
void math_unknown(const char *library, uint64_t version);

/* The program calls a function that its library does not have: told once for each. */
void math_missing(const char *symbol, const char *library);

#endif
