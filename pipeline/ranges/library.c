/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of libraries and the kernels that they launch, see pipeline/ranges/ranges.h. A kernel may
 * end long after its call, so what the calls launched is kept by number, the newest of them.
 */
#include "pipeline/ranges/internal.h"

#include <stdatomic.h>
#include <string.h>

#include "core/spool_view.h"

#define LIBRARIES_BYTES (GT_RANGE_LIBRARIES * sizeof(struct gt_range_library))

const struct gt_range_library *gt_range_library_find(const struct gt_ranges *ranges,
						     uint64_t number)
{
	const struct gt_range_library *kept =
		ranges->libraries ? &ranges->libraries[number % GT_RANGE_LIBRARIES] : NULL;

	return number && kept && kept->number == number ? kept : NULL;
}

/* In the spool where there is room: kernels that nobody has read yet belong to calls that have left
 * their rings. False: no memory, then or now. */
static bool start_keeping(struct gt_ranges *ranges)
{
	if (ranges->libraries || ranges->lacks_libraries)
		return ranges->libraries;
	ranges->libraries = gt_memory_is_ample(LIBRARIES_BYTES) ? gt_spool_map(LIBRARIES_BYTES)
								: gt_memory_map(LIBRARIES_BYTES);
	ranges->lacks_libraries = !ranges->libraries;
	if (ranges->libraries)
		gt_spool_set_root(GT_SPOOL_LIBRARIES, ranges->libraries);
	return ranges->libraries;
}

/* The process may be killed in between: a number stands for what is whole. */
static void put(struct gt_ranges *ranges, const struct gt_range_library *library)
{
	struct gt_range_library *kept = &ranges->libraries[library->number % GT_RANGE_LIBRARIES];

	kept->number = 0;
	atomic_signal_fence(memory_order_seq_cst);
	kept->count = library->count;
	kept->call = library->call;
	atomic_signal_fence(memory_order_seq_cst);
	kept->number = library->number;
}

void gt_ranges_restore_libraries(struct gt_ranges *ranges, const struct gt_spool_view *view)
{
	const struct gt_range_library *dead =
		gt_spool_view_root(view, GT_SPOOL_LIBRARIES, LIBRARIES_BYTES);
	uint64_t last = 0;

	if (!dead || !start_keeping(ranges))
		return;
	for (uint32_t i = 0; i < GT_RANGE_LIBRARIES; i++) {
		uint64_t number = dead[i].number;

		if (!number || number % GT_RANGE_LIBRARIES != i || number >= ranges->last_library)
			continue;
		put(ranges, &dead[i]);
		last = number > last ? number : last;
	}
	if (last) /* so that calls from its rings take the places of the oldest ones */
		ranges->last_library = last;
}

/* Returns the number of the first of @count, which are launched together. */
static uint64_t keep(struct gt_ranges *ranges, const struct gt_library_call *calls, uint32_t count)
{
	uint64_t first = ranges->last_library + 1;

	if (!count || !start_keeping(ranges))
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		struct gt_range_library library = {
			.number = ++ranges->last_library, .count = count - i, .call = calls[i]};

		put(ranges, &library);
	}
	return first;
}

/* Of one communicator and device; beyond what there is room for, what they have in common. */
static void add_to_group(struct gt_range_thread *thread, const struct gt_library_call *call)
{
	uint32_t i = 0;

	while (i < thread->group_count && (thread->group[i].communicator != call->communicator ||
					   thread->group[i].device != call->device))
		i++;
	if (i == GT_RANGE_GROUP)
		i--;
	else if (i == thread->group_count)
		thread->group[thread->group_count++] = (struct gt_library_call){0};
	gt_library_fuse(&thread->group[i], call);
}

