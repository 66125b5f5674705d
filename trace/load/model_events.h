/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of a .pftrace as what a model is made of: the same model as that of the JSON of the
 * same run, threads and tracks beside them being those that the JSON has. One thread per file.
 */
#ifndef GT_TRACE_LOAD_MODEL_EVENTS_H
#define GT_TRACE_LOAD_MODEL_EVENTS_H

#include "readers/input.h"
#include "trace/load/model_build.h"

/* Reads process @part of the .pftrace at @in to its end into @b and *@ret_reading, which is free
 * with gt_reading_fini in either case; *@ret_parts: how many processes the file holds. 0, or a
 * negative errno with ret_reading->error filled. */
int gt_build_pftrace(struct gt_builder *b, struct gt_input *in, uint32_t part, uint32_t *ret_parts,
		     struct gt_reading *ret_reading);

#endif
