/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/join/in_flight.h"

#include <stddef.h>

#include "collectors/cupti/library/streams.h"
#include "pipeline/join/join.h"

/* Launches of two threads at one time may have reached the stream in either order. */
#define AT_ONCE_NS 1000000u

/* A wait on the stream is one on all its work; the default stream of a thread is the thread's. */
static bool covers(const struct gt_in_flight_wait *wait, uint16_t context, uint64_t handle,
		   uint32_t tid)
{
	if (!wait->before || wait->context != context)
		return false;
	return wait->handle == GT_CUPTI_STREAM_ALL ||
	       (wait->handle == handle &&
		(handle != GT_CUPTI_STREAM_PER_THREAD || wait->tid == tid));
}

/* In the place of an earlier wait on the same stream, else of the oldest one. */
static void note_wait(struct gt_in_flight *flight, const struct gt_event *event,
		      const struct gt_correlate_aim *aim)
{
	struct gt_in_flight_wait *place = &flight->waits[0];

	for (uint32_t i = 0; i < GT_IN_FLIGHT_WAITS; i++) {
		struct gt_in_flight_wait *wait = &flight->waits[i];

		if (wait->before && wait->handle == aim->stream && wait->context == aim->context &&
		    (aim->stream != GT_CUPTI_STREAM_PER_THREAD || wait->tid == event->tid)) {
			place = wait;
			break;
		}
		if (wait->before < place->before)
			place = wait;
	}
	if (event->start > place->before)
		*place = (struct gt_in_flight_wait){.handle = aim->stream,
						    .before = event->start,
						    .tid = event->tid,
						    .context = aim->context};
}

void gt_in_flight_call(struct gt_in_flight *flight, const struct gt_event *event,
		       const struct gt_call_effect *what)
{
	struct gt_in_flight_call call = {.tid = event->tid,
					 .cbid = event->api.cbid,
					 .domain = event->api.domain,
					 .end = event->end};

	if (!what->is_query) {
		flight->calls++;
		flight->threads[event->tid % GT_IN_FLIGHT_THREADS] = call;
		if (call.end >= flight->newest.end)
			flight->newest = call;
	}
	if (what->waits && what->aim.aimed)
		note_wait(flight, event, &what->aim);
	if (what->host_function && what->aim.aimed)
		flight->hosts[flight->next_host++ % GT_IN_FLIGHT_HOSTS] =
			(struct gt_in_flight_host){.aim = what->aim,
						   .start = event->start,
						   .tid = event->tid,
						   .stack = event->stack};
}

static bool same_stream(const struct gt_in_flight_stream *known, const struct gt_place *place)
{
	return known->known && known->context == (uint16_t)place->context &&
	       known->stream == place->stream;
}

/* Nodes of a graph may run on streams of its own. */
static bool is_of_node(const struct gt_event *event)
{
	return event->kind == GT_EVENT_KERNEL
		       ? event->kernel.graph_node_id
		       : event->kind != GT_EVENT_GRAPH && event->memory.graph_node_id;
}

static void note_done(struct gt_in_flight_stream *stream, const struct gt_launch *launch)
{
	if (!launch->known || launch->start <= stream->done)
		return;
	stream->done = launch->start;
	stream->tid = launch->tid;
}

void gt_in_flight_linked(struct gt_in_flight *flight, const struct gt_event *event,
			 const struct gt_correlate *calls)
{
	const struct gt_place *place = &event->place;
	uint32_t slot = (place->stream * 31u + place->context) % GT_IN_FLIGHT_STREAMS;
	struct gt_correlate_aim aim;

	if (event->kind == GT_EVENT_SYNC || is_of_node(event))
		return;
	if (same_stream(&flight->streams[slot], place)) {
		note_done(&flight->streams[slot], &event->launch);
		return;
	}
	if (!gt_correlate_aim_of(calls, event->correlation, &aim) || !aim.aimed ||
	    aim.stream == GT_CUPTI_STREAM_PER_THREAD)
		return;
	flight->streams[slot] = (struct gt_in_flight_stream){.known = true,
							     .context = (uint16_t)place->context,
							     .device = place->device,
							     .stream = place->stream,
							     .handle = aim.stream};
	note_done(&flight->streams[slot], &event->launch);
}

/* A handle may serve another stream when the first one is destroyed: the newer id is the living
 * one's. */
const struct gt_in_flight_stream *gt_in_flight_stream(const struct gt_in_flight *flight,
						      uint16_t context, uint64_t handle)
{
	const struct gt_in_flight_stream *found = NULL;

	for (uint32_t i = 0; i < GT_IN_FLIGHT_STREAMS; i++) {
		const struct gt_in_flight_stream *stream = &flight->streams[i];

		if (stream->known && stream->context == context && stream->handle == handle &&
		    (!found || stream->stream > found->stream))
			found = stream;
	}
	return found;
}

const struct gt_in_flight_call *gt_in_flight_last_call(const struct gt_in_flight *flight,
						       uint32_t tid)
{
	const struct gt_in_flight_call *call = &flight->threads[tid % GT_IN_FLIGHT_THREADS];

	return call->tid == tid ? call : NULL;
}

struct each {
	const struct gt_in_flight *flight;
	void (*found)(void *context, const struct gt_in_flight_launch *launch);
	void *context;
};

/* Later work of the same stream is done. Of two threads the order is not known exactly. */
static bool is_overtaken(const struct gt_in_flight *flight, const struct gt_correlate_aim *aim,
			 uint64_t start, uint32_t tid)
{
	const struct gt_in_flight_stream *stream =
		aim->aimed ? gt_in_flight_stream(flight, aim->context, aim->stream) : NULL;

	return stream && start + (stream->tid == tid ? 0 : AT_ONCE_NS) < stream->done;
}

static bool is_done(const struct gt_in_flight *flight, const struct gt_correlate_aim *aim,
		    uint64_t start, uint32_t tid)
{
	if (is_overtaken(flight, aim, start, tid))
		return true;
	for (uint32_t i = 0; aim->aimed && i < GT_IN_FLIGHT_WAITS; i++)
		if (covers(&flight->waits[i], aim->context, aim->stream, tid) &&
		    start < flight->waits[i].before)
			return true;
	return false;
}

const struct gt_in_flight_host *gt_in_flight_oldest_host(const struct gt_in_flight *flight)
{
	const struct gt_in_flight_host *found = NULL;

	for (uint32_t i = 0; i < GT_IN_FLIGHT_HOSTS; i++) {
		const struct gt_in_flight_host *host = &flight->hosts[i];

		if (host->start && (!found || host->start < found->start) &&
		    !is_done(flight, &host->aim, host->start, host->tid))
			found = host;
	}
	return found;
}

static void see(void *context, const struct gt_correlate_waiting *call)
{
	const struct each *each = context;

	if (!call->launch->start ||
	    is_done(each->flight, &call->aim, call->launch->start, call->launch->tid))
		return;
	each->found(each->context, &(struct gt_in_flight_launch){.launch = call->launch,
								 .aim = call->aim,
								 .operations = call->operations,
								 .many = call->many});
}

void gt_in_flight_each(const struct gt_in_flight *flight, const struct gt_correlate *calls,
		       void (*found)(void *context, const struct gt_in_flight_launch *launch),
		       void *context)
{
	struct each each = {.flight = flight, .found = found, .context = context};

	gt_correlate_each_waiting(calls, see, &each);
}
