/* SPDX-License-Identifier: Apache-2.0
 *
 * One function for each kind of record: completes an event that begins with its kind, its time, its
 * thread and its correlation id, and passes it on. Each returns what the receiver of events
 * returned. One thread per reading.
 */
#ifndef GT_READERS_CHROME_EVENTS_JSON_KINDS_H
#define GT_READERS_CHROME_EVENTS_JSON_KINDS_H

#include "readers/chrome/events_json.h"

/* ---- events_json_gpu.c ---- */

/* Kernels, copies, sets, graphs, synchronization. */
int gt_events_json_gpu(struct gt_events_json *json, const struct gt_trace_event *record,
		       struct gt_event *event);

/* ---- events_json_host.c ---- */

/* A call of the runtime or the driver. */
int gt_events_json_api(struct gt_events_json *json, const struct gt_trace_event *record,
		       struct gt_event *event);

/* A range or a mark: of NVTX, an operator, a library, the operating system, or its track of the
 * GPU. */
int gt_events_json_range(struct gt_events_json *json, const struct gt_trace_event *record,
			 struct gt_event *event);

/* Unified memory that moved. */
int gt_events_json_unified(struct gt_events_json *json, const struct gt_trace_event *record,
			   struct gt_event *event);

/* A call of a Python function. */
int gt_events_json_python_frame(struct gt_events_json *json, const struct gt_trace_event *record,
				struct gt_event *event);

/* A sample of a thread. */
int gt_events_json_sample(struct gt_events_json *json, const struct gt_trace_event *record,
			  struct gt_event *event);

/* Memory that PyTorch allocates or frees. */
int gt_events_json_tensor(struct gt_events_json *json, const struct gt_trace_event *record,
			  struct gt_event *event);

/* What CUPTI itself took. */
int gt_events_json_overhead(struct gt_events_json *json, const struct gt_trace_event *record,
			    struct gt_event *event);

/* ---- events_json_notes.c ---- */

/* The value of a counter. */
int gt_events_json_counter(struct gt_events_json *json, const struct gt_trace_event *record,
			   struct gt_event *event);

/* What the tracer itself writes into a trace. */
int gt_events_json_note(struct gt_events_json *json, const struct gt_trace_event *record,
			struct gt_event *event);

#endif
