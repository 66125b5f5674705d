/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids of CUPTI's to ids of ours, for calls that the hooks recorded, see coexist.h. Drain thread.
 */
#include "core/guest/memory.h"
#include "pipeline/coexist.h"
#include "pipeline/session.h"

/* Calls without a subscription that may wait for their GPU work at a time. */
#define TIES (1u << 16)

void gt_coexist_tie(void *session, uint32_t correlation, uint32_t id)
{
	struct gt_coexist *c = &((struct gt_session *)session)->coexist;

	if (!c->ties)
		c->ties = gt_memory_map(TIES * sizeof(*c->ties));
	if (c->ties)
		c->ties[correlation % TIES] = (struct gt_tie){correlation, id};
}

uint32_t gt_coexist_id(const struct gt_session *s, uint32_t correlation)
{
	const struct gt_tie *tie;

	if (!s->coexist.ties || !correlation)
		return correlation;
	tie = &s->coexist.ties[correlation % TIES];
	return tie->correlation == correlation ? tie->id : correlation;
}
