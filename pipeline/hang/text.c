/* SPDX-License-Identifier: Apache-2.0
 *
 * The report as text for people, see report.h.
 */
#include <string.h>

#include "core/guest/text.h"
#include "core/intern.h"
#include "core/json/event_text.h"
#include "core/schema/metadata.h"
#include "core/stack.h"
#include "pipeline/hang/report.h"
#include "pipeline/join/join.h"
#include "pipeline/sources/calls.h"

static void say(struct gt_json *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct gt_json *out, const char *format, ...)
{
	char text[GT_HANG_TEXT + 256];
	va_list arguments;
	size_t length;

	va_start(arguments, format);
	length = gt_text_vformat(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (size_t i = 0; i + 1 < length; i++) /* names come from the program */
		for (size_t n = text[i] == '\n' ? 0 : gt_text_control(text + i); n; n--)
			text[i + n - 1] = '?';
	gt_json_raw(out, text, length);
}

/* How many frames from @first on are addresses in one module that has no names for them. */
static uint32_t count_nameless(const struct gt_stack *stack, uint32_t first)
{
	const struct gt_string *module = stack->frames[first]->module;
	uint32_t count = 0;

	while (module && first + count < stack->count &&
	       stack->frames[first + count]->module == module &&
	       !stack->frames[first + count]->function)
		count++;
	return count;
}

/* Many addresses in the driver tell no more than one. */
static void put_stack(struct gt_json *out, const char *title, const struct gt_stack *stack)
{
	char frame[512];

	if (!stack || !stack->count)
		return;
	say(out, "      %s\n", title);
	for (uint32_t i = 0; i < stack->count; i++) {
		uint32_t nameless = count_nameless(stack, i);

		gt_hang_frame_text(stack->frames[i], frame, sizeof(frame));
		if (nameless < 3) {
			say(out, "        %s\n", frame);
			continue;
		}
		say(out, "        %s, and %u more addresses in it\n", frame, nameless - 1);
		i += nameless - 1;
	}
}

static void put_head(const struct gt_hang_report *report, struct gt_json *out)
{
	const struct gt_metadata *metadata = report->hang->calls->join->outlet->metadata;
	char idle[32];

	gt_hang_age_text(report->idle, idle, sizeof(idle));
	say(out, "process %u (%s)", metadata->pid, metadata->process);
	if (metadata->has_rank)
		say(out, ", rank %d", metadata->rank);
	say(out, " on %s: no progress for %s\n%s\n", metadata->host, idle, report->text);
}

static void put_operation(const struct gt_hang_operation *operation, struct gt_json *out)
{
	char age[32];

	gt_hang_age_text(operation->age, age, sizeof(age));
	say(out, "    %s%s, launched %s ago by thread %u\n", operation->is_kernel ? "kernel " : "",
	    operation->name->text, age, operation->tid);
	if (operation->finished)
		say(out, "      %u operations of this graph are done, perhaps all\n",
		    operation->finished);
	put_stack(out, "launched from:", operation->stack);
}

static void put_host(const struct gt_hang_host *host, struct gt_json *out)
{
	char age[32];

	if (!host->name)
		return;
	gt_hang_age_text(host->age, age, sizeof(age));
	say(out,
	    "\nthe host function of %s, launched %s ago by thread %u, has perhaps not returned\n",
	    host->name->text, age, host->tid);
	put_stack(out, "launched from:", host->stack);
}

static void put_streams(const struct gt_hang_report *report, struct gt_json *out)
{
	char name[96], age[32];

	if (!report->has_cupti)
		say(out,
		    "\nGPU work is not recorded (hooks only): what is in flight is not known\n");
	else if (report->is_outside)
		say(out, "\nGPU work is not recorded now (outside of the window): what is in "
			 "flight is not known\n");
	else if (!report->stream_count && report->began_late)
		say(out,
		    "\nnothing that was launched in the window is in flight on the GPU; work from "
		    "before it is not known\n");
	else if (!report->stream_count)
		say(out, "\nnothing is in flight on the GPU\n");
	for (uint32_t i = 0; i < report->stream_count; i++) {
		const struct gt_hang_stream *stream = &report->streams[i];

		gt_hang_stream_text(stream, name, sizeof(name));
		say(out, "\n%s: %lu in flight, oldest first\n", name, (unsigned long)stream->count);
		for (uint32_t k = 0; k < stream->has; k++)
			put_operation(&stream->operations[k], out);
		if (stream->count > stream->has)
			say(out, "    and %lu more\n",
			    (unsigned long)(stream->count - stream->has));
	}
	if (report->streams_more)
		say(out, "\nand more streams\n");
	put_host(&report->host, out);
	if (!report->flushing)
		return;
	gt_hang_age_text(report->flushing, age, sizeof(age));
	say(out,
	    "\nCUPTI's flush has not returned for %s: work may be done that is listed as in "
	    "flight\n",
	    age);
}

static const char *function_of(const struct gt_library_call *call)
{
	const char *name = gt_library_name(call);

	return name ? name : "(unknown function)";
}

static void put_communicators(const struct gt_hang_report *report, struct gt_json *out)
{
	char id[GT_HANG_COMMUNICATOR_TEXT], age[32];

	for (uint32_t i = 0; i < report->communicator_count; i++) {
		const struct gt_hang_communicator *of = &report->communicators[i];

		gt_hang_communicator_text(of->last.communicator, id);
		if (of->last.ranks)
			say(out, "\ncommunicator %s of %u ranks\n", id, of->last.ranks);
		else
			say(out, "\ncommunicator %s\n", id);
		gt_hang_age_text(of->last_age, age, sizeof(age));
		say(out, "    called last: collective %lu, %s, %s ago\n",
		    (unsigned long)of->last.sequence, function_of(&of->last), age);
		if (!of->waits.function)
			continue;
		gt_hang_age_text(of->waits_age, age, sizeof(age));
		say(out, "    in flight: collective %lu, %s, %s %s ago\n",
		    (unsigned long)of->waits.sequence, function_of(&of->waits),
		    of->waits.is_mpi ? "called" : "launched", age);
	}
}

static void put_where(const struct gt_hang_thread *thread, struct gt_json *out)
{
	char age[32];

	if (thread->call) {
		say(out, "    in %s", thread->call->text);
		gt_hang_age_text(thread->call_age, age, sizeof(age));
		say(out, thread->call_age ? " for %s\n" : "%s\n", thread->call_age ? age : "");
	} else if (thread->last_call) {
		gt_hang_age_text(thread->last_age, age, sizeof(age));
		say(out, "    in no CUDA call; the last one, %s, returned %s ago\n",
		    thread->last_call->text, age);
	} else {
		say(out, "    in no CUDA call\n");
	}
	if (thread->system_call && thread->argument_is_descriptor)
		say(out, "    waits in the system call %s of descriptor %lu\n", thread->system_call,
		    (unsigned long)thread->argument);
	else if (thread->system_call)
		say(out, "    waits in the system call %s\n", thread->system_call);
	else if (thread->where == GT_SAMPLE_RUNNING)
		say(out, "    runs\n");
}

/* Threads of a pool that wait: not those that have called CUDA, whose times differ. */
static bool are_alike(const struct gt_hang_thread *a, const struct gt_hang_thread *b)
{
	return !a->call && !b->call && !a->last_call && !b->last_call && a->stack &&
	       a->stack == b->stack && a->name == b->name && a->where == b->where &&
	       a->system_call == b->system_call &&
	       (!a->argument_is_descriptor || a->argument == b->argument);
}

/* "thread 7 (a)", or "12 threads with this stack (a): 7 to 17, 21"; *done: those that are in it. */
static void put_who(const struct gt_hang_report *report, uint32_t first, bool *done,
		    struct gt_json *out)
{
	const struct gt_hang_thread *thread = &report->threads[first];
	uint32_t tids[GT_HANG_THREADS], count = 0;

	for (uint32_t i = first; i < report->thread_count; i++) {
		if (i != first && (done[i] || !are_alike(thread, &report->threads[i])))
			continue;
		done[i] = true;
		tids[count++] = report->threads[i].tid;
	}
	if (count == 1) {
		say(out, "\nthread %u (%s)\n", thread->tid, thread->name->text);
		return;
	}
	say(out, "\n%u threads with this stack (%s):", count, thread->name->text);
	for (uint32_t i = 0, last; i < count; i = last + 1) {
		for (last = i; last + 1 < count && tids[last + 1] == tids[last] + 1;)
			last++;
		if (last < i + 2)
			last = i;
		say(out, "%s %u", i ? "," : "", tids[i]);
		if (last > i)
			say(out, " to %u", tids[last]);
	}
	say(out, "\n");
}

static void put_threads(const struct gt_hang_report *report, struct gt_json *out)
{
	bool done[GT_HANG_THREADS] = {false};

	for (uint32_t i = 0; i < report->thread_count; i++) {
		const struct gt_hang_thread *thread = &report->threads[i];

		if (done[i])
			continue;
		put_who(report, i, done, out);
		put_where(thread, out);
		put_stack(out, "at the entry of the call:", thread->call_stack);
		put_stack(out, "now:", thread->stack);
	}
	if (report->threads_more)
		say(out, "\nand %u more threads\n", report->threads_more);
}

void gt_hang_print_text(const struct gt_hang_report *report, struct gt_json *out)
{
	put_head(report, out);
	put_streams(report, out);
	put_communicators(report, out);
	put_threads(report, out);
}
