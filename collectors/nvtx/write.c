/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns a call into a record, see collectors/nvtx/internal.h. Each record has the level of its
 * range, so that the drain thread can repair the stacks after lost records.
 *
 * Application threads: no lock, no allocation, no system call once the thread has a ring.
 */
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/call/kernel_names.h"
#include "collectors/call/records.h"
#include "collectors/nvtx/asked.h"
#include "collectors/nvtx/early.h"
#include "collectors/nvtx/internal.h"
#include "collectors/nvtx/payload.h"
#include "collectors/nvtx/self.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"

enum moment {
	EARLY, /* no session yet */
	ACTIVE,
	OVER, /* the session has ended, or this is a forked child */
};

static _Atomic bool stopped;
static _Atomic uint64_t lost, wrong;
static _Atomic uint64_t last_id;
static _Atomic bool thins;

/* Between ranges of a level, while ranges are left out. */
#define APART_NS 1000000u

/* In the id of a started range that was lost, for the program: its end is not written. */
#define LOST_ID  ((nvtxRangeId_t)1 << 63)

void gt_nvtx_stop(void)
{
	atomic_store(&stopped, true);
}

void gt_nvtx_thin(bool now)
{
	atomic_store(&thins, now);
}

bool gt_nvtx_is_stopped(void)
{
	return atomic_load(&stopped);
}

void gt_nvtx_count_wrong(void)
{
	atomic_fetch_add_explicit(&wrong, 1, memory_order_relaxed);
}

struct gt_nvtx_counts gt_nvtx_count(void)
{
	return (struct gt_nvtx_counts){
		.lost = atomic_load_explicit(&lost, memory_order_relaxed) +
			gt_threads_sum(GT_THREAD_RANGES_LOST) + gt_nvtx_early_count().lost,
		.wrong = atomic_load_explicit(&wrong, memory_order_relaxed),
		.refused = gt_nvtx_registry_refused(),
	};
}

static void count_lost(void)
{
	atomic_fetch_add_explicit(&lost, 1, memory_order_relaxed);
}

static inline enum moment moment(void)
{
	if (atomic_load_explicit(&stopped, memory_order_relaxed) || gt_forkguard_is_child())
		return OVER;
	return atomic_load_explicit(&gt_thread_epoch, memory_order_acquire) ? ACTIVE : EARLY;
}

static inline void fill(struct gt_nvtx_record *record, const struct gt_nvtx_call *call,
			uint32_t tid)
{
	*record = (struct gt_nvtx_record){
		.head.flags = (uint16_t)call->op,
		.time = call->time,
		.id = call->id,
		.value = call->value,
		.tid = tid,
		.domain = call->domain,
		.string = call->string,
		.category = call->category,
		.color = call->color,
		.text_length = call->text_length,
		.value_type = (uint8_t)call->value_type,
		.cut = call->cut,
	};
}

/* What stands behind the text, of at most @room bytes. Returns its length. */
static size_t put_payload(const struct gt_nvtx_call *call, char *out, size_t room)
{
	if (!call->library)
		return gt_nvtx_payload_copy(call->domain, call->payloads, call->payload_count, out,
					    room);
	memcpy(out, call->library, sizeof(*call->library));
	return sizeof(*call->library);
}

/* A killed process leaves them there. */
static void note_name(uint32_t reference)
{
	const struct gt_nvtx_object *object = reference ? gt_nvtx_at(reference) : NULL;

	if (object)
		gt_kernel_names_note_as(GT_KERNEL_NAMES_NVTX | reference, object->text);
}

static bool write_into(struct gt_thread *thread, const struct gt_nvtx_call *call)
{
	uint32_t offset = gt_nvtx_payload_offset(call->text_length);
	size_t room = call->library         ? sizeof(*call->library)
		      : call->payload_count ? GT_NVTX_PAYLOAD_MAX
					    : 0;
	struct gt_nvtx_record *record;

	if (gt_call_is_open(thread, (uintptr_t)__builtin_frame_address(0)))
		return false; /* the open call has reserved the ring */
	record = (void *)gt_ring_reserve(&thread->ring, sizeof(*record) + offset + room);
	if (!record)
		return false;
	fill(record, call, thread->tid);
	if (call->string | call->domain) {
		note_name(call->string);
		note_name(call->domain);
	}
	if (call->text_length)
		memcpy(record->data, call->text, call->text_length);
	if (__builtin_expect(room != 0, 0))
		record->payload_length = (uint16_t)put_payload(call, record->data + offset, room);
	gt_ring_commit(&thread->ring, &record->head,
		       __builtin_offsetof(struct gt_nvtx_record, data) + offset +
			       record->payload_length,
		       GT_RECORD_NVTX);
	return true;
}

