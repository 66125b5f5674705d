/* SPDX-License-Identifier: Apache-2.0
 *
 * The counters of GPUs that --nvml records, into a model: of a JSON trace and of a `.pftrace`. One
 * thread.
 */
#ifndef GT_TRACE_LOAD_MODEL_HEALTH_H
#define GT_TRACE_LOAD_MODEL_HEALTH_H

#include "core/schema/event.h"
#include "readers/chrome/reader.h"
#include "trace/model.h"

/* Takes the values of a counter's record; one that is none of these has none. 0 or -ENOMEM. */
int gt_build_health_record(struct gt_model *model, const struct gt_trace_event *record);

/* The same of an event, whose time in the model is @ts. */
int gt_build_health_event(struct gt_model *model, const struct gt_event *event, int64_t ts);

#endif
