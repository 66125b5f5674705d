/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/overhead/governor.h"

#include <errno.h>
#include <stddef.h>

#define FIRST_PERIODS                                                                              \
	4u               /* what a process does once, as learning frames, is no overhead to come   \
			  */
#define OVER_PERIODS  2u /* one may be an accident */
#define CALM_PERIODS  8u /* before a level is restored */
#define MOST_PATIENCE 1024u
#define SOON          32u   /* periods: a level lowered again by then was restored too early */
#define LONG          4096u /* periods without a change: what was learned before does not count */
#define WELL_UNDER(x) ((x) / 10 * 8)
#define ONE           256u
#define MOST_SAVING   (64u * ONE)

/* ".25" in hundredths; NULL: no digit behind the point. */
static const char *parse_fraction(const char *text, uint32_t *ret_hundredths)
{
	if (*text < '0' || *text > '9')
		return NULL;
	for (uint32_t unit = 10; *text >= '0' && *text <= '9'; text++, unit /= 10)
		*ret_hundredths += unit * (uint32_t)(*text - '0');
	return text;
}

int gt_governor_parse(const char *text, uint32_t *ret_max)
{
	const char *start = text;
	uint32_t value = 0;

	*ret_max = 0;
	if (!*text)
		return 0;
	for (; *text >= '0' && *text <= '9'; text++)
		if (value < 1000)
			value = value * 10 + (uint32_t)(*text - '0');
	if (text == start)
		return -EINVAL;
	value *= 100;
	if (*text == '.')
		text = parse_fraction(text + 1, &value);
	if (text && *text == '%')
		text++;
	if (!text || *text)
		return -EINVAL;
	if (value < 10 || value > 10000)
		return -ERANGE;
	*ret_max = value;
	return 0;
}

void gt_governor_init(struct gt_governor *governor, uint32_t max)
{
	*governor = (struct gt_governor){
		.max = max, .settling = FIRST_PERIODS, .patience = CALM_PERIODS};
	for (int i = 0; i < GT_GOVERNOR_LEVELS_; i++)
		governor->saving[i] = ONE;
}

void gt_governor_set_max(struct gt_governor *governor, uint32_t max)
{
	uint32_t changes = governor->changes + (governor->level && !max);

	if (!max || !governor->max)
		gt_governor_init(governor, max);
	governor->max = max;
	governor->changes = changes;
	governor->over = governor->calm = 0;
	governor->patience = CALM_PERIODS;
}

static bool change(struct gt_governor *governor, bool lowers)
{
	if (lowers && governor->was_restored && governor->since < SOON &&
	    governor->patience < MOST_PATIENCE)
		governor->patience *= 2;
	governor->before = governor->smooth;
	governor->level += lowers ? 1 : -1u;
	governor->was_restored = !lowers;
	governor->changes++;
	governor->settling = 1;
	governor->is_known = false;
	governor->over = governor->calm = governor->since = 0;
	return true;
}

/* Of the level that has just been lowered to. */
static void learn_saving(struct gt_governor *governor)
{
	uint64_t saving = (uint64_t)governor->before * ONE / (governor->smooth + 1);

	if (governor->was_restored || governor->since != 3)
		return;
	governor->saving[governor->level] = saving < ONE           ? ONE
					    : saving > MOST_SAVING ? MOST_SAVING
								   : (uint32_t)saving;
}

/* By what the level saves. */
static bool has_room(const struct gt_governor *governor)
{
	uint64_t restored = (uint64_t)governor->smooth * governor->saving[governor->level] / ONE;

	return restored < WELL_UNDER(governor->max);
}

bool gt_governor_period(struct gt_governor *governor, uint32_t overhead, bool is_active)
{
	if (!governor->max || !is_active)
		return false;
	if (++governor->since >= LONG)
		governor->patience = CALM_PERIODS;
	if (governor->settling) {
		governor->settling--;
		return false;
	}
	governor->smooth = governor->is_known ? (governor->smooth + overhead) / 2 : overhead;
	governor->is_known = true;
	learn_saving(governor);
	if (governor->smooth > governor->max) {
		governor->calm = 0;
		return ++governor->over >= OVER_PERIODS && governor->level < GT_GOVERNOR_LAST &&
		       change(governor, true);
	}
	governor->over = 0;
	governor->calm = governor->level && has_room(governor) ? governor->calm + 1 : 0;
	return governor->calm >= governor->patience && change(governor, false);
}

uint32_t gt_governor_steps(uint32_t level)
{
	return level < GT_GOVERNOR_STEPS ? 1 : 2u << (level - GT_GOVERNOR_STEPS);
}

const char *gt_governor_name(uint32_t level)
{
	static const char *const names[] = {
		[GT_GOVERNOR_NONE] = "nothing",
		[GT_GOVERNOR_STACKS] = "call stacks",
		[GT_GOVERNOR_PYTHON] = "Python frames",
		[GT_GOVERNOR_CALLS] = "calls that start no GPU work",
		[GT_GOVERNOR_STEPS] = "half of the steps",
		"3 of 4 steps",
		"7 of 8 steps",
		"15 of 16 steps",
		"31 of 32 steps",
		"63 of 64 steps",
	};

	return names[level < GT_GOVERNOR_LEVELS_ ? level : GT_GOVERNOR_LAST];
}
