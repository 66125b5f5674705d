/* SPDX-License-Identifier: Apache-2.0
 *
 * Work: whatever a stream is asked to do ends here. In a capturing stream it becomes a graph node;
 * otherwise it gets its place on the timeline, its bytes are moved at once, and client and truth
 * file are reported. Any thread.
 */
#include "driver/driver.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer than any tool waits before it fetches its records. */
#define LINGER_SECONDS 2

static _Atomic uint64_t grid_ids;
static _Atomic uint64_t launches;

static void die(void)
{
	sim_truth("{\"truth\":\"fault\",\"fault\":\"die:%c\",\"after\":%llu}\n",
		  sim_options.die_how, (unsigned long long)sim_options.die_after);
	switch (sim_options.die_how) {
	case 'a':
		abort();
	case 'e':
		_exit(0);
	case 's':
		raise(SIGSEGV);
		break;
	default:
		raise(SIGKILL);
	}
}

static void misbehave(void)
{
	uint64_t launch = atomic_fetch_add(&launches, 1) + 1;

	if (launch == sim_options.die_after)
		die();
	if (launch == sim_options.linger_in)
		sleep(LINGER_SECONDS);
}

static void move_bytes(const struct sim_copy *copy)
{
	if (copy->height == 1 && copy->depth == 1) {
		memmove(copy->dst.base, copy->src.base, copy->width);
		return;
	}
	for (size_t z = 0; z < copy->depth; z++)
		for (size_t y = 0; y < copy->height; y++)
			memmove(copy->dst.base + z * copy->dst.slice + y * copy->dst.pitch,
				copy->src.base + z * copy->src.slice + y * copy->src.pitch,
				copy->width);
}

static void fill_row(char *row, const struct sim_set *set)
{
	if (set->element == 1)
		memset(row, (int)set->facts.value, set->width);
	for (size_t i = 0; set->element == 2 && i < set->width; i++)
		((uint16_t *)row)[i] = (uint16_t)set->facts.value;
	for (size_t i = 0; set->element == 4 && i < set->width; i++)
		((uint32_t *)row)[i] = set->facts.value;
}

void sim_work_tell(struct sim_op *op)
{
	if (sim_truth_on)
		sim_truth_operation(op);
	sim_client_operation(op);
}

static enum sim_engine_kind engine_of(const struct sim_work *work)
{
	if (work->kind != SIM_WORK_COPY)
		return SIM_ENGINE_NONE;
	if (work->copy.facts.peer)
		return SIM_ENGINE_PEER;
	if (work->copy.facts.copy_kind == 1)
		return SIM_ENGINE_UP;
	return work->copy.facts.copy_kind == 2 ? SIM_ENGINE_DOWN : SIM_ENGINE_NONE;
}

static void describe(struct CUstream_st *stream, const struct sim_work *work, struct sim_op *op)
{
	op->correlation = sim_current_correlation();
	op->device = (uint32_t)stream->context->device->ordinal;
	op->context = stream->context->id;
	op->stream = stream->id;
	op->channel = 8 + stream->id % 4;
	if (work->kind == SIM_WORK_KERNEL) {
		op->kind = SIM_OP_KERNEL;
		op->kernel = work->kernel.facts;
		op->kernel.grid_id = atomic_fetch_add(&grid_ids, 1) + 1;
	} else if (work->kind == SIM_WORK_COPY) {
		op->kind = SIM_OP_MEMCPY;
		op->copy = work->copy.facts;
		op->channel = 16 + engine_of(work);
	} else {
		op->kind = SIM_OP_MEMSET;
		op->set = work->set.facts;
	}
}

static uint64_t run_device_work(struct CUstream_st *stream, struct sim_work *work,
				uint64_t not_before, uint32_t graph, uint64_t node)
{
	struct sim_op op = {.graph = graph, .node = node};
	bool meets = work->kind == SIM_WORK_KERNEL && work->kernel.meeting.end;

	op.queued = sim_watching ? sim_now() : 0;
	sim_place(stream, not_before, meets ? 0 : work->ns, engine_of(work), &op.start, &op.end);
	op.submitted = op.queued ? op.queued + 400 : 0;
	if (work->kind == SIM_WORK_COPY)
		move_bytes(&work->copy);
	for (size_t y = 0; work->kind == SIM_WORK_SET && y < work->set.height; y++)
		fill_row(work->set.dst.base + y * work->set.dst.pitch, &work->set);
	if (sim_unlikely(sim_watching || meets))
		describe(stream, work, &op);
	if (sim_unlikely(meets))
		sim_meeting_attend(stream, &work->kernel.meeting, &op);
	else if (sim_unlikely(sim_watching))
		sim_work_tell(&op);
	if (sim_unlikely(sim_options.die_after || sim_options.linger_in) &&
	    work->kind == SIM_WORK_KERNEL)
		misbehave();
	return op.end;
}

/* Puts work on the timeline; not_before 0: in stream order. Returns when it will be done. */
uint64_t sim_run(struct CUstream_st *stream, struct sim_work *work, uint64_t not_before,
		 uint32_t graph, uint64_t node)
{
	uint64_t start = 0, end = 0;

	if (work->kind == SIM_WORK_KERNEL || work->kind == SIM_WORK_COPY ||
	    work->kind == SIM_WORK_SET)
		return run_device_work(stream, work, not_before, graph, node);
	if (work->kind == SIM_WORK_WAIT)
		not_before = not_before > work->event->state->time ? not_before
								   : work->event->state->time;
	sim_place(stream, not_before, work->ns, SIM_ENGINE_NONE, &start, &end);
	if (work->kind == SIM_WORK_HOST)
		sim_host_function_queue(stream, work, start, graph, node);
	if (work->kind == SIM_WORK_RECORD) {
		work->event->state->time = start;
		work->event->state->recorded = true;
	}
	return end;
}

CUresult sim_submit(struct CUstream_st *stream, struct sim_work *work)
{
	if (sim_unlikely(stream->capture)) {
		if (work->kind == SIM_WORK_KERNEL)
			work->kernel.meeting.end = NULL; /* a graph meets nobody */
		return sim_capture_work(stream, work);
	}
	sim_meeting_wait(stream);
	sim_run(stream, work, 0, 0, 0);
	return CUDA_SUCCESS;
}