/* False: lost, and counted, in the thread block if there is one, where recovery finds it. */
static bool write_ring(const struct gt_nvtx_call *call)
{
	struct gt_thread *thread = gt_thread_find();

	if (!thread) {
		count_lost();
		return false;
	}
	if (write_into(thread, call))
		return true;
	gt_thread_count(thread, GT_THREAD_RANGES_LOST);
	return false;
}

static uint32_t own_tid(struct gt_nvtx_self *self)
{
	uint32_t generation = gt_nvtx_early_generation();

	if (self->generation != generation) {
		self->tid = (uint32_t)syscall(SYS_gettid);
		self->generation = generation;
	}
	return self->tid;
}

/* False: the session has started meanwhile. */
static __attribute__((noinline)) bool write_early(const struct gt_nvtx_call *call, uint32_t tid)
{
	struct gt_nvtx_record record;

	switch (call->op) {
	case GT_NVTX_PUSH:
		fill(&record, call, tid);
		gt_nvtx_early_open(gt_nvtx_early_key_of_push(tid, call->domain, call->id), &record,
				   call->text);
		return true;
	case GT_NVTX_START:
		fill(&record, call, tid);
		gt_nvtx_early_open(gt_nvtx_early_key_of_start(call->id), &record, call->text);
		return true;
	case GT_NVTX_POP:
		return gt_nvtx_early_close(
			       gt_nvtx_early_key_of_push(tid, call->domain, call->id)) ||
		       moment() == EARLY;
	case GT_NVTX_END:
		return gt_nvtx_early_close(gt_nvtx_early_key_of_start(call->id)) ||
		       moment() == EARLY;
	default:
		gt_nvtx_early_count_over();
		return true;
	}
}

static bool write_now(struct gt_nvtx_self *self, const struct gt_nvtx_call *call)
{
	enum moment when = moment();

	if (__builtin_expect(when == EARLY, 0) && write_early(call, own_tid(self)))
		return true;
	return when == OVER || write_ring(call);
}

/* What the record has cost the thread; one without a ring has no room for it. */
static __attribute__((noinline)) void count_cost(const struct gt_nvtx_self *self, uint64_t began)
{
	if (gt_thread_is_known(gt_thread_self))
		gt_thread_add(gt_thread_self, GT_THREAD_COST_NS,
			      gt_stamp_scale(&self->stamp, gt_clock_now() - began));
}

/* False: lost, and counted. */
static bool write_as(struct gt_nvtx_self *self, struct gt_nvtx_call *call)
{
	int saved = errno;
	uint64_t began;
	bool written;

	if (!self || self->busy) {
		count_lost();
		return false;
	}
	self->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	began = gt_stamp_is_due(&self->stamp) ? gt_clock_now() : 0;
	if (!call->time)
		call->time = gt_clock_now();
	written = write_now(self, call);
	if (__builtin_expect(began != 0, 0))
		count_cost(self, began);
	atomic_signal_fence(memory_order_seq_cst);
	self->busy = false;
	errno = saved;
	return written;
}

void gt_nvtx_write(struct gt_nvtx_call *call)
{
	(void)write_as(gt_nvtx_self(), call);
}

/* Its predecessor on this level has begun a moment ago. */
static bool follows_closely(struct gt_nvtx_self *self, struct gt_nvtx_call *call)
{
	uint64_t *begun = &self->begun[call->id < GT_NVTX_PACED ? call->id : GT_NVTX_PACED - 1];

	if (!call->time)
		call->time = gt_clock_now();
	if (call->time - *begun < APART_NS)
		return true;
	*begun = call->time;
	return false;
}

static void count_end_lost(void)
{
	if (gt_thread_is_known(gt_thread_self))
		gt_thread_count(gt_thread_self, GT_THREAD_RANGES_LOST);
	else
		count_lost();
}

static void forget_deep(struct gt_nvtx_stack *stack, uint32_t level)
{
	if (!stack->unknown || level < stack->unknown - 1)
		stack->unknown = level + 1;
	stack->missing++;
}

