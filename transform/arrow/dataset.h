/* SPDX-License-Identifier: Apache-2.0
 *
 * What libgputrace-arrow.so has for others: the tables of a job as streams of Arrow's C data
 * interface. share/dataset/gputrace_dataset.py is the Python side. One thread at a time.
 */
#ifndef GT_TRANSFORM_ARROW_DATASET_H
#define GT_TRANSFORM_ARROW_DATASET_H

#include <stddef.h>
#include <stdint.h>

#include "transform/arrow/interface.h"

#define GT_ARROW_API __attribute__((visibility("default")))

struct gt_arrow_dataset;

/* Reads traces, or folders of them, as one job; what could not be read is in @ret_said, a line
 * each. NULL: nothing could. */
GT_ARROW_API struct gt_arrow_dataset *gt_arrow_open(char *const *inputs, size_t count,
						    char *ret_said, size_t size);

/* Its processes, and their ranks. */
GT_ARROW_API size_t gt_arrow_processes(const struct gt_arrow_dataset *dataset);
GT_ARROW_API int64_t gt_arrow_rank(const struct gt_arrow_dataset *dataset, size_t process);

/* Files that are no trace. */
GT_ARROW_API size_t gt_arrow_left_out(const struct gt_arrow_dataset *dataset);

/* The name of a table; NULL: there are no more. */
GT_ARROW_API const char *gt_arrow_table_name(size_t table);

/* A table of a process; the stream keeps the dataset. 0 or an errno. */
GT_ARROW_API int gt_arrow_stream(struct gt_arrow_dataset *dataset, size_t process, size_t table,
				 struct ArrowArrayStream *out);

/* Streams that are there may still be read. */
GT_ARROW_API void gt_arrow_close(struct gt_arrow_dataset *dataset);

#endif
