/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/ranges/nccl_order.h"

#include <stddef.h>

#include "core/guest/memory.h"

void gt_nccl_order_fini(struct gt_nccl_order *order)
{
	if (order->kept)
		gt_memory_unmap(order->kept, sizeof(*order->kept));
}

static struct gt_nccl_communicator *find(struct gt_nccl_order *order, uint64_t communicator)
{
	for (uint32_t i = 0; i < order->communicator_count; i++)
		if (order->communicators[i].id == communicator)
			return &order->communicators[i];
	return NULL;
}

const struct gt_nccl_communicator *gt_nccl_order_find(const struct gt_nccl_order *order,
						      uint64_t communicator)
{
	for (uint32_t i = 0; communicator && i < order->communicator_count; i++)
		if (order->communicators[i].id == communicator)
			return &order->communicators[i];
	return NULL;
}

/* A new place, else that of one that is over. */
static struct gt_nccl_communicator *get_place(struct gt_nccl_order *order)
{
	struct gt_nccl_communicator *oldest = NULL;

	if (order->communicator_count < GT_NCCL_COMMUNICATORS)
		return &order->communicators[order->communicator_count++];
	for (uint32_t i = 0; i < GT_NCCL_COMMUNICATORS; i++) {
		struct gt_nccl_communicator *one = &order->communicators[i];

		if (one->is_over && (!oldest || one->last < oldest->last))
			oldest = one;
	}
	return oldest;
}

/* Its number; 0: there is no room, and the places of none are known from here on. */
static uint64_t put(struct gt_nccl_order *order, const struct gt_nccl_ticket *ticket)
{
	uint64_t number = order->last_ticket + 1;
	uint32_t at = (uint32_t)(number % GT_NCCL_TICKETS);

	if (!order->kept)
		order->kept = gt_memory_map(sizeof(*order->kept));
	if (!order->kept || order->kept->tickets[at].is_waiting) {
		order->is_unclear = true;
		return 0;
	}
	order->kept->tickets[at] = *ticket;
	order->kept->tickets[at].is_waiting = true;
	order->kept->tickets[at].number = order->last_ticket = number;
	order->kept->waiting[order->waiting_count++] = at;
	return number;
}

void gt_nccl_order_begin(struct gt_nccl_order *order, const struct gt_nccl_communicator *made,
			 uint64_t time)
{
	struct gt_nccl_communicator *one = find(order, made->id);

	if (!made->id)
		return;
	if (one && !one->is_over) { /* by another rank of this process */
		one->members += made->members;
		one->rank = one->device = 0;
	} else {
		one = one ? one : get_place(order);
		if (!one)
			return;
		*one = *made;
	}
	put(order, &(struct gt_nccl_ticket){
			   .communicator = made->id, .time = time, .moment = GT_NCCL_BEGUN});
}

void gt_nccl_order_end(struct gt_nccl_order *order, uint64_t communicator, uint64_t time)
{
	if (communicator)
		put(order, &(struct gt_nccl_ticket){.communicator = communicator,
						    .time = time,
						    .function = GT_NCCL_DESTROY,
						    .moment = GT_NCCL_OVER});
}

uint64_t gt_nccl_order_call(struct gt_nccl_order *order, uint64_t communicator, uint8_t function,
			    uint64_t time)
{
	if (!communicator) /* it may be of any */
		order->is_unclear = true;
	return communicator ? put(order, &(struct gt_nccl_ticket){.communicator = communicator,
								  .time = time,
								  .function = function,
								  .moment = GT_NCCL_CALLED})
			    : 0;
}

/* ---- places ---- */

static uint64_t time_at(const struct gt_nccl_order *order, uint32_t i)
{
	return order->kept->tickets[order->kept->waiting[i]].time;
}

/* By time; those of one thread are so already. */
static void sort(struct gt_nccl_order *order)
{
	for (uint32_t gap = order->waiting_count / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < order->waiting_count; i++) {
			uint32_t moved = order->kept->waiting[i], at = i;
			uint64_t time = order->kept->tickets[moved].time;

			for (; at >= gap && time_at(order, at - gap) > time; at -= gap)
				order->kept->waiting[at] = order->kept->waiting[at - gap];
			order->kept->waiting[at] = moved;
		}
}

