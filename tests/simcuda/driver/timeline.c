/* SPDX-License-Identifier: Apache-2.0
 *
 * Time: when an operation starts and ends on the simulated device, and how host threads wait for
 * it. Start and end are decided when the work is submitted: not before the stream's earlier work,
 * the legacy stream's rules, a free copy engine and the launch latency. Any thread.
 */
#include "driver/driver.h"

#include <sched.h>
#include <time.h>

/* Below this a waiting thread spins instead of sleeping: a sleep overshoots by more. */
#define SPIN_NS 20000

uint64_t sim_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void sim_lock(struct sim_lock *lock)
{
	for (int spins = 0; atomic_flag_test_and_set_explicit(&lock->held, memory_order_acquire);)
		if (++spins > 100)
			sched_yield();
}

void sim_unlock(struct sim_lock *lock)
{
	atomic_flag_clear_explicit(&lock->held, memory_order_release);
}

void sim_raise(_Atomic uint64_t *at, uint64_t value)
{
	uint64_t seen = atomic_load_explicit(at, memory_order_relaxed);

	while (seen < value && !atomic_compare_exchange_weak(at, &seen, value))
		;
}

bool sim_is_past(uint64_t when)
{
	return sim_options.virtual_time || sim_now() >= when;
}

void sim_wait_until(uint64_t when)
{
	while (!sim_is_past(when)) {
		uint64_t left = when - sim_now();

		if ((int64_t)left <= 0)
			return;
		if (left < SPIN_NS) {
			__builtin_ia32_pause();
			continue;
		}
		left -= SPIN_NS / 2;
		struct timespec nap = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
		nanosleep(&nap, NULL);
	}
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* When the stream's next operation may start, launch latency aside. Caller holds stream->lock. */
static uint64_t ready_locked(struct CUstream_st *stream)
{
	struct CUctx_st *context = stream->context;

	if (stream->legacy)
		return later(stream->tail, atomic_load(&context->blocking_tail));
	if (!(stream->flags & CU_STREAM_NON_BLOCKING))
		return later(stream->tail, atomic_load(&context->legacy_tail));
	return stream->tail;
}

static void advance_locked(struct CUstream_st *stream, uint64_t end)
{
	struct CUctx_st *context = stream->context;

	stream->tail = later(stream->tail, end);
	sim_raise(&context->tail, end);
	if (stream->legacy)
		sim_raise(&context->legacy_tail, end);
	else if (!(stream->flags & CU_STREAM_NON_BLOCKING))
		sim_raise(&context->blocking_tail, end);
}

uint64_t sim_stream_ready(struct CUstream_st *stream)
{
	sim_lock(&stream->lock);
	uint64_t ready = ready_locked(stream);
	sim_unlock(&stream->lock);
	return ready;
}

/* Keeps the stream's later work back until the given time. */
void sim_stream_delay(struct CUstream_st *stream, uint64_t until)
{
	sim_lock(&stream->lock);
	advance_locked(stream, until);
	sim_unlock(&stream->lock);
}

static uint64_t engine_take(struct sim_engine *engine, uint64_t start, uint64_t ns)
{
	sim_lock(&engine->lock);
	start = later(start, engine->free_at);
	engine->free_at = start + ns;
	sim_unlock(&engine->lock);
	return start;
}

/* A real device stops taking work when its queue is full; a queue this deep makes the caller
 * wait. */
static void wait_for_room(uint64_t start)
{
	if (sim_options.queue_depth_ns && start > sim_options.queue_depth_ns)
		sim_wait_until(start - sim_options.queue_depth_ns);
}

/* not_before is 0 outside graphs; inside it replaces the stream's own order. */
void sim_place(struct CUstream_st *stream, uint64_t not_before, uint64_t ns,
	       enum sim_engine_kind engine, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = sim_now() + sim_options.latency_ns;

	sim_lock(&stream->lock);
	start = later(start, not_before ? not_before : ready_locked(stream));
	if (engine != SIM_ENGINE_NONE)
		start = engine_take(&stream->context->device->engines[engine], start, ns);
	advance_locked(stream, start + ns);
	sim_unlock(&stream->lock);
	*ret_start = start;
	*ret_end = start + ns;
	wait_for_room(start);
}

/* Without a word from the user: waves of blocks, a microsecond each. */
uint64_t sim_kernel_ns(const struct CUfunc_st *function, const struct sim_kernel_facts *facts)
{
	uint64_t blocks = (uint64_t)facts->grid[0] * facts->grid[1] * facts->grid[2];
	uint64_t threads = (uint64_t)facts->block[0] * facts->block[1] * facts->block[2];
	uint64_t per_wave =
		sim_options.facts->multiprocessors *
		(sim_options.facts->threads_per_multiprocessor / (threads ? threads : 1));

	if (function->fixed_ns)
		return function->fixed_ns;
	if (sim_options.kernel_ns)
		return sim_options.kernel_ns;
	return 1500 + 1000 * ((blocks + per_wave - 1) / (per_wave ? per_wave : 1));
}

uint64_t sim_copy_ns(const struct sim_copy_facts *facts)
{

	bool pageable = facts->src_kind == 1 || facts->dst_kind == 1;
	uint64_t gbs = sim_options.device_gbs;

	if (facts->copy_kind == 1)
		gbs = sim_options.up_gbs;
	else if (facts->copy_kind == 2)
		gbs = sim_options.down_gbs;
	if (pageable && gbs > sim_options.pageable_gbs)
		gbs = sim_options.pageable_gbs;
	return 1200 + facts->bytes / gbs;
}

uint64_t sim_set_ns(uint64_t bytes)
{
	return 1000 + bytes / sim_options.device_gbs;
}
