/* SPDX-License-Identifier: Apache-2.0
 *
 * What is in flight on each stream, see report.h. A stream runs its work in order: what has held it
 * up is the oldest launch without a record, or, where CUPTI keeps records back, one behind it.
 */
#include <string.h>

#include "collectors/cupti/library/streams.h"
#include "collectors/symbols/demangle.h"
#include "core/guest/peek.h"
#include "core/guest/text.h"
#include "pipeline/hang/report.h"
#include "pipeline/join/join.h"
#include "pipeline/sources/calls.h"

static struct gt_hang_stream *stream_of(struct gt_hang_report *report,
					const struct gt_in_flight_launch *launch)
{
	const struct gt_correlate_aim *aim = &launch->aim;
	uint32_t tid =
		aim->aimed && aim->stream == GT_CUPTI_STREAM_PER_THREAD ? launch->launch->tid : 0;
	struct gt_hang_stream *stream;

	for (uint32_t i = 0; i < report->stream_count; i++) {
		stream = &report->streams[i];
		if (stream->aimed == aim->aimed && stream->handle == aim->stream &&
		    stream->context == aim->context && stream->tid == tid)
			return stream;
	}
	if (report->stream_count == GT_HANG_STREAMS) {
		report->streams_more++;
		return NULL;
	}
	stream = &report->streams[report->stream_count++];
	*stream = (struct gt_hang_stream){
		.aimed = aim->aimed, .context = aim->context, .tid = tid, .handle = aim->stream};
	return stream;
}

/* The name lies in a module that may be unloaded by now, and the memory be used for other things:
 * what does not look like a name is none. */
static const struct gt_string *kernel_name(const struct gt_hang *hang, uint64_t symbol)
{
	static char name[GT_DEMANGLE_MAX];
	size_t length = symbol ? gt_peek_copy(name, symbol, sizeof(name)) : 0, i;

	for (i = 0; i < length && name[i]; i++)
		if (name[i] < '!' || name[i] > '~')
			return NULL;
	return i && i < length ? gt_demangle_get(hang->demangle, name, i) : NULL;
}

static struct gt_hang_operation describe(const struct gt_hang_report *report,
					 const struct gt_in_flight_launch *launch)
{
	const struct gt_correlate_aim *aim = &launch->aim;
	struct gt_hang_operation operation = {
		.name = aim->aimed ? kernel_name(report->hang, aim->symbol) : NULL,
		.age = report->trace_now - launch->launch->start,
		.tid = launch->launch->tid,
		.stack = launch->launch->stack,
		.finished = launch->operations,
	};

	operation.is_kernel = operation.name != NULL;
	if (!operation.name)
		operation.name = gt_calls_name(report->hang->calls, (enum gt_api_domain)aim->domain,
					       aim->cbid);
	return operation;
}

/* The oldest ones are kept, in order. */
static void insert(struct gt_hang_report *report, struct gt_hang_stream *stream,
		   const struct gt_in_flight_launch *launch)
{
	uint64_t start = launch->launch->start;
	uint32_t at = stream->has, last;

	while (at > 0 && stream->starts[at - 1] > start)
		at--;
	if (at == GT_HANG_OPERATIONS)
		return;
	last = stream->has < GT_HANG_OPERATIONS ? stream->has++ : GT_HANG_OPERATIONS - 1;
	memmove(&stream->starts[at + 1], &stream->starts[at], (last - at) * sizeof(start));
	memmove(&stream->operations[at + 1], &stream->operations[at],
		(last - at) * sizeof(stream->operations[0]));
	stream->starts[at] = start;
	stream->operations[at] = describe(report, launch);
}

static void see(void *context, const struct gt_in_flight_launch *launch)
{
	struct gt_hang_report *report = context;
	struct gt_hang_stream *stream;

	if (launch->launch->start > report->trace_now)
		return;
	stream = stream_of(report, launch);
	if (!stream)
		return;
	stream->count++;
	report->operations += launch->operations == 0;
	insert(report, stream, launch);
}

static void find_host(struct gt_hang_report *report)
{
	const struct gt_calls *calls = report->hang->calls;
	const struct gt_in_flight_host *host = gt_in_flight_oldest_host(&calls->join->flight);

	if (!host || host->start > report->trace_now)
		return;
	report->host = (struct gt_hang_host){
		.name = gt_calls_name(report->hang->calls, (enum gt_api_domain)host->aim.domain,
				      host->aim.cbid),
		.handle = host->aim.stream,
		.start = host->start,
		.context = host->aim.context,
		.age = report->trace_now - host->start,
		.tid = host->tid,
		.stack = host->stack,
	};
}

void gt_hang_find_streams(struct gt_hang_report *report)
{
	const struct gt_call_join *join = report->hang->calls->join;

	if (!report->has_cupti)
		return;
	find_host(report);
	gt_in_flight_each(&join->flight, join->calls, see, report);
	for (uint32_t i = 0; i < report->stream_count; i++) {
		struct gt_hang_stream *stream = &report->streams[i];
		const struct gt_in_flight_stream *known =
			gt_in_flight_stream(&join->flight, stream->context, stream->handle);

		if (!stream->aimed || stream->tid || !known)
			continue;
		stream->has_number = true;
		stream->device = known->device;
		stream->number = known->stream;
	}
}

void gt_hang_stream_text(const struct gt_hang_stream *stream, char *ret_text, size_t size)
{
	if (!stream->aimed)
		gt_text_format(ret_text, size, "a stream that is not known");
	else if (stream->tid)
		gt_text_format(ret_text, size, "the default stream of thread %u", stream->tid);
	else if (stream->has_number)
		gt_text_format(ret_text, size, "stream %u of device %u", stream->number,
			       stream->device);
	else if (stream->handle <= 1)
		gt_text_format(ret_text, size, "the default stream of context %u", stream->context);
	else
		gt_text_format(ret_text, size, "stream 0x%lx of context %u",
			       (unsigned long)stream->handle, stream->context);
}
