/* SPDX-License-Identifier: Apache-2.0
 *
 * The communicators in the payloads of NCCL's own NVTX ranges, and which place each collective has
 * in its communicator. Rings are read thread by thread, so places are given once per round, in
 * order of time, to what was recorded before the round began: until then a collective has a
 * ticket. A place is claimed only where the communicator was seen to be made, by one rank of this
 * process, and nothing was lost since. Drain thread.
 */
#ifndef GT_PIPELINE_RANGES_NCCL_ORDER_H
#define GT_PIPELINE_RANGES_NCCL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/library_call.h"

#define GT_NCCL_COMMUNICATORS 256u       /* known at a time */
#define GT_NCCL_TICKETS       (1u << 15) /* the newest ones */

/* One of them. */
struct gt_nccl_communicator {
	uint64_t id; /* the same in all members; 0: the place is free */
	uint32_t ranks;
	uint32_t rank, device; /* plus 1; 0: not known, or several */
	uint32_t members;      /* ranks in this process */
	uint64_t count;        /* collectives so far */
	uint64_t last;         /* when the newest of them was called */
	bool is_counted;       /* count is right */
	bool is_over;
};

/* Moments of a communicator that have an order. */
enum gt_nccl_moment { GT_NCCL_BEGUN, GT_NCCL_CALLED, GT_NCCL_OVER };

/* What happened to a communicator. */
struct gt_nccl_ticket {
	uint64_t number; /* from 1 */
	uint64_t communicator;
	uint64_t time; /* MONOTONIC ns */
	uint64_t place;
	uint8_t moment;   /* enum gt_nccl_moment */
	uint8_t function; /* enum gt_nccl_function */
	bool is_waiting;  /* for the end of a round */
};

/* The newest tickets, and places in tickets[] of those that wait. 1.4 MiB. */
struct gt_nccl_tickets {
	struct gt_nccl_ticket tickets[GT_NCCL_TICKETS]; /* by number modulo the size */
	uint32_t waiting[GT_NCCL_TICKETS];
};

/* All of this process. Zeroed: none. */
struct gt_nccl_order {
	struct gt_nccl_communicator communicators[GT_NCCL_COMMUNICATORS];
	uint32_t communicator_count;  /* places that have been used */
	struct gt_nccl_tickets *kept; /* NULL: there was none, or no memory */
	uint64_t last_ticket;
	uint32_t waiting_count;
	uint64_t losses; /* when last looked */
	uint64_t began;  /* MONOTONIC ns of the round */
	bool is_unclear; /* something had no room, or did not say of which communicator */
};

/* Who gets to know each collective that has got its place, and of each end, which has none. */
struct gt_nccl_told {
	void (*take)(void *context, const struct gt_nccl_communicator *of,
		     const struct gt_nccl_ticket *ticket);
	void *context;
};

/* Gives its memory back. */
void gt_nccl_order_fini(struct gt_nccl_order *order);

/* A communicator of so many ranks, @made->members of them in this process. */
void gt_nccl_order_begin(struct gt_nccl_order *order, const struct gt_nccl_communicator *made,
			 uint64_t time);

/* It is over, but its kernels may still be reported. */
void gt_nccl_order_end(struct gt_nccl_order *order, uint64_t communicator, uint64_t time);

/* A collective; returns its ticket, 0: none. */
uint64_t gt_nccl_order_call(struct gt_nccl_order *order, uint64_t communicator, uint8_t function,
			    uint64_t time);

/* A round over the rings begins, and has ended. @losses: records that are missing so far. */
void gt_nccl_order_round_begins(struct gt_nccl_order *order, uint64_t now, uint64_t losses);
void gt_nccl_order_round_ends(struct gt_nccl_order *order, uint64_t losses,
			      const struct gt_nccl_told *told);

/* What NCCL's profiler interface knows: the size and rank of a communicator that is known
 * without them. */
void gt_nccl_order_tell(struct gt_nccl_order *order, const struct gt_library_call *told);

/* The place of a ticket, from 1; 0: not known. */
uint64_t gt_nccl_order_place(const struct gt_nccl_order *order, uint64_t ticket);

/* NULL: not known. */
const struct gt_nccl_communicator *gt_nccl_order_find(const struct gt_nccl_order *order,
						      uint64_t communicator);

/* Sets what is known of the communicator of @call. */
void gt_nccl_order_know(const struct gt_nccl_order *order, struct gt_library_call *call);

/* What is known by now of an untyped call that has launched something; its sequence is a ticket,
 * and in what NCCL calls the size of the message. */
void gt_nccl_order_launched(const struct gt_nccl_order *order, struct gt_library_call *call);

#endif
