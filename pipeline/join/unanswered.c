/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "pipeline/join/unanswered.h"

#include "pipeline/join/join.h"

void gt_unanswered_call(struct gt_unanswered *u, const struct gt_event *event,
			const struct gt_call_effect *what)
{
	bool will_answer = what->kernels && what->expects && !what->own_id;

	u->idle = (u->idle && !what->expects) || what->waits_for_all;
	u->launched += will_answer;
	if (will_answer && !u->since)
		u->since = event->end;
	else if (what->waits && u->since && event->start >= u->since && !u->waited)
		u->waited = event->end;
}

void gt_unanswered_record(struct gt_unanswered *u)
{
	u->since = 0;
	u->launched = 0;
	u->waited = 0;
}

bool gt_unanswered_is_certain(const struct gt_unanswered *u, uint64_t flush, uint64_t most)
{
	if (!u->waited || u->waited >= flush)
		return false;
	return u->idle || u->launched > most;
}
