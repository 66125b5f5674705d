/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk along the stack and its cache, see the header. Application threads; no lock, no
 * allocation, no system call unless an address or a stack is new.
 *
 * The trail is the last walk of the thread. Before a new walk its words are compared with the
 * current stack, from the outer end. Where they agree, and once the new walk is in a frame of that
 * part with the same registers, the rest of both walks is the same, because a step depends only on
 * the registers and the words that it reads.
 */
#include "collectors/unwind/unwind.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/unwind/learn.h"
#include "collectors/unwind/rules.h"
#include "core/guest/maps.h"
#include "core/guest/peek.h"
#include "core/guest/seccomp.h"
#include "core/guest/uncancelled.h"

/* Largest assumed size of the main stack, whatever its limit says: the program may raise the limit
 * later, while mappings, e.g. stacks of coroutines, may begin 128 MiB below its top, less 6 MiB of
 * arguments. */
#define STACK_MAX   ((uint64_t)120 << 20)

/* Bounds of the search on a stack of unknown size: pages at once, each of which is a system call,
 * and bytes in total. */
#define PROBE_PAGES 8
#define PROBE_MAX   ((uint64_t)8 << 20)

#define LOADS       (GT_UNWIND_DEPTH * GT_UNWIND_LOADS_PER_FRAME)

extern void *__libc_stack_end; /* from ld.so: start of the main thread's stack */

static struct {
	_Atomic uint64_t broken, probed;
} unwind;

static pid_t first_process; /* the process that loaded this library */

/* Not by pthread_getattr_np, which reads /proc/self/maps through stdio for the main thread. */
static void find_main_stack(struct gt_unwind_thread *thread)
{
	struct rlimit limit;
	uint64_t size = STACK_MAX;

	if (gt_seccomp_permits_now(GT_SYS_prlimit64) && !getrlimit(RLIMIT_STACK, &limit) &&
	    limit.rlim_cur < size)
		size = limit.rlim_cur;
	thread->stack_high = (uint64_t)__libc_stack_end;
	thread->stack_low = thread->stack_high > size ? thread->stack_high - size : 0;
}

/* pthread_getattr_np also asks for the processors of the thread. */
static void find_thread_stack(struct gt_unwind_thread *thread)
{
	pthread_attr_t attributes;
	void *address;
	size_t size;

	if (!gt_seccomp_permits_now(GT_SYS_sched_getaffinity)) {
		int cancelled = gt_uncancelled_begin();

		gt_maps_range((uint64_t)__builtin_frame_address(0), &thread->stack_low,
			      &thread->stack_high);
		gt_uncancelled_end(cancelled);
		return;
	}
	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	if (pthread_attr_getstack(&attributes, &address, &size) == 0) {
		thread->stack_low = (uint64_t)address;
		thread->stack_high = (uint64_t)address + size;
	}
	pthread_attr_destroy(&attributes);
}

__attribute__((constructor)) static void note_process(void)
{
	first_process = getpid();
}

/* The first thread of a forked child may be any thread of its parent, on that thread's stack. */
static bool has_another_stack(const struct gt_unwind_thread *thread)
{
	uint64_t sp = (uint64_t)__builtin_frame_address(0);

	return getpid() != first_process && (sp < thread->stack_low || sp >= thread->stack_high);
}

void gt_unwind_thread_init(struct gt_unwind_thread *thread)
{
	int saved_errno = errno;
	bool is_first = syscall(SYS_gettid) == getpid();

	if (is_first)
		find_main_stack(thread);
	if (!is_first || has_another_stack(thread))
		find_thread_stack(thread);
	errno = saved_errno;
}

/* Extends the bounds of an unknown stack upwards, as far as pages are readable. */
static bool probe_up(struct gt_unwind_walk *walk)
{
	uint64_t pages = 0;

	while (pages < PROBE_PAGES && gt_peek_is_readable((const void *)walk->high)) {
		walk->high += GT_PEEK_PAGE;
		pages++;
	}
	return pages > 0;
}

