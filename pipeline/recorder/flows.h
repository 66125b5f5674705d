/* SPDX-License-Identifier: Apache-2.0
 *
 * Which calls are in a file that begins in the middle: of those that are not there no flow may
 * start. The calls of a thread come in the order of their time, and before their GPU work. One
 * thread.
 */
#ifndef GT_PIPELINE_RECORDER_FLOWS_H
#define GT_PIPELINE_RECORDER_FLOWS_H

#include <stdint.h>

#include "core/schema/event.h"

/* The first call of each thread. Zeroed: none. */
struct gt_recorder_flows {
	struct gt_recorder_first {
		uint64_t start; /* trace ns */
		uint32_t tid;   /* 0: no thread */
	} * first;
	uint32_t count, capacity; /* a power of two */
};

/* The next event of the file: notes a call, takes the flow from GPU work whose call is not
 * there. */
void gt_recorder_flows_see(struct gt_recorder_flows *flows, struct gt_event *event);

/* Forgets all. */
void gt_recorder_flows_fini(struct gt_recorder_flows *flows);

#endif