static bool is_sorted(const struct gt_nccl_order *order)
{
	for (uint32_t i = 1; i < order->waiting_count; i++)
		if (time_at(order, i - 1) > time_at(order, i))
			return false;
	return true;
}

/* One that is earlier than what has its place already would have been before it. */
static void call(struct gt_nccl_communicator *of, struct gt_nccl_ticket *ticket,
		 const struct gt_nccl_told *told)
{
	if (of->is_counted && ticket->time < of->last)
		of->is_counted = false;
	of->last = ticket->time > of->last ? ticket->time : of->last;
	if (!of->is_counted)
		return;
	ticket->place = ++of->count;
	told->take(told->context, of, ticket);
}

static void settle(struct gt_nccl_order *order, struct gt_nccl_ticket *ticket, bool is_whole,
		   const struct gt_nccl_told *told)
{
	struct gt_nccl_communicator *of = find(order, ticket->communicator);

	ticket->is_waiting = false;
	if (!of)
		return;
	if (ticket->moment == GT_NCCL_CALLED) {
		call(of, ticket, told);
		return;
	}
	if (ticket->moment == GT_NCCL_OVER)
		told->take(told->context, of, ticket);
	of->is_counted = is_whole && ticket->moment == GT_NCCL_BEGUN && of->members == 1;
	of->is_over = ticket->moment == GT_NCCL_OVER;
	of->last = ticket->time;
	of->count = 0;
}

void gt_nccl_order_round_begins(struct gt_nccl_order *order, uint64_t now, uint64_t losses)
{
	order->began = now;
	if (!order->communicator_count)
		order->losses = losses;
}

void gt_nccl_order_round_ends(struct gt_nccl_order *order, uint64_t losses,
			      const struct gt_nccl_told *told)
{
	bool is_whole = losses == order->losses && !order->is_unclear;
	uint32_t i = 0, kept = 0;

	order->losses = losses;
	order->is_unclear = false;
	for (uint32_t k = 0; !is_whole && k < order->communicator_count; k++)
		order->communicators[k].is_counted = false;
	if (!is_sorted(order))
		sort(order);
	for (; i < order->waiting_count && time_at(order, i) < order->began; i++)
		settle(order, &order->kept->tickets[order->kept->waiting[i]], is_whole, told);
	for (; i < order->waiting_count; i++)
		order->kept->waiting[kept++] = order->kept->waiting[i];
	order->waiting_count = kept;
}

uint64_t gt_nccl_order_place(const struct gt_nccl_order *order, uint64_t ticket)
{
	const struct gt_nccl_ticket *at =
		order->kept ? &order->kept->tickets[ticket % GT_NCCL_TICKETS] : NULL;

	return ticket && at && at->number == ticket ? at->place : 0;
}

void gt_nccl_order_tell(struct gt_nccl_order *order, const struct gt_library_call *told)
{
	struct gt_nccl_communicator *of = find(order, told->communicator);

	if (!of || of->ranks || !told->ranks)
		return;
	of->ranks = told->ranks;
	if (of->members == 1)
		of->rank = told->rank;
}

void gt_nccl_order_know(const struct gt_nccl_order *order, struct gt_library_call *call)
{
	const struct gt_nccl_communicator *of = gt_nccl_order_find(order, call->communicator);

	if (!of)
		return;
	call->ranks = of->ranks;
	call->rank = of->rank;
	call->device = of->device;
}

/* Of the ranks in this process, which NCCL has one id for, each has its own kernel. */
static void share(const struct gt_nccl_communicator *of, struct gt_library_call *call)
{
	if (of && of->members > 1 && call->operations % of->members == 0)
		call->operations /= of->members;
}

void gt_nccl_order_launched(const struct gt_nccl_order *order, struct gt_library_call *call)
{
	gt_nccl_order_know(order, call);
	if (call->operations > 1)
		share(gt_nccl_order_find(order, call->communicator), call);
	else
		gt_library_count(call, call->in);
	call->sequence = gt_nccl_order_place(order, call->sequence);
}
