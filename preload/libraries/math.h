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
};

/* Whether anybody learns of a call that begins now. */
bool math_is_told(void);

/* Before the library is called; the end must follow. Libraries call some of their functions
 * themselves: the tracer learns of the outermost one only. Its FLOPs and bytes are counted here
 * (gt_math_count). */
void math_begin(struct math_entry *entry, struct gt_math_call *call);

/* The same of a call whose FLOPs and bytes are counted already, or are nothing. */
void math_begin_counted(struct math_entry *entry, struct gt_math_call *call);

/* @result: what the library returned. */
void math_end(struct math_entry *entry, int result);

/* What is known of the library does not hold for its version. */
void math_unknown(const char *library, uint64_t version);

/* The program calls a function that its library does not have: told once for each. */
void math_missing(const char *symbol, const char *library);

#endif