/* Sets the bounds in which the walk may read, from its sp on. False, after testing the memory: not
 * the thread's own stack, but a coroutine's or a signal stack. */
static bool enter_stack(const struct gt_unwind_thread *thread, struct gt_unwind_walk *walk)
{
	uint64_t sp = walk->regs.sp;

	walk->low = sp & ~(uint64_t)7; /* so at least one word is below high */
	walk->high = thread->stack_high;
	if (sp >= thread->stack_low && sp < thread->stack_high)
		return true;
	atomic_fetch_add_explicit(&unwind.probed, 1, memory_order_relaxed);
	walk->high = (sp & ~(uint64_t)4095) + 4096; /* the page of sp is mapped */
	probe_up(walk);
	return false;
}

/* A step failed on a stack of unknown bounds: there may be more of it. */
static bool finds_more(struct gt_unwind_walk *walk)
{
	return walk->high - walk->low < PROBE_MAX && probe_up(walk);
}

GT_UNWIND_UNFENCED static inline uint64_t differs(const struct gt_unwind_load *load)
{
	return ((const struct gt_unwind_word *)load->address)->value ^ load->value;
}

/* Whether all words of the trail are on the stack as they were. From the inner end, where stacks
 * differ first. */
GT_UNWIND_UNFENCED static bool is_standing(const struct gt_unwind_trail *trail, uint64_t sp)
{
	const struct gt_unwind_load *load = &trail->load[LOADS - trail->loads];
	const struct gt_unwind_load *end = &trail->load[LOADS];

	if (sp > trail->low)
		return false;
	for (; end - load >= 4; load += 4)
		if (differs(load) | differs(load + 1) | differs(load + 2) | differs(load + 3))
			return false;
	for (; load < end; load++)
		if (differs(load))
			return false;
	return true;
}

/* How many frames of the trail are still on the stack, counted from the outermost. */
GT_UNWIND_UNFENCED static uint32_t count_standing(struct gt_unwind_trail *trail, uint64_t sp)
{
	const struct gt_unwind_load *load = &trail->load[LOADS - 1];
	uint32_t same = 0, frames = 0;

	if (is_standing(trail, sp))
		return trail->frames;
	while (same < trail->loads && load->address >= sp &&
	       ((const struct gt_unwind_word *)load->address)->value == load->value) {
		load--;
		same++;
	}
	if (same && same == trail->loads) {
		trail->low = sp;
		return trail->frames;
	}
	while (frames < trail->frames &&
	       trail->frame[GT_UNWIND_DEPTH - 1 - frames].outer_loads <= same)
		frames++;
	return frames;
}

static bool regs_equal(const struct gt_unwind_regs *a, const struct gt_unwind_regs *b)
{
	return a->pc == b->pc && a->sp == b->sp && a->fp == b->fp;
}

/* Searches the walk's frame number @walked among the *standing outer frames of the trail and drops
 * those nearer than it. True when it is the nearest of the rest. */
static bool joins_trail(const struct gt_unwind_trail *trail, const struct gt_unwind_regs *regs,
			uint32_t walked, uint32_t *standing)
{
	const struct gt_unwind_frame *end = &trail->frame[GT_UNWIND_DEPTH];

	while (*standing > 0 && (end - *standing)->regs.sp < regs->sp)
		(*standing)--;
	return *standing > 0 && walked + *standing <= GT_UNWIND_DEPTH &&
	       regs_equal(&(end - *standing)->regs, regs);
}

enum walk_end { WALK_JOINED, WALK_END, WALK_CUT, WALK_BROKEN };

static uint64_t find_rule(uint64_t pc)
{
	uint64_t rule = gt_rules_find(pc);
	int saved_errno;

	if (__builtin_expect(rule != 0, 1))
		return rule;
	rule = gt_rules_find_far(pc);
	if (rule)
		return rule;
	saved_errno = errno;
	rule = gt_unwind_learn(pc);
	errno = saved_errno;
	return rule;
}

