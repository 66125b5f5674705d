/* SPDX-License-Identifier: Apache-2.0
 *
 * What everything waits for, see report.h. Work in flight comes first: whoever waits in a call then
 * waits for it. Else the call that takes longest; else the thread that called CUDA last.
 */
#include <stddef.h>
#include <string.h>

#include "core/guest/text.h"
#include "core/intern.h"
#include "core/json/event_text.h"
#include "core/stack.h"
#include "pipeline/hang/report.h"

/* Less than this without progress is no hang. */
#define MOVES_NS 1000000000u

#define AGE_TEXT 32

const char *gt_hang_verdict_name(enum gt_hang_verdict verdict)
{
	static const char *const names[] = {[GT_HANG_GPU] = "gpu",
					    [GT_HANG_CALL] = "call",
					    [GT_HANG_HOST] = "host",
					    [GT_HANG_MOVES] = "none"};

	return names[verdict];
}

/* A copy or a set: it ends by itself, while a kernel may run on. */
static bool is_copy(const struct gt_hang_operation *operation)
{
	return !operation->is_kernel && operation->name && strstr(operation->name->text, "Mem");
}

/* Whether @a is more likely what everything waits for: graphs that are partly done come last, then
 * copies, whose records may be late; then the oldest is first. */
static bool is_likelier(const struct gt_hang_operation *a, const struct gt_hang_operation *b)
{
	if (!a->finished != !b->finished)
		return !a->finished;
	return is_copy(a) != is_copy(b) ? is_copy(b) : a->age > b->age;
}

/* The likeliest on any stream. NULL: nothing is in flight. */
static const struct gt_hang_operation *likeliest(const struct gt_hang_report *report,
						 const struct gt_hang_stream **ret_stream)
{
	const struct gt_hang_operation *found = NULL;

	for (uint32_t i = 0; i < report->stream_count; i++)
		for (uint32_t k = 0; k < report->streams[i].has; k++) {
			const struct gt_hang_operation *at = &report->streams[i].operations[k];

			if (found && !is_likelier(at, found))
				continue;
			found = at;
			*ret_stream = &report->streams[i];
		}
	return found;
}

static void add(char *text, const char *more)
{
	size_t length = strlen(text);

	gt_text_format(text + length, GT_HANG_TEXT - length, "%s", more);
}

/* What pip installs, Python's own files, and code without a file: not the user's. */
static bool is_of_library(const struct gt_stack_frame *frame)
{
	static const char folders[][16] = {"/site-packages/", "/dist-packages/", "/lib/python3"};

	if (frame->kind != GT_FRAME_PYTHON || !frame->file || frame->file->text[0] == '<')
		return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strstr(frame->file->text, folders[i]))
			return true;
	return false;
}

/* "_sleep (__init__.py:231)" says nothing to whom PyTorch is not: the first line that is none of a
 * library follows. */
static void add_caller(char *text, const struct gt_stack *stack)
{
	char place[256];

	for (uint32_t i = 0; i < stack->count; i++) {
		if (is_of_library(stack->frames[i]))
			continue;
		gt_hang_frame_text(stack->frames[i], place, sizeof(place));
		add(text, ", called from ");
		add(text, place);
		return;
	}
}

static void add_place(char *text, const struct gt_stack *stack)
{
	const struct gt_stack_frame *frame = stack ? gt_stack_best_frame(stack) : NULL;
	char place[256];

	if (!frame)
		return;
	gt_hang_frame_text(frame, place, sizeof(place));
	add(text, ", at ");
	add(text, place);
	if (frame->kind == GT_FRAME_PYTHON && is_of_library(frame))
		add_caller(text, stack);
}

static void add_who(char *text, const struct gt_hang_thread *thread)
{
	char who[160];

	gt_text_format(who, sizeof(who), "thread %u (%s)", thread->tid, thread->name->text);
	add(text, who);
}

