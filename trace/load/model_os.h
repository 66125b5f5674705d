/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the operating system that --osrt records, into a model: of a JSON trace and of a
 * `.pftrace`. One thread.
 */
#ifndef GT_TRACE_LOAD_MODEL_OS_H
#define GT_TRACE_LOAD_MODEL_OS_H

#include "trace/load/model_build.h"

/* Takes in a call of which time, name, thread and stack are known: @facts and @file, a name number,
 * tell the rest. 0 or -ENOMEM. */
int gt_build_os_call(struct gt_model *model, const struct gt_model_os_call *call,
		     const struct gt_os_facts *facts, uint32_t file);

/* The same from the arguments of its record. */
int gt_build_os_call_of(struct gt_builder *b, const struct gt_trace_event *record,
			const struct gt_model_os_call *call);

/* Sorts them, finds those of each thread, which lie in which, and which load data. 0 or -ENOMEM. */
int gt_build_os_calls(struct gt_model *model);

#endif
