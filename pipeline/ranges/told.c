/* SPDX-License-Identifier: Apache-2.0
 *
 * What NCCL's profiler interface tells (preload/nccl/): of each operation, behind its launch and
 * inside the call that launches it, and later what its proxies waited for. The first becomes part
 * of the call's slice and of its kernels, the second a slice of its own, which has the place of the
 * call among the collectives. Drain thread.
 */
#include <string.h>

#include "collectors/nvtx/library.h"
#include "collectors/nvtx/record.h"
#include "core/guest/memory.h"
#include "pipeline/ranges/internal.h"

/* Rounds that the sums of an operation wait for its report: other rings may be read
 * later. */
#define ROUNDS 3u

static bool is_nccl(const struct gt_range *range)
{
	return gt_range_is_call(&range->event) && !range->event.library.is_math &&
	       !range->event.library.is_mpi;
}

static struct gt_range *find_call(const struct gt_ranges *ranges, uint32_t tid)
{
	struct gt_range *range = gt_range_innermost(ranges, tid);

	while (range && !is_nccl(range))
		range = range->below;
	return range;
}

/* ---- one call ---- */

#define KEEP(member) call->member = !call->told || call->member == told->member ? told->member : 0

/* A group shows what all of its operations have in common. */
static void add(struct gt_library_call *call, const struct gt_library_call *told)
{
	KEEP(algorithm);
	KEEP(protocol);
	KEEP(channels);
	call->told += call->told < UINT8_MAX;
}

/* Of a communicator whose size was not known, nor what depends on it. */
static void take_size(struct gt_library_call *call, const struct gt_library_call *told,
		      uint64_t base)
{
	if (!call->communicator)
		call->communicator = told->communicator;
	if (!call->rank)
		call->rank = told->rank;
	if (call->ranks || !told->ranks)
		return;
	call->ranks = told->ranks;
	if (call->operations == 1 && base)
		gt_library_count(call, base);
}

static bool is_same(const struct gt_library_call *call, const struct gt_library_call *told)
{
	return call->operations && call->function == told->function;
}

/* On a slice: in elements, or in bytes where the type is not known. */
static void tell_call(struct gt_library_call *call, const struct gt_library_call *told)
{
	uint64_t each = call->untyped ? gt_library_type_bytes(told->dtype) : 1;

	add(call, told);
	if (is_same(call, told))
		take_size(call, told, told->in * each);
}

/* On kernels: what a range has told is still the message, which is counted when a kernel comes. */
static void tell_kernel(struct gt_library_call *call, const struct gt_library_call *told)
{
	add(call, told);
	if (is_same(call, told))
		take_size(call, told, call->untyped ? 0 : told->in);
}

/* ---- what it launches ---- */

static bool agrees(uint32_t one, uint32_t other)
{
	return !one || !other || one == other;
}

/* A communicator has two numbers, ours and NCCL's, but one size and one rank of this process. */
static bool fits(const struct gt_library_call *kept, const struct gt_library_call *told)
{
	return kept->communicator == told->communicator ||
	       (agrees(kept->ranks, told->ranks) && agrees(kept->rank, told->rank));
}

static void tell_launch(struct gt_ranges *ranges, uint64_t number,
			const struct gt_library_call *told)
{
	const struct gt_range_library *first = gt_range_library_find(ranges, number);
	uint32_t count = first ? first->count : 0;
	bool exact = false;

	for (uint32_t i = 0; i < count && !exact; i++) {
		const struct gt_range_library *kept = gt_range_library_find(ranges, number + i);

		exact = kept && kept->call.communicator == told->communicator;
	}
	for (uint32_t i = 0; i < count; i++) {
		const struct gt_range_library *kept = gt_range_library_find(ranges, number + i);
		struct gt_library_call call;

		if (!kept || (exact ? kept->call.communicator != told->communicator
				    : !fits(&kept->call, told)))
			continue;
		call = kept->call;
		tell_kernel(&call, told);
		gt_range_library_change(ranges, number + i, &call);
	}
}

/* ---- operations by their numbers ---- */