/* Nothing if it is not known. */
static void add_age(char *text, const char *before, uint64_t ns, const char *behind)
{
	char age[AGE_TEXT];

	if (!ns)
		return;
	gt_hang_age_text(ns, age, sizeof(age));
	add(text, before);
	add(text, age);
	add(text, behind);
}

/* Whoever is inside of a call while the GPU does not finish. */
static void add_waiting(struct gt_hang_report *report)
{
	char *text = report->text;

	if (!report->guilty) {
		add(text, "; no thread waits for it");
		return;
	}
	add(text, "; ");
	add_who(text, report->guilty);
	add(text, report->guilty->call_waits ? " waits in " : " is in ");
	add(text, report->guilty->call->text);
}

static void add_host(struct gt_hang_report *report, const char *before, const char *behind)
{
	const struct gt_hang_host *host = &report->host;
	char *text = report->text;

	add(text, before);
	add(text, "the host function of ");
	add(text, host->name->text);
	add_age(text, ", launched ", host->age, " ago");
	add_place(text, host->stack);
	add(text, behind);
}

/* The stream comes to the operation when it has returned. */
static bool is_behind_host(const struct gt_hang_report *report, const struct gt_hang_stream *stream,
			   const struct gt_hang_operation *operation)
{
	const struct gt_hang_host *host = &report->host;

	return host->name && stream->aimed && host->handle == stream->handle &&
	       host->context == stream->context && host->age >= operation->age;
}

static void judge_gpu(struct gt_hang_report *report, const struct gt_hang_operation *operation,
		      const struct gt_hang_stream *stream)
{
	char *text = report->text, where[96];
	uint64_t behind = stream->count - 1;

	report->verdict = GT_HANG_GPU;
	gt_hang_stream_text(stream, where, sizeof(where));
	add(text, "the GPU never finished ");
	add(text, operation->name->text);
	if (behind && report->flushing)
		add(text, " or what was launched behind it");
	add(text, " on ");
	add(text, where);
	add_age(text, ", launched ", operation->age, " ago");
	add_place(text, operation->stack);
	if (is_behind_host(report, stream, operation))
		add_host(report, ", or it waits for ", "");
	add_waiting(report);
	if (report->flushing)
		add_age(text, "; not certain: CUPTI's flush has not returned for ",
			report->flushing, "");
}

static void judge_call(struct gt_hang_report *report)
{
	const struct gt_hang_thread *thread = report->guilty;
	char *text = report->text;

	report->verdict = GT_HANG_CALL;
	add(text, "the host never returned from ");
	add(text, thread->call->text);
	add(text, ": ");
	add_who(text, thread);
	add_age(text, " has been in it for ", thread->call_age, "");
	add_place(text, thread->call_stack ? thread->call_stack : thread->stack);
	add(text, !report->has_cupti   ? "; GPU work is not recorded (hooks only)"
		  : report->is_outside ? "; GPU work is not recorded now (outside of the window)"
		  : report->began_late
			  ? "; nothing that was launched in the window is in flight on "
			    "the GPU, work from before it is not known"
			  : "; nothing is in flight on the GPU");
	if (report->host.name && thread->call_waits)
		add_host(report, "; ", ", has perhaps not returned");
}

static void judge_host(struct gt_hang_report *report)
{
	const struct gt_hang_thread *thread = report->guilty;
	char *text = report->text, place[320];

	report->verdict = GT_HANG_HOST;
	add(text, "nobody launched anything");
	add_age(text, " for ", report->idle, "");
	if (!thread) {
		add(text, ": where its threads are is not known");
		return;
	}
	add(text, ": ");
	add_who(text, thread);
	if (gt_hang_place_text(thread, place, sizeof(place))) {
		add(text, " is in ");
		add(text, place);
	} else if (thread->system_call) {
		add(text, " is in ");
		add(text, thread->system_call);
	} else {
		add(text, thread->where == GT_SAMPLE_RUNNING ? " runs" : " waits");
	}
	if (report->began_late)
		add(text, "; calls and work from before the window are not known");
}

