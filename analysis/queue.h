/* SPDX-License-Identifier: Apache-2.0
 *
 * The launch queue of a stream: operations whose call has begun and that have not started on the
 * GPU. Pure over constant models; one thread per queue.
 */
#ifndef GT_ANALYSIS_QUEUE_H
#define GT_ANALYSIS_QUEUE_H

#include "analysis/key.h"
#include "readers/vec.h"

/* One stream of one process. An operation waits from the start of its call to its own start; one
 * that starts before its call, as clocks may have it, does not wait. */
struct gt_queue {
	const struct gt_model *model;
	uint16_t device;
	int32_t stream;
	uint64_t launches;       /* operations that have a call */
	uint32_t most;           /* depth */
	int64_t first, last;     /* of the first call, of the last operation's start */
	double area;             /* sum of depth x ns: / (last - first) is the mean */
	int64_t empty;           /* ns at which the depth was 0 */
	GT_VEC(uint32_t) begins; /* operations that wait, by the starts of their calls */
	GT_VEC(uint32_t) ends;   /* the same by their own starts */
};

/* The queues of a job. */
struct gt_queues {
	GT_VEC(struct gt_queue) list; /* by process, device, stream */
};

/* The depth of a queue from @at on. */
struct gt_queue_point {
	int64_t at;     /* ns */
	uint32_t depth; /* operations that wait */
};

/* A way along a queue, from one change of its depth to the next. */
struct gt_queue_walk {
	const struct gt_queue *queue;
	size_t begun, ended;
	struct gt_queue_point at, next; /* next: if there is one */
	bool has_next;
};

/* Finds the queues of all streams with the filter's operations. 0 or -ENOMEM; free in either case.
 */
int gt_queues_build(const struct gt_job *job, const struct gt_filter *filter,
		    struct gt_queues *ret_queues);
void gt_queues_fini(struct gt_queues *queues);

/* The depth at a time. */
uint32_t gt_queue_depth_at(const struct gt_queue *queue, int64_t t);

/* Begins at the first change, of a queue in which something waits; goes on to the next one, if
 * there is one. */
void gt_queue_walk_start(struct gt_queue_walk *ret_walk, const struct gt_queue *queue);
void gt_queue_walk_on(struct gt_queue_walk *walk);

#endif