/* The rule of @pc, taken from frame number @place of the trail if that has the same address. The
 * processor can speculate past this before the address has been loaded from the stack; the table
 * look-up has to wait. */
static inline uint64_t guess_rule(const struct gt_unwind_trail *trail, uint32_t place, uint64_t pc)
{
	if (place < GT_UNWIND_DEPTH && __builtin_expect(trail->frame[place].regs.pc == pc, 1))
		return trail->rule[place];
	return find_rule(pc);
}

/* Whether the walk continues after a step that was not plain: on another stack after a signal
 * frame, or further up a stack that was extended; then the step is repeated. */
static bool goes_on(const struct gt_unwind_thread *thread, struct gt_unwind_walk *walk,
		    enum gt_unwind_step_result result, bool *own)
{
	if (result == GT_UNWIND_STEP_SWITCHED) {
		*own &= enter_stack(thread, walk);
		return true;
	}
	return result == GT_UNWIND_STEP_BROKEN && !*own && finds_more(walk);
}

/* Walks from the registers in @walk into the thread's scratch trail until the stack ends or the
 * walk reaches the *standing outer frames of the old trail. *own: only the thread's own stack was
 * used. */
GT_UNWIND_UNFENCED static enum walk_end walk_stack(struct gt_unwind_thread *thread,
						   struct gt_unwind_walk *walk, uint32_t *standing,
						   bool *own)
{
	uint32_t nearest = GT_UNWIND_DEPTH - thread->trail.frames;
	struct gt_unwind_frame *frame = thread->scratch.frame;
	struct gt_unwind_walk local = *walk; /* in registers */
	enum gt_unwind_step_result result;
	enum walk_end end = WALK_CUT;
	uint32_t frames = 0;
	uint64_t rule;

	for (; frames < GT_UNWIND_DEPTH; frames++) {
		end = WALK_JOINED;
		if (joins_trail(&thread->trail, &local.regs, frames, standing))
			break;
		rule = guess_rule(&thread->trail, nearest + frames, local.regs.pc);
		end = WALK_BROKEN;
		if (rule == gt_unwind_rule_refused)
			break;
		frame[frames].regs = local.regs;
		thread->scratch.rule[frames] = rule;
		frame[frames].outer_loads = local.loads; /* inner, until joined */
		result = gt_unwind_step(&local, rule);
		end = WALK_CUT;
		if (__builtin_expect(result == GT_UNWIND_STEP_OK, 1))
			continue;
		*walk = local;
		if (!goes_on(thread, walk, result, own)) {
			end = result == GT_UNWIND_STEP_END ? WALK_END : WALK_BROKEN;
			frames++;
			break;
		}
		local = *walk;
		if (result == GT_UNWIND_STEP_BROKEN) /* again */
			local.loads = frame[frames--].outer_loads;
	}
	thread->scratch.frames = frames;
	*walk = local;
	return end;
}

/* Puts the scratch trail in front of the @standing outer frames of the trail. */
static void join_trails(struct gt_unwind_thread *thread, uint32_t standing, uint32_t loads)
{
	struct gt_unwind_trail *trail = &thread->trail, *scratch = &thread->scratch;
	uint32_t outer = standing ? trail->frame[GT_UNWIND_DEPTH - standing].outer_loads : 0;
	uint32_t frames = scratch->frames;
	struct gt_unwind_frame *frame;
	uint64_t *pc, *rule;

	frame = &trail->frame[GT_UNWIND_DEPTH - standing - frames];
	pc = &thread->pcs[GT_UNWIND_DEPTH - standing - frames];
	rule = &trail->rule[GT_UNWIND_DEPTH - standing - frames];
	for (uint32_t i = 0; i < frames; i++) {
		frame[i].regs = scratch->frame[i].regs;
		rule[i] = scratch->rule[i];
		frame[i].outer_loads = loads - scratch->frame[i].outer_loads + outer;
		pc[i] = scratch->frame[i].regs.pc;
	}
	memcpy(&trail->load[LOADS - outer - loads], scratch->load, loads * sizeof(*scratch->load));
	trail->frames = frames + standing;
	trail->loads = loads + outer;
	trail->low = 0;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return x ^ x >> 29;
}

