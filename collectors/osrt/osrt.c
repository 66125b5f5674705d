/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Application threads, in signal handlers too, but for what the header says of the
 * drain thread. Only system calls of every program (core/guest/syscalls.def), after a call that
 * took long.
 */
#include "collectors/osrt/osrt.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "collectors/python/peek.h"
#include "core/elf/elf_lookup.h"
#include "core/guest/fast_clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/memory.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/guest/uncancelled.h"
#include "core/thread.h"

enum osrt_state { FREE, TAKEN, REPORTED };

/* Of our own module: its code lies between them. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _etext[] __attribute__((visibility("hidden")));

static struct {
	struct gt_osrt_slot *slots;
	_Atomic int state[GT_OSRT_SLOTS]; /* enum osrt_state */
	_Atomic uint64_t lost;
	struct gt_os_tally *tally; /* NULL: nobody listens */
	struct gt_os_tally own;    /* without a spool */
	uint64_t freed;            /* since the start */
	_Atomic bool active;
	bool stacks;
	long pid;
	struct gt_os_sink sink;
} osrt;

/* What a function has on its stack with a frame pointer. */
struct osrt_frame {
	uint64_t caller_fp, return_address;
};

static struct gt_osrt_slot *take_slot(void)
{
	for (uint32_t i = 0; i < GT_OSRT_SLOTS; i++) {
		int expected = FREE;

		if (atomic_load_explicit(&osrt.state[i], memory_order_relaxed) == FREE &&
		    atomic_compare_exchange_strong(&osrt.state[i], &expected, TAKEN))
			return &osrt.slots[i];
	}
	atomic_fetch_add_explicit(&osrt.lost, 1, memory_order_relaxed);
	return NULL;
}

static void copy_stack(struct gt_sample_slot *sample, const struct osrt_frame *frame)
{
	const struct gt_thread *self = gt_thread_self;
	struct gt_call_view view = {0};

	sample->regs = (struct gt_unwind_regs){
		.pc = frame->return_address, .sp = (uint64_t)(frame + 1), .fp = frame->caller_fp};
	sample->has_fp = true;
	sample->waiting = true;
	sample->words = sample->python_count = 0;
	if (!osrt.stacks)
		return;
	if (!gt_thread_is_known(self) || !gt_call_view(self, &view))
		view = (struct gt_call_view){0};
	gt_sample_copy_stack(sample, view.stack_low, view.stack_high);
	if (!view.python)
		return;
	sample->python_count =
		gt_python_peek(view.python, &sample->window, GT_PYTHON_DEPTH, sample->python);
	gt_python_peek_identify(sample->python, sample->python_count);
}

static bool is_closed(const struct gt_os_call *call)
{
	return call->turn &&
	       atomic_load_explicit(call->turn, memory_order_acquire) != call->turn_then;
}

/* By which the drain thread knows the descriptor again. */
static void identify(struct gt_osrt_slot *slot)
{
	struct stat is;

	slot->mode = 0;
	if (slot->call.descriptor < 0 || is_closed(&slot->call) ||
	    gt_sys_fstat(slot->call.descriptor, &is))
		return;
	slot->mode = is.st_mode;
	slot->device = is.st_dev;
	slot->inode = is.st_ino;
}

static bool is_ours(const struct osrt_frame *frame)
{
	return (frame->return_address >= (uintptr_t)__ehdr_start &&
		frame->return_address < (uintptr_t)_etext) ||
	       gt_own_works || gt_seccomp_is_watching(); /* of ours, in another library */
}

/* vfork's child has the parent's memory, and is not the parent. */
static void put(const struct gt_os_call *call)
{
	const struct osrt_frame *frame = call->frame;
	struct gt_osrt_slot *slot;
	int saved = errno;

	if (!atomic_load_explicit(&osrt.active, memory_order_relaxed) || !gt_forkguard_holds() ||
	    is_ours(frame) || syscall(SYS_getpid) != osrt.pid)
		goto out;
	atomic_fetch_add_explicit(&osrt.tally->taken, 1, memory_order_relaxed);
	slot = take_slot();
	if (!slot)
		goto out;
	slot->call = *call;
	slot->path[0] = 0;
	if (call->path)
		gt_text_format(slot->path, sizeof(slot->path), "%s", call->path);
	slot->tid = (uint32_t)syscall(SYS_gettid);
	slot->sample.time = call->end;
	identify(slot);
	copy_stack(&slot->sample, frame);
	/* pairs with the acquire in gt_osrt_next: the slot is whole */
	atomic_store_explicit(&osrt.state[slot - osrt.slots], REPORTED, memory_order_release);
out:
	errno = saved;
}

int gt_osrt_listen(uint64_t threshold, bool stacks, struct gt_os_tally *tally)
{
	_Atomic(const struct gt_os_sink *) *variable =
		(void *)gt_elf_find_loaded(GT_OS_LIBRARY, GT_OS_VARIABLE, NULL);

	if (!variable)
		return -ENOENT;
	if (!osrt.slots)
		osrt.slots = gt_memory_map(GT_OSRT_SLOTS * sizeof(*osrt.slots));
	if (!osrt.slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < GT_OSRT_SLOTS; i++)
		atomic_store(&osrt.state[i], FREE);
	atomic_store(&osrt.lost, 0);
	osrt.tally = tally ? tally : &osrt.own;
	osrt.freed = 0;
	osrt.stacks = stacks;
	osrt.pid = getpid();
	osrt.sink =
		(struct gt_os_sink){.threshold = threshold, .clock = &gt_fast_clock, .put = put};
	atomic_store_explicit(variable, &osrt.sink, memory_order_release);
	return 0;
}

void gt_osrt_set_active(bool active)
{
	if (atomic_load_explicit(&osrt.active, memory_order_relaxed) != active)
		atomic_store_explicit(&osrt.active, active, memory_order_relaxed);
}

struct gt_osrt_slot *gt_osrt_next(uint32_t *cursor)
{
	while (*cursor < GT_OSRT_SLOTS) {
		uint32_t i = (*cursor)++;

		if (atomic_load_explicit(&osrt.state[i], memory_order_acquire) == REPORTED)
			return &osrt.slots[i];
	}
	return NULL;
}

void gt_osrt_free(struct gt_osrt_slot *slot)
{
	osrt.freed++;
	atomic_store_explicit(&osrt.state[slot - osrt.slots], FREE, memory_order_release);
}

void gt_osrt_settle(void)
{
	if (osrt.tally)
		atomic_store_explicit(&osrt.tally->settled, osrt.freed, memory_order_relaxed);
}

uint64_t gt_osrt_lost(void)
{
	return atomic_load_explicit(&osrt.lost, memory_order_relaxed);
}
