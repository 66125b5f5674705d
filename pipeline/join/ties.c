/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/join/ties.h"

#include "core/guest/memory.h"

/* Calls without a subscription that may wait for their GPU work at a time. */
#define TIES (1u << 16)

void gt_ties_put(struct gt_ties *ties, uint32_t correlation, uint32_t id)
{
	if (!ties->table)
		ties->table = gt_memory_map(TIES * sizeof(*ties->table));
	if (ties->table)
		ties->table[correlation % TIES] = (struct gt_tie){correlation, id};
}

uint32_t gt_ties_find(const struct gt_ties *ties, uint32_t correlation)
{
	const struct gt_tie *tie;

	if (!ties->table || !correlation)
		return correlation;
	tie = &ties->table[correlation % TIES];
	return tie->correlation == correlation ? tie->id : correlation;
}

void gt_ties_free(struct gt_ties *ties)
{
	gt_memory_unmap(ties->table, TIES * sizeof(*ties->table));
	ties->table = NULL;
}
