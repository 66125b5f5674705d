/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the host was, as the call stacks of its thread tell. Pure over constant models; any thread.
 */
#ifndef GT_ANALYSIS_GAPS_PLACE_H
#define GT_ANALYSIS_GAPS_PLACE_H

#include "analysis/gaps/texts.h"
#include "trace/job.h"

#define GT_GAPS_NAME   60  /* columns of a kernel's name */
#define GT_GAPS_THREAD 256 /* bytes that gt_gaps_thread needs at most */

/* The nearest telling frame of a stack, "" when there is none. */
void gt_gaps_nearest(const struct gt_model *model, uint32_t stack, char *out, size_t size);

/* What the thread of @call was in at @t, between two of its calls, by the stacks of both; @call is
 * the one that ended the gap, whose stack counts where no call follows. */
void gt_gaps_place_between(const struct gt_model *model, const struct gt_call *call, int64_t t,
			   char *out, size_t size);

/* What that text is made of. */
struct gt_gaps_key gt_gaps_between_key(const struct gt_model *model, const struct gt_call *call,
				       int64_t t);

/* What the thread of a call of the operating system waited for, "thread main: read() of
 * /data/shard-7 from load_batch (loader.py:44)", or without the path "... read() of files from
 * ...". @os_call: of the model's. Not quick: once for a call, thread, stack and file. */
void gt_gaps_os_call(const struct gt_model *model, uint32_t os_call, bool path, char *out,
		     size_t size);

/* "thread main": a name alone, before a colon, reads as if it were a domain. */
const char *gt_gaps_thread(const struct gt_model *model, uint32_t thread, char *out, size_t size);

/* Where the thread was at a sample: the launching frame, where that is the user's
 * (gt_key_launching); else the nearest line of Python, else the nearest function outside the C
 * library. "" without a stack. *ret_is_data: a function on the stack loads data. */
void gt_gaps_place(const struct gt_model *model, uint32_t stack, char *out, size_t size,
		   bool *ret_is_data);

#endif
