/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/overhead/thinning.h"

#define CROWDED       900u /* thousandths */
#define FULL          750u
#define MUCH          500u /* of work or ranges */
#define CALM          250u
#define FULL_PERIODS  4u /* or half as many crowded ones, with few between: one is an accident */
#define CALM_PERIODS  32u
#define MOST_PATIENCE 1024u
#define SOON          128u  /* periods: what is left out again by then was recorded too early */
#define LONG          8192u /* periods without a change: earlier ones do not count */

static bool change(struct gt_thinning *t, bool lowers)
{
	if (lowers && t->was_restored && t->since < SOON && t->patience < MOST_PATIENCE)
		t->patience *= 2;
	t->level += lowers ? 1 : -1u;
	t->was_restored = !lowers;
	t->full = t->calm = t->since = 0;
	return true;
}

/* In the next period, if it goes on like this. */
static uint32_t expected(uint32_t now, uint32_t before)
{
	return now >= CALM && now > before ? now + (now - before) : now;
}

/* What waits here has piled up: no accident fills it. */
static bool is_urgent(const struct gt_thinning *t, const struct gt_thinning_load *load)
{
	return load->has_lost || (load->work >= MUCH && load->work >= t->work) ||
	       (load->ranges >= MUCH && t->level < GT_THINNING_RANGES);
}

static bool is_calm(const struct gt_thinning_load *load)
{
	return load->rings < CALM && load->work < CALM && load->ranges < CALM;
}

bool gt_thinning_period(struct gt_thinning *t, const struct gt_thinning_load *load)
{
	uint32_t rings = expected(load->rings, t->rings);

	if (!t->patience || ++t->since >= LONG)
		t->patience = CALM_PERIODS;
	if (is_urgent(t, load))
		t->full += FULL_PERIODS;
	else if (rings >= FULL)
		t->full += rings >= CROWDED ? 2 : 1;
	else if (t->full)
		t->full--;
	t->calm = is_calm(load) && t->level ? t->calm + 1 : 0;
	t->rings = load->rings;
	t->work = load->work;
	if (t->full >= FULL_PERIODS && t->level + 1 < GT_THINNING_LEVELS_)
		return change(t, true);
	return t->calm >= t->patience && change(t, false);
}

const char *gt_thinning_name(uint32_t level)
{
	static const char *const names[GT_THINNING_LEVELS_] = {
		[GT_THINNING_NONE] = "nothing",
		[GT_THINNING_RANGES] = "NVTX ranges that begin within 1 ms of one another",
		[GT_THINNING_CALLS] = "calls that start no GPU work",
		[GT_THINNING_SLICES] = "slices and arrows of calls that start GPU work",
	};

	return names[level < GT_THINNING_LEVELS_ ? level : GT_THINNING_LEVELS_ - 1];
}
