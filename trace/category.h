/* SPDX-License-Identifier: Apache-2.0
 *
 * What an event of a trace is, by its category: Kineto's names of today and of its first years, its
 * forks' for other vendors' devices, and the rows of JAX and TensorFlow, which have no categories.
 */
#ifndef GT_TRACE_CATEGORY_H
#define GT_TRACE_CATEGORY_H

#include <stdbool.h>
#include <stdint.h>

#include "readers/chrome/reader.h"
#include "readers/pairmap.h"

/* What a category means. */
enum gt_role {
	GT_ROLE_KERNEL,
	GT_ROLE_COPY,
	GT_ROLE_SET,
	GT_ROLE_GRAPH,
	GT_ROLE_RUNTIME,
	GT_ROLE_DRIVER,
	GT_ROLE_NVTX,
	GT_ROLE_OP,
	GT_ROLE_PYTHON,
	GT_ROLE_OVERHEAD,
	GT_ROLE_NOTE,
	GT_ROLE_MEMORY,
	GT_ROLE_SAMPLE,
	GT_ROLE_OS,
	GT_ROLE_UNIFIED,
	GT_ROLE_LIBRARY,
	GT_ROLE_IGNORED,
	GT_ROLE_WAIT,
	GT_ROLE_UNKNOWN,
	GT_ROLE_COUNT_,
};

/* The role of a category; of several behind each other ("kernel,gpu") the first that is known. Any
 * thread. */
enum gt_role gt_category_role(const struct gt_span *cat);

/* Rows that metadata names as JAX and TensorFlow do: "/device:GPU:0", "Stream #13(Compute)".
 * Zeroed: none. One thread. */
struct gt_category_rows {
	struct gt_pairmap device; /* pid, 0 -> number of a GPU + 1, -1: another device */
	struct gt_pairmap stream; /* pid, tid -> number + 1 */
};

/* Takes a process_name or thread_name, an 'M' with a name, in. 0 or -ENOMEM. */
int gt_category_rows_see(struct gt_category_rows *rows, const struct gt_trace_event *record);

/* Whether the event is on a row of some device. */
bool gt_category_rows_is_device(const struct gt_category_rows *rows,
				const struct gt_trace_event *record);

/* The role of a slice without a category: GPU work on a stream, or a call that has a correlation;
 * else GT_ROLE_UNKNOWN. GPU work gets its device, stream, correlation and size as Kineto has them.
 */
enum gt_role gt_category_rows_role(const struct gt_category_rows *rows,
				   struct gt_trace_event *record);

/* Frees the rows. Also of a zeroed struct. */
void gt_category_rows_fini(struct gt_category_rows *rows);

#endif
