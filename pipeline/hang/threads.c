/* SPDX-License-Identifier: Apache-2.0
 *
 * Where each thread is, see report.h: in which call and since when, its stack at the entry of the
 * call and now.
 */
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/sampler/look.h"
#include "collectors/sampler/tasks.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/clock.h"
#include "core/intern.h"
#include "core/thread.h"
#include "pipeline/hang/report.h"
#include "pipeline/join/join.h"
#include "pipeline/sources/calls.h"
#include "pipeline/sources/stacks.h"
#include "pipeline/sources/thread_names.h"

#define OUR_THREADS "gputrace-"
#define TASKS       1024u

static const struct {
	uint32_t number;
	bool has_descriptor;
	const char *name;
} waits[] = {
#define GT_WAIT(name, fd) {SYS_##name, fd, #name},
#include "pipeline/hang/system_calls.def"
#undef GT_WAIT
};

static void name_system_call(const struct gt_look *look, struct gt_hang_thread *thread)
{
	for (size_t i = 0; look->has_call && i < sizeof(waits) / sizeof(waits[0]); i++)
		if (waits[i].number == look->system_call) {
			thread->system_call = waits[i].name;
			thread->argument = look->argument;
			thread->argument_is_descriptor = waits[i].has_descriptor;
		}
}

/* The slot's owner may return and use it again while it is copied: then the stack is of two calls,
 * and the caller finds that the call is gone. */
static __attribute__((no_sanitize("thread"))) const struct gt_call_record *copy_slot(
	const struct gt_call_under_way *call)
{
	static struct {
		_Alignas(8) char bytes[sizeof(struct gt_call_record) +
				       2 * GT_UNWIND_DEPTH * sizeof(uint64_t)];
	} copy;
	struct gt_call_record *record = (struct gt_call_record *)(void *)copy.bytes;
	const volatile uint64_t *pcs = call->record->pcs;
	uint32_t count = (uint32_t)call->frame_count + call->python_count;

	if (count > 2 * GT_UNWIND_DEPTH)
		return NULL;
	*record = *call->record;
	record->frame_count = call->frame_count;
	record->python_count = call->python_count;
	for (uint32_t i = 0; i < count; i++)
		record->pcs[i] = pcs[i];
	return record;
}

static bool is_same(const struct gt_call_under_way *a, const struct gt_call_under_way *b)
{
	return a->record == b->record && a->start == b->start && a->cbid == b->cbid;
}

static void describe_call(struct gt_hang_report *report, const struct gt_thread *block,
			  struct gt_hang_thread *thread)
{
	struct gt_calls *calls = report->hang->calls;
	struct gt_call_under_way call, again;
	const struct gt_call_record *record = NULL;
	const struct gt_cuda_api *api;

	if (!gt_call_find_under_way(block, &call))
		return;
	if (call.record)
		record = copy_slot(&call);
	if (!gt_call_find_under_way(block, &again) || !is_same(&call, &again))
		return;
	api = gt_cuda_api_find(call.domain, call.cbid);
	thread->call = call.cbid ? gt_calls_name(calls, call.domain, call.cbid)
				 : gt_intern_cstr(calls->strings, "a CUDA call");
	thread->call_waits = api && api->flags & (GT_CUDA_WAITS | GT_CUDA_BLOCKS);
	if (call.start && call.start < report->now)
		thread->call_age = report->now - call.start;
	if (record)
		thread->call_stack = gt_call_stacks_of_call(calls->stacks, record);
}

static void describe_last(const struct gt_hang_report *report, struct gt_hang_thread *thread)
{
	const struct gt_in_flight *flight = &report->hang->calls->join->flight;
	const struct gt_in_flight_call *last = gt_in_flight_last_call(flight, thread->tid);

	if (!last)
		return;
	thread->last_call = gt_calls_name(report->hang->calls, last->domain, last->cbid);
	thread->is_newest = flight->newest.tid == thread->tid;
	if (last->end < report->trace_now)
		thread->last_age = report->trace_now - last->end;
}