static void judge_moves(struct gt_hang_report *report)
{
	report->verdict = GT_HANG_MOVES;
	add(report->text, "no hang");
	add_age(report->text, ": the last progress was ", report->idle, " ago");
}

void gt_hang_judge(struct gt_hang_report *report)
{
	const struct gt_hang_thread *first = report->thread_count ? &report->threads[0] : NULL;
	const struct gt_hang_stream *stream = NULL;
	const struct gt_hang_operation *operation = likeliest(report, &stream);

	report->guilty = first;
	if (report->is_asked && report->idle < MOVES_NS) {
		judge_moves(report);
	} else if (operation && (!operation->finished || (first && first->call))) {
		report->guilty = first && first->call ? first : NULL;
		judge_gpu(report, operation, stream);
	} else if (first && first->call) {
		judge_call(report);
	} else {
		judge_host(report);
	}
}

/* ---- words ---- */

void gt_hang_age_text(uint64_t ns, char *ret_text, size_t size)
{
	uint64_t tenths = ns / 100000000u;

	if (ns < 1000000000u)
		gt_text_format(ret_text, size, "%lu ms", (unsigned long)(ns / 1000000u));
	else
		gt_text_format(ret_text, size, "%lu.%lu s", (unsigned long)(tenths / 10),
			       (unsigned long)(tenths % 10));
}

void gt_hang_frame_text(const struct gt_stack_frame *frame, char *ret_text, size_t size)
{
	struct gt_json out;
	size_t length;

	*ret_text = 0;
	if (!frame || gt_json_init(&out, 1024))
		return;
	gt_frame_text(&out, frame, 0, false);
	length = out.length < size - 1 ? out.length : size - 1;
	memcpy(ret_text, out.text, length);
	ret_text[length] = 0;
	gt_json_fini(&out);
}

static bool is_of_libc(const struct gt_stack_frame *frame)
{
	const char *path = frame->module ? frame->module->text : "";
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return frame->kind == GT_FRAME_NATIVE &&
	       (!strncmp(name, "libc.so", 7) || !strncmp(name, "libpthread", 10) ||
		!strncmp(name, "libc-2", 6));
}

/* The function of the C library that the innermost frames lead to. NULL: none. */
static const struct gt_stack_frame *find_wait(const struct gt_stack *stack)
{
	const struct gt_stack_frame *waits = NULL;

	for (uint32_t i = 0; i < stack->count && is_of_libc(stack->frames[i]); i++)
		if (stack->frames[i]->function)
			waits = stack->frames[i];
	return waits;
}

static bool has_name(const struct gt_stack_frame *frame, const struct gt_stack_frame *other)
{
	return frame->function && other && !strcmp(frame->function->text, other->function->text);
}

/* Who called it. Another library may stand in between, under the same name. */
static const struct gt_stack_frame *find_caller(const struct gt_stack *stack,
						const struct gt_stack_frame *waits)
{
	const struct gt_stack_frame *best = gt_stack_best_frame(stack);

	if (!best || best->kind == GT_FRAME_PYTHON || !has_name(best, waits))
		return best;
	for (uint32_t i = 0; i < stack->count; i++)
		if (!is_of_libc(stack->frames[i]) && !has_name(stack->frames[i], waits))
			return stack->frames[i];
	return best;
}

bool gt_hang_place_text(const struct gt_hang_thread *thread, char *ret_text, size_t size)
{
	const struct gt_stack *stack = thread->stack;
	const struct gt_stack_frame *waits = stack ? find_wait(stack) : NULL;
	const struct gt_stack_frame *best = stack ? find_caller(stack, waits) : NULL;
	char place[256];
	size_t n = 0;

	if (!best)
		return false;
	gt_hang_frame_text(best, place, sizeof(place));
	if (waits && waits != best)
		n = gt_text_format(ret_text, size, "%s, called from ", waits->function->text);
	else if (thread->system_call)
		n = gt_text_format(ret_text, size, "%s, called from ", thread->system_call);
	gt_text_format(ret_text + n, size - n, "%s", place);
	return true;
}
