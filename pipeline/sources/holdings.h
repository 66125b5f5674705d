/* SPDX-License-Identifier: Apache-2.0
 *
 * --memory: the blocks that the program holds, for the counter tracks of each device and for what
 * is said of an allocation that failed. Calls arrive thread by thread; they are put in order of
 * time before they are counted. Drain thread.
 */
#ifndef GT_PIPELINE_SOURCES_HOLDINGS_H
#define GT_PIPELINE_SOURCES_HOLDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"

struct gt_clock;
struct gt_config;
struct gt_intern;
struct gt_outlet;

#define GT_HOLDINGS_DEVICES 64

/* A block, or an address range into which physical memory is mapped. */
struct gt_holding {
	uint64_t address; /* 0: a free place */
	uint64_t bytes;
	uint64_t handle; /* of a mapping */
	const struct gt_stack *stack;
	uint32_t device, context;
	uint32_t holders; /* of physical memory: handles and mappings */
	uint8_t kind;
};

/* Open addressing by address. */
struct gt_holding_table {
	struct gt_holding *at;
	uint32_t slots, used;
};

/* A call that waits to be counted. */
struct gt_holding_change {
	uint64_t time;   /* trace ns */
	uint64_t number; /* for those of the same time */
	const struct gt_string *name;
	const struct gt_stack *stack;
	struct gt_block block;
	uint32_t tid;
	int32_t result;
};

/* Given: the first four; the rest is zero at first. */
struct gt_holdings {
	const struct gt_config *config;
	const struct gt_clock *clock;
	struct gt_intern *strings;
	struct gt_outlet *outlet;
	bool is_on;
	bool has_told; /* in this round, who holds what */
	struct gt_holding_table blocks, mapped;
	uint32_t max_blocks;
	struct gt_holding_change *waiting;
	uint32_t waiting_count, waiting_room;
	uint64_t changes;
	uint64_t drained;                             /* when it was last, trace ns */
	uint64_t refused;                             /* for which there was no room */
	uint64_t torch_reserved[GT_HOLDINGS_DEVICES]; /* by PyTorch's allocator, as last written */
	uint64_t in_use[GT_HOLDINGS_DEVICES][GT_BLOCK_KIND_COUNT_]; /* bytes; PINNED: of [0] */
};

/* A finished call; of interest if it has a block. */
void gt_holdings_see(struct gt_holdings *holdings, const struct gt_event *call);

/* A block of PyTorch's allocator, which tells its totals. */
void gt_holdings_see_tensor(struct gt_holdings *holdings, const struct gt_event *tensor);

/* The end of the trace: all that waits is counted. */
void gt_holdings_finish(struct gt_holdings *holdings);

#endif