/* @block: NULL: it has never called CUDA. */
static void look(const struct gt_hang_report *report, struct gt_thread *block,
		 struct gt_hang_thread *thread)
{
	struct gt_call_stacks *stacks = report->hang->calls->stacks;
	struct gt_look found;

	if (block)
		gt_look_at(block, stacks->captured_frames, &found);
	else
		gt_look_at_other(thread->tid, stacks->captured_frames, &found);
	thread->where = found.where;
	name_system_call(&found, thread);
	if (found.record)
		thread->stack = gt_call_stacks_of_crash(stacks, found.record);
}

static void add(struct gt_hang_report *report, struct gt_thread *block, uint32_t tid)
{
	struct gt_hang_thread thread = {.tid = tid};

	thread.name = gt_thread_names_find(report->hang->names, tid);
	if (!strncmp(thread.name->text, OUR_THREADS, strlen(OUR_THREADS)))
		return;
	if (report->thread_count == GT_HANG_THREADS) {
		report->threads_more++;
		return;
	}
	if (block) {
		describe_call(report, block, &thread);
		describe_last(report, &thread);
	}
	look(report, block, &thread);
	if (thread.where != GT_SAMPLE_GONE)
		report->threads[report->thread_count++] = thread;
}

static bool is_main(const struct gt_hang_thread *thread)
{
	return thread->tid == (uint32_t)getpid();
}

/* Inside a call first, the longest of them; then whose last call is the newest; then the main
 * thread. */
static bool comes_before(const struct gt_hang_thread *a, const struct gt_hang_thread *b)
{
	if (!a->call != !b->call)
		return a->call;
	if (a->call)
		return a->call_age > b->call_age;
	if (a->last_call || b->last_call)
		return a->last_call && (!b->last_call || a->last_age < b->last_age);
	return is_main(a) && !is_main(b);
}

static void sort(struct gt_hang_report *report)
{
	for (uint32_t i = 1; i < report->thread_count; i++) {
		struct gt_hang_thread thread = report->threads[i];
		uint32_t at = i;

		for (; at > 0 && comes_before(&thread, &report->threads[at - 1]); at--)
			report->threads[at] = report->threads[at - 1];
		report->threads[at] = thread;
	}
}

static bool is_inside(const struct gt_thread *block)
{
	struct gt_call_under_way call;

	return gt_call_find_under_way(block, &call);
}

static bool is_live(const struct gt_thread *block)
{
	return atomic_load_explicit(&block->life, memory_order_acquire) == GT_THREAD_LIVE;
}

static uint32_t tid_of(const struct gt_thread *block)
{
	return __atomic_load_n(&block->tid, __ATOMIC_RELAXED);
}

static void add_known(struct gt_hang_report *report, bool inside)
{
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (is_live(t) && is_inside(t) == inside)
			add(report, t, tid_of(t));
}

static bool is_known(uint32_t tid)
{
	for (const struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (is_live(t) && tid_of(t) == tid)
			return true;
	return false;
}

static void add_others(struct gt_hang_report *report)
{
	static uint32_t tids[TASKS];
	uint32_t count = gt_sample_tasks(tids, TASKS), has = count < TASKS ? count : TASKS;

	for (uint32_t i = 0; i < has; i++)
		if (tids[i] != (uint32_t)getpid() && !is_known(tids[i]))
			add(report, NULL, tids[i]);
	report->threads_more += count - has;
}

/* Those inside a call first, and the main thread: there may be more threads than room. */
void gt_hang_find_threads(struct gt_hang_report *report)
{
	gt_look_begin();
	add_known(report, true);
	if (!is_known((uint32_t)getpid()))
		add(report, NULL, (uint32_t)getpid());
	add_known(report, false);
	add_others(report);
	gt_look_end();
	sort(report);
}