/* Terms are independent of each other: one frame costs about a nanosecond. */
static uint64_t hash_addresses(const uint64_t *pcs, uint32_t count)
{
	uint64_t sum = count;

	for (uint32_t i = 0; i < count; i++)
		sum += mix(mix(pcs[i] + i * 0x9e3779b97f4a7c15u));
	sum = mix(sum);
	return sum ? sum : 1;
}

/* Modules were unloaded: addresses may have another meaning now, also for the drain thread. */
static void forget_trail(struct gt_unwind_thread *thread, uint32_t generation)
{
	thread->generation = generation;
	thread->trail.frames = 0;
	thread->trail.loads = 0;
	thread->trail.low = 0;
	memset(thread->delivered, 0, sizeof(thread->delivered));
}

/* The outer frames of the trail that a walk from @regs may join. */
static uint32_t find_standing(struct gt_unwind_thread *thread, const struct gt_unwind_regs *regs)
{
	uint32_t standing = count_standing(&thread->trail, regs->sp);

	/* a trail that was cut does not show how a shorter stack continues */
	if (!thread->complete && standing != thread->trail.frames)
		return 0;
	return standing;
}

/* Replaces the trail by the stack that @walk begins. */
static void update_trail(struct gt_unwind_thread *thread, struct gt_unwind_walk *walk)
{
	uint32_t generation = atomic_load_explicit(&gt_rules_generation, memory_order_acquire);
	bool own = enter_stack(thread, walk);
	uint32_t standing;
	enum walk_end end;

	if (__builtin_expect(generation != thread->generation, 0))
		forget_trail(thread, generation);
	standing = own ? find_standing(thread, &walk->regs) : 0;
	if (!thread->complete && standing &&
	    !regs_equal(&thread->trail.frame[GT_UNWIND_DEPTH - standing].regs, &walk->regs))
		standing = 0;
	if (joins_trail(&thread->trail, &walk->regs, 0, &standing) &&
	    standing == thread->trail.frames)
		return;
	end = walk_stack(thread, walk, &standing, &own);
	if (end != WALK_JOINED) {
		standing = 0;
		thread->complete = end != WALK_CUT;
	}
	if (end == WALK_BROKEN)
		atomic_fetch_add_explicit(&unwind.broken, 1, memory_order_relaxed);
	join_trails(thread, standing, walk->loads);
	thread->key_count = 0;
	if (!own) { /* still returned, but never joined */
		thread->trail.loads = 0;
		thread->trail.low = 0;
		thread->complete = false;
	}
}

__attribute__((noinline)) uint32_t gt_unwind_capture(struct gt_unwind_thread *thread, uint32_t max,
						     const uint64_t **ret_pcs, uint64_t *ret_key)
{
	struct gt_unwind_walk walk = {.load = thread->scratch.load};
	uint32_t count;

	gt_unwind_caller_regs(&walk.regs);
	update_trail(thread, &walk);
	count = thread->trail.frames < max ? thread->trail.frames : max;
	if (count == 0)
		return 0;
	*ret_pcs = &thread->pcs[GT_UNWIND_DEPTH - thread->trail.frames];
	if (thread->key_count != count) {
		thread->key = hash_addresses(*ret_pcs, count);
		thread->key_count = count;
	}
	*ret_key = thread->key;
	return count;
}

void gt_unwind_forget(uint64_t start, uint64_t end)
{
	gt_rules_forget(start, end);
}

struct gt_unwind_counts gt_unwind_get_counts(void)
{
	struct gt_unwind_counts counts = {
		.broken = atomic_load_explicit(&unwind.broken, memory_order_relaxed),
		.probed = atomic_load_explicit(&unwind.probed, memory_order_relaxed),
	};

	gt_unwind_learn_counts(&counts);
	return counts;
}
