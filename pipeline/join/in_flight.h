/* SPDX-License-Identifier: Apache-2.0
 *
 * What the GPU may still be at work on, for gputrace hang and --watchdog: launches that no record
 * has come of, less those that the program has waited for. And whether anything moves. Drain
 * thread.
 */
#ifndef GT_PIPELINE_JOIN_IN_FLIGHT_H
#define GT_PIPELINE_JOIN_IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/correlate.h"
#include "core/schema/event.h"

struct gt_call_effect;
struct gt_stack;

#define GT_IN_FLIGHT_WAITS   64u
#define GT_IN_FLIGHT_STREAMS 256u
#define GT_IN_FLIGHT_THREADS 256u
#define GT_IN_FLIGHT_HOSTS   64u

/* A stream whose work launched before that time is done: a call that waited has returned. */
struct gt_in_flight_wait {
	uint64_t handle; /* GT_CUPTI_STREAM_ALL: of the context */
	uint64_t before; /* trace ns; 0: free */
	uint32_t tid;    /* of the thread's default stream */
	uint16_t context;
};

/* A stream as records name it, and its handle. */
struct gt_in_flight_stream {
	bool known;
	uint16_t context; /* low bits */
	uint32_t device, stream;
	uint64_t handle;
	uint64_t done; /* trace ns: the newest launch of it that has a record ... */
	uint32_t tid;  /* ... by this thread: those before it are done */
};

/* The last call of a thread. */
struct gt_in_flight_call {
	uint32_t tid; /* 0: none */
	uint32_t cbid;
	enum gt_api_domain domain;
	uint64_t end; /* trace ns */
};

/* A function of the host in a stream (cudaLaunchHostFunc): no record tells when it is done. */
struct gt_in_flight_host {
	struct gt_correlate_aim aim;
	uint64_t start; /* trace ns, of the call; 0: free */
	uint32_t tid;
	const struct gt_stack *stack; /* of the call; NULL: not known */
};

/* Zeroed: nothing was launched. */
struct gt_in_flight {
	uint64_t calls;   /* that returned, without those that only ask: --api=default */
	uint64_t records; /* of GPU work */
	struct gt_in_flight_call newest; /* of all threads */
	struct gt_in_flight_wait waits[GT_IN_FLIGHT_WAITS];
	struct gt_in_flight_stream streams[GT_IN_FLIGHT_STREAMS];
	struct gt_in_flight_call threads[GT_IN_FLIGHT_THREADS];
	struct gt_in_flight_host hosts[GT_IN_FLIGHT_HOSTS]; /* the newest ones */
	uint32_t next_host;
};

/* A launch that may not be done. */
struct gt_in_flight_launch {
	const struct gt_launch *launch;
	struct gt_correlate_aim aim;
	uint32_t operations; /* of a graph that came */
	bool many;           /* a graph */
};

/* A finished call. */
void gt_in_flight_call(struct gt_in_flight *flight, const struct gt_event *event,
		       const struct gt_call_effect *what);

/* A record of GPU work. */
static inline void gt_in_flight_record(struct gt_in_flight *flight)
{
	flight->records++;
}

/* The same, when its call in @calls is known. */
void gt_in_flight_linked(struct gt_in_flight *flight, const struct gt_event *event,
			 const struct gt_correlate *calls);

/* Calls @found for each launch of @calls that may not be done, in any order. */
void gt_in_flight_each(const struct gt_in_flight *flight, const struct gt_correlate *calls,
		       void (*found)(void *context, const struct gt_in_flight_launch *launch),
		       void *context);

/* The stream as records name it. NULL: none of its work has had a record. */
const struct gt_in_flight_stream *gt_in_flight_stream(const struct gt_in_flight *flight,
						      uint16_t context, uint64_t handle);

/* The last call of a thread that has returned. NULL: none is known. */
const struct gt_in_flight_call *gt_in_flight_last_call(const struct gt_in_flight *flight,
						       uint32_t tid);

/* The oldest of the newest host functions that may not be done: no later work of its stream has a
 * record, and nobody has waited for it. NULL: there is none. */
const struct gt_in_flight_host *gt_in_flight_oldest_host(const struct gt_in_flight *flight);

#endif