/* For the sums that come later. */
static void remember(struct gt_ranges *ranges, uint64_t number, uint64_t library,
		     const struct gt_library_call *told)
{
	struct gt_range_told *kept = ranges->told;
	struct gt_library_call call = *told;

	if (!kept)
		kept = ranges->told = gt_memory_map(GT_RANGE_TOLD * sizeof(*kept));
	if (!kept)
		return;
	if (gt_range_library_of(ranges, library, told, &call) && !call.communicator)
		call.communicator = told->communicator;
	kept[number % GT_RANGE_TOLD] =
		(struct gt_range_told){.number = number,
				       .communicator = call.communicator,
				       .sequence = call.sequence,
				       .ranks = call.ranks ? call.ranks : told->ranks,
				       .rank = call.rank ? call.rank : told->rank,
				       .untyped = call.untyped};
}

void gt_range_told(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	const struct gt_library_call *told = gt_nvtx_library(record);
	struct gt_range *range = told ? find_call(ranges, record->tid) : NULL;

	if (!told)
		return;
	gt_ledger_add(ranges->ledger, GT_LEDGER_NCCL_TOLD, 1);
	if (!range) {
		gt_ledger_add(ranges->ledger, GT_LEDGER_NCCL_UNMATCHED, 1);
		return;
	}
	gt_nccl_order_tell(&ranges->nccl, told);
	tell_launch(ranges, range->library, told);
	tell_call(&range->event.library, told);
	remember(ranges, record->id, range->library, told);
}

/* ---- what proxies waited for ---- */

static const struct gt_range_told *recall(const struct gt_ranges *ranges, uint64_t number)
{
	const struct gt_range_told *kept =
		ranges->told ? &ranges->told[number % GT_RANGE_TOLD] : NULL;

	return kept && kept->number == number ? kept : NULL;
}

static void place(const struct gt_ranges *ranges, const struct gt_range_told *told,
		  struct gt_library_call *call)
{
	call->communicator = told->communicator;
	call->ranks = told->ranks;
	call->rank = told->rank;
	call->sequence =
		told->untyped ? gt_nccl_order_place(&ranges->nccl, told->sequence) : told->sequence;
}

static void write(struct gt_ranges *ranges, const struct gt_range_sums *sums)
{
	struct gt_event event = {.kind = GT_EVENT_RANGE, .tid = sums->tid};
	const struct gt_range_told *told = recall(ranges, sums->number);

	event.start = gt_clock_from_monotonic(ranges->clock, sums->began);
	event.end = gt_clock_from_monotonic(ranges->clock, sums->ended);
	event.range.is_library = event.range.detached = true;
	event.range.name = gt_intern_cstr(ranges->strings, GT_NCCL_NETWORK);
	event.range.library = sums->call;
	if (told)
		place(ranges, told, &event.range.library);
	gt_outlet_event(ranges->outlet, &event);
}

void gt_range_network(struct gt_ranges *ranges, const struct gt_nvtx_record *record)
{
	const struct gt_library_call *call = gt_nvtx_library(record);
	struct gt_range_sums sums = {.number = record->id,
				     .began = record->time,
				     .ended = record->value,
				     .tid = record->tid};

	if (!call || !call->is_network || sums.ended < sums.began)
		return;
	sums.call = *call;
	gt_ledger_add(ranges->ledger, GT_LEDGER_NCCL_NETWORK, call->operations);
	if (ranges->sums_count == GT_RANGE_SUMS) {
		write(ranges, &ranges->sums[0]);
		memmove(&ranges->sums[0], &ranges->sums[1],
			--ranges->sums_count * sizeof(ranges->sums[0]));
	}
	ranges->sums[ranges->sums_count++] = sums;
}

void gt_range_told_round(struct gt_ranges *ranges, bool all)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < ranges->sums_count; i++) {
		struct gt_range_sums *sums = &ranges->sums[i];
		const struct gt_range_told *told = recall(ranges, sums->number);

		/* places are given at the ends of rounds */
		if (!all && ++sums->rounds < (told && !told->untyped ? 1 : ROUNDS))
			ranges->sums[kept++] = *sums;
		else
			write(ranges, sums);
	}
	ranges->sums_count = kept;
}