/* A range that is not in the trace: its end would be taken for that of an earlier one, and is not
 * counted again. */
static void forget(struct gt_nvtx_stack *stack, uint64_t level)
{
	if (level < GT_NVTX_KNOWN)
		stack->left_out |= (uint64_t)1 << level;
	else
		forget_deep(stack, (uint32_t)level);
}

/* --thin: not of steps, by which much is counted, nor of calls of libraries. */
static bool leave_out(struct gt_nvtx_self *self, struct gt_nvtx_stack *stack,
		      struct gt_nvtx_call *call)
{
	struct gt_thread *thread = gt_thread_self;

	if (call->id >= GT_NVTX_THINNED || call->library || !gt_thread_is_known(thread) ||
	    gt_forkguard_is_child())
		return false;
	if (__builtin_expect(!atomic_load_explicit(&thins, memory_order_relaxed), 1)
		    ? !gt_ring_is_crowded(&thread->ring)
		    : !follows_closely(self, call))
		return false;
	if (gt_nvtx_asked_is_step(call))
		return false;
	forget(stack, call->id);
	gt_thread_count(thread, GT_THREAD_RANGES_THINNED);
	return true;
}

/* Its level is that of the outermost lost range, or deeper: where its range is in the trace, that
 * has no end there, which counts, and is marked as unfinished. */
static bool is_unknown(struct gt_nvtx_stack *stack, uint64_t level)
{
	uint64_t from = stack->unknown - 1;

	if (level < from)
		return false;
	if (stack->missing)
		stack->missing--;
	else
		count_end_lost();
	if (level == from)
		stack->unknown = stack->missing = 0;
	return true;
}

static bool was_left_out(struct gt_nvtx_stack *stack, uint64_t level)
{
	uint64_t bit = level < GT_NVTX_KNOWN ? (uint64_t)1 << level : 0;

	if (__builtin_expect(stack->unknown != 0, 0) && is_unknown(stack, level))
		return true;
	if (__builtin_expect(!(stack->left_out & bit), 1))
		return false;
	stack->left_out &= ~bit;
	return true;
}

int gt_nvtx_push(struct gt_nvtx_call *call)
{
	struct gt_nvtx_self *self = gt_nvtx_self();
	struct gt_nvtx_stack *stack = self ? gt_nvtx_self_stack(self, call->domain) : NULL;

	if (!stack || stack->depth == INT_MAX) {
		count_lost();
		return NVTX_NO_PUSH_POP_TRACKING;
	}
	call->op = GT_NVTX_PUSH;
	call->id = stack->depth++;
	gt_nvtx_asked_push(call, stack);
	if (leave_out(self, stack, call))
		return (int)call->id;
	if (call->id >= GT_NVTX_LEVELS)
		count_lost(); /* the level is kept: its pop will come */
	else if (!write_as(self, call))
		forget(stack, call->id);
	return (int)call->id;
}

int gt_nvtx_pop(struct gt_nvtx_call *call)
{
	struct gt_nvtx_self *self = gt_nvtx_self();
	struct gt_nvtx_stack *stack = self ? gt_nvtx_self_stack(self, call->domain) : NULL;

	if (!stack || !stack->depth) {
		gt_nvtx_count_wrong();
		return NVTX_NO_PUSH_POP_TRACKING;
	}
	call->op = GT_NVTX_POP;
	call->id = --stack->depth;
	if (!was_left_out(stack, call->id) && call->id < GT_NVTX_LEVELS)
		(void)write_as(self, call);
	gt_nvtx_asked_pop(call, stack);
	return (int)call->id;
}

nvtxRangeId_t gt_nvtx_start(struct gt_nvtx_call *call)
{
	call->op = GT_NVTX_START;
	call->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	gt_nvtx_asked_start(call);
	return write_as(gt_nvtx_self(), call) ? call->id : call->id | LOST_ID;
}

void gt_nvtx_end(struct gt_nvtx_call *call, nvtxRangeId_t id)
{
	if (!id) {
		gt_nvtx_count_wrong();
		return;
	}
	call->op = GT_NVTX_END;
	call->id = id & ~LOST_ID;
	if (!(id & LOST_ID))
		gt_nvtx_write(call);
	gt_nvtx_asked_end(call->id);
}
