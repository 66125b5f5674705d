/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of libraries and the kernels that they launch, see pipeline/ranges/ranges.h. A kernel may
 * end long after its call, so what the calls launched is kept by number, the newest of them.
 */
#include "pipeline/ranges/internal.h"

#include <string.h>

static const struct gt_range_library *find(const struct gt_ranges *ranges, uint64_t number)
{
	const struct gt_range_library *kept = &ranges->libraries[number % GT_RANGE_LIBRARIES];

	return number && kept->number == number ? kept : NULL;
}

/* Returns the number of the first of @count, which are launched together. */
static uint64_t keep(struct gt_ranges *ranges, const struct gt_library_call *calls, uint32_t count)
{
	uint64_t first = ranges->last_library + 1;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t number = ++ranges->last_library;

		ranges->libraries[number % GT_RANGE_LIBRARIES] = (struct gt_range_library){
			.number = number, .count = count - i, .call = calls[i]};
	}
	return count ? first : 0;
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
		const struct gt_range_library *kept = find(ranges, first + i);

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
	const struct gt_range_library *first = find(ranges, event->launch.library);
	struct gt_library_call *call = &event->kernel.library;

	if (first && first->call.is_math)
		*call = first->call;
	else if (first)
		*call = choose(ranges, event->launch.library, first->count, event->place.device);
	if (first && !call->is_math && call->untyped) {
		gt_nccl_order_launched(&ranges->nccl, call);
		if (event->kernel.name)
			gt_library_see_kernel(call, event->kernel.name->text);
	}
}

const struct gt_range_collectives *gt_ranges_collectives(const struct gt_ranges *ranges)
{
	return &ranges->collectives;
}

bool gt_ranges_library(const struct gt_ranges *ranges, uint64_t number, uint32_t i,
		       struct gt_library_call *ret_call)
{
	const struct gt_range_library *first = find(ranges, number);
	const struct gt_range_library *kept =
		first && i < first->count ? find(ranges, number + i) : NULL;

	if (!kept || kept->call.is_math)
		return false;
	*ret_call = kept->call;
	if (ret_call->untyped)
		gt_nccl_order_launched(&ranges->nccl, ret_call);
	return true;
}
