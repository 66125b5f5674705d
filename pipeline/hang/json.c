/* SPDX-License-Identifier: Apache-2.0
 *
 * The report as one JSON object, see report.h and docs/hang.md.
 */
#include <string.h>

#include "core/intern.h"
#include "core/json/event_text.h"
#include "core/schema/metadata.h"
#include "core/stack.h"
#include "pipeline/hang/report.h"
#include "pipeline/join/join.h"
#include "pipeline/sources/calls.h"

static void put_seconds(struct gt_json *out, const char *key, uint64_t ns)
{
	gt_json_key_text(out, key);
	gt_json_real(out, (double)(ns / 1000000u) / 1000);
}

static void put_stack(struct gt_json *out, const char *key, const struct gt_stack *stack)
{
	char frame[1024];

	if (!stack)
		return;
	gt_json_key_text(out, key);
	gt_json_char(out, '[');
	for (uint32_t i = 0; i < stack->count; i++) {
		gt_hang_frame_text(stack->frames[i], frame, sizeof(frame));
		gt_json_comma(out);
		gt_json_cstr(out, frame);
	}
	gt_json_char(out, ']');
}

static void put_process(const struct gt_hang_report *report, struct gt_json *out)
{
	const struct gt_metadata *metadata = report->hang->calls->join->outlet->metadata;

	gt_json_member_u64(out, "pid", metadata->pid);
	gt_json_member_cstr(out, "process", metadata->process);
	gt_json_member_cstr(out, "host", metadata->host);
	if (metadata->has_rank)
		gt_json_member_i64(out, "rank", metadata->rank);
	put_seconds(out, "seconds_without_progress", report->idle);
	gt_json_member_cstr(out, "verdict", gt_hang_verdict_name(report->verdict));
	gt_json_member_cstr(out, "text", report->text);
	if (report->guilty)
		gt_json_member_u64(out, "thread", report->guilty->tid);
	gt_json_key(out, "gpu_work_is_recorded");
	gt_json_bool(out, report->has_cupti && !report->is_outside);
	if (report->flushing)
		put_seconds(out, "seconds_in_flush", report->flushing);
}

static void put_operation(const struct gt_hang_operation *operation, struct gt_json *out)
{
	gt_json_comma(out);
	gt_json_char(out, '{');
	gt_json_member_cstr(out, "name", operation->name->text);
	gt_json_key(out, "is_kernel");
	gt_json_bool(out, operation->is_kernel);
	put_seconds(out, "seconds", operation->age);
	gt_json_member_u64(out, "thread", operation->tid);
	if (operation->finished)
		gt_json_member_u64(out, "finished", operation->finished);
	put_stack(out, "stack", operation->stack);
	gt_json_char(out, '}');
}

static void put_stream(const struct gt_hang_stream *stream, struct gt_json *out)
{
	char name[96];

	gt_hang_stream_text(stream, name, sizeof(name));
	gt_json_comma(out);
	gt_json_char(out, '{');
	gt_json_member_cstr(out, "name", name);
	if (stream->has_number) {
		gt_json_member_u64(out, "device", stream->device);
		gt_json_member_u64(out, "stream", stream->number);
	}
	gt_json_member_u64(out, "in_flight", stream->count);
	gt_json_key(out, "oldest");
	gt_json_char(out, '[');
	for (uint32_t i = 0; i < stream->has; i++)
		put_operation(&stream->operations[i], out);
	gt_json_raw(out, "]}", 2);
}

static void put_host(const struct gt_hang_host *host, struct gt_json *out)
{
	if (!host->name)
		return;
	gt_json_key_text(out, "host_function");
	gt_json_char(out, '{');
	gt_json_member_cstr(out, "call", host->name->text);
	put_seconds(out, "seconds", host->age);
	gt_json_member_u64(out, "thread", host->tid);
	put_stack(out, "stack", host->stack);
	gt_json_char(out, '}');
}

static void put_collective(const char *key, const struct gt_library_call *call, uint64_t age,
			   struct gt_json *out)
{
	const char *name = gt_library_name(call);

	if (!call->function)
		return;
	gt_json_key_text(out, key);
	gt_json_char(out, '{');
	gt_json_member_u64(out, "collective", call->sequence);
	gt_json_member_cstr(out, "call", name ? name : "?");
	put_seconds(out, "seconds", age);
	gt_json_char(out, '}');
}

static void put_communicators(const struct gt_hang_report *report, struct gt_json *out)
{
	char id[GT_HANG_COMMUNICATOR_TEXT];

	if (!report->communicator_count)
		return;
	gt_json_key_text(out, "communicators");
	gt_json_char(out, '[');
	for (uint32_t i = 0; i < report->communicator_count; i++) {
		const struct gt_hang_communicator *of = &report->communicators[i];

		gt_json_comma(out);
		gt_json_char(out, '{');
		gt_hang_communicator_text(of->last.communicator, id);
		gt_json_member_cstr(out, "communicator", id);
		gt_json_member_u64(out, "members", of->last.ranks);
		put_collective("last", &of->last, of->last_age, out);
		put_collective("in_flight", &of->waits, of->waits_age, out);
		gt_json_char(out, '}');
	}
	gt_json_char(out, ']');
}

static void put_state(const struct gt_hang_thread *thread, struct gt_json *out)
{
	static const char *const states[] = {
		[GT_SAMPLE_RUNNING] = "running", [GT_SAMPLE_WAITING] = "waiting"};
	const char *state =
		thread->where < sizeof(states) / sizeof(states[0]) ? states[thread->where] : NULL;

	gt_json_member_cstr(out, "state", state ? state : "unknown");
	if (thread->system_call)
		gt_json_member_cstr(out, "system_call", thread->system_call);
	if (thread->system_call && thread->argument_is_descriptor)
		gt_json_member_u64(out, "descriptor", thread->argument);
}

static void put_thread(const struct gt_hang_thread *thread, struct gt_json *out)
{
	gt_json_comma(out);
	gt_json_char(out, '{');
	gt_json_member_u64(out, "tid", thread->tid);
	gt_json_member_cstr(out, "name", thread->name->text);
	if (thread->call) {
		gt_json_member_cstr(out, "call", thread->call->text);
		if (thread->call_age)
			put_seconds(out, "call_seconds", thread->call_age);
		put_stack(out, "call_stack", thread->call_stack);
	} else if (thread->last_call) {
		gt_json_member_cstr(out, "last_call", thread->last_call->text);
		put_seconds(out, "last_call_seconds", thread->last_age);
	}
	put_state(thread, out);
	put_stack(out, "stack", thread->stack);
	gt_json_char(out, '}');
}

void gt_hang_print_json(const struct gt_hang_report *report, struct gt_json *out)
{
	gt_json_char(out, '{');
	put_process(report, out);
	gt_json_key(out, "streams");
	gt_json_char(out, '[');
	for (uint32_t i = 0; i < report->stream_count; i++)
		put_stream(&report->streams[i], out);
	gt_json_char(out, ']');
	put_host(&report->host, out);
	put_communicators(report, out);
	gt_json_key(out, "threads");
	gt_json_char(out, '[');
	for (uint32_t i = 0; i < report->thread_count; i++)
		put_thread(&report->threads[i], out);
	gt_json_char(out, ']');
	if (report->threads_more)
		gt_json_member_u64(out, "threads_more", report->threads_more);
	if (report->streams_more)
		gt_json_member_u64(out, "streams_more", report->streams_more);
	gt_json_raw(out, "}\n", 2);
}