uint64_t gt_range_library_begin(struct gt_ranges *ranges, uint32_t tid,
				const struct gt_library_call *call)
{
	struct gt_range_thread *thread = gt_range_thread_get(ranges, tid);
	uint64_t number = 0;

	if (!thread || call->is_mpi) /* whatever MPI has the GPU do is no operation of its own */
		return 0;
	if (call->is_math)
		return keep(ranges, call, 1);
	if (call->operations && call->in_group)
		add_to_group(thread, call);
	else if (call->operations)
		number = keep(ranges, call, 1);
	else if (call->function == GT_NCCL_GROUP_END && !call->in_group)
		number = keep(ranges, thread->group, thread->group_count);
	if (!call->in_group && !call->operations)
		thread->group_count = 0;
	return number;
}

/* Those of the device of @event, or all if none is: two communicators on one device cannot be told
 * apart, so only what they have in common is said. */
static struct gt_library_call choose(const struct gt_ranges *ranges, uint64_t first, uint32_t count,
				     uint32_t device)
{
	struct gt_library_call of_device = {0}, all = {0};

	for (uint32_t i = 0; i < count; i++) {
		const struct gt_range_library *kept = gt_range_library_find(ranges, first + i);

		if (!kept)
			return (struct gt_library_call){0};
		gt_library_fuse(&all, &kept->call);
		if (kept->call.device == device + 1)
			gt_library_fuse(&of_device, &kept->call);
	}
	return of_device.operations ? of_device : all;
}

void gt_range_library_kernel(const struct gt_ranges *ranges, struct gt_event *event)
{
	const struct gt_range_library *first = gt_range_library_find(ranges, event->launch.library);
	struct gt_library_call *call = &event->kernel.library;

	if (!first)
		gt_ledger_add(ranges->ledger, GT_LEDGER_LIBRARY_KERNELS, 1);
	else if (first->call.is_math)
		*call = first->call;
	else
		*call = choose(ranges, event->launch.library, first->count, event->place.device);
	if (first && !call->is_math && call->untyped) {
		gt_nccl_order_launched(&ranges->nccl, call);
		if (event->kernel.name)
			gt_library_see_kernel(call, event->kernel.name->text);
	}
}

void gt_range_library_change(struct gt_ranges *ranges, uint64_t number,
			     const struct gt_library_call *call)
{
	const struct gt_range_library *kept = gt_range_library_find(ranges, number);
	struct gt_range_library library = {.number = number, .call = *call};

	if (!kept)
		return;
	library.count = kept->count;
	put(ranges, &library);
}

/* Ours is not the number that NCCL has for a communicator, so often only the rank can tell. */
bool gt_range_library_of(const struct gt_ranges *ranges, uint64_t number,
			 const struct gt_library_call *told, struct gt_library_call *ret_call)
{
	const struct gt_range_library *first = gt_range_library_find(ranges, number);
	struct gt_library_call of_rank = {0}, all = {0};

	for (uint32_t i = 0; first && i < first->count; i++) {
		const struct gt_range_library *kept = gt_range_library_find(ranges, number + i);

		if (!kept)
			return false;
		gt_library_fuse(&all, &kept->call);
		if (kept->call.communicator == told->communicator ||
		    (kept->call.rank == told->rank && kept->call.ranks == told->ranks))
			gt_library_fuse(&of_rank, &kept->call);
	}
	*ret_call = of_rank.operations ? of_rank : all;
	return first != NULL;
}

const struct gt_range_collectives *gt_ranges_collectives(const struct gt_ranges *ranges)
{
	return &ranges->collectives;
}

bool gt_ranges_library(const struct gt_ranges *ranges, uint64_t number, uint32_t i,
		       struct gt_library_call *ret_call)
{
	const struct gt_range_library *first = gt_range_library_find(ranges, number);
	const struct gt_range_library *kept =
		first && i < first->count ? gt_range_library_find(ranges, number + i) : NULL;

	if (!kept || kept->call.is_math)
		return false;
	*ret_call = kept->call;
	if (ret_call->untyped)
		gt_nccl_order_launched(&ranges->nccl, ret_call);
	return true;
}
