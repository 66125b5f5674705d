/* SPDX-License-Identifier: Apache-2.0
 *
 * Rule about the clocks: did something keep them down while the GPU had work? By what run --nvml
 * recorded.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/findings/rule.h"
#include "trace/health.h"

#define ENOUGH 5 /* % of the busy time */

/* What all devices together showed; the names are those of the worst one. */
struct throttled {
	int64_t busy, throttled, saves; /* ns; busy of devices that were read */
	int64_t worst;
	char where[96], why[200];
	double clock, most; /* MHz, while it was throttled and at most; 0: not known */
};

static bool is_known(const struct gt_model *model, uint16_t device)
{
	return gt_health_over_time(model, device, GT_HEALTH_THROTTLED_FIRST).count != 0;
}

static int busy_of(const struct gt_survey *survey, const struct gt_model *model,
		   const struct gt_device_track *track, struct gt_intervals *busy)
{
	for (uint32_t i = 0; i < track->count; i++) {
		const struct gt_op *op = gt_model_device_op(model, track, i);

		if (gt_filter_op(survey->filter, model, op) &&
		    !gt_intervals_add(busy, op->start, op->start + op->dur))
			return -ENOMEM;
	}
	gt_intervals_merge(busy);
	return 0;
}

/* When any reason held. */
static int throttled_of(const struct gt_model *model, uint16_t device, struct gt_intervals *set)
{
	int64_t end = gt_health_end(model, device), from;

	for (int r = GT_HEALTH_THROTTLED_FIRST; r <= GT_HEALTH_THROTTLED_LAST; r++) {
		size_t behind = gt_health_first(model, device, r + 1);

		from = INT64_MIN;
		for (size_t i = gt_health_first(model, device, r); i < behind; i++) {
			const struct gt_health_point *point = &model->health.at[i];

			if (from != INT64_MIN && !gt_intervals_add(set, from, point->ts))
				return -ENOMEM;
			from = point->value > 0 ? point->ts : INT64_MIN;
		}
		if (from != INT64_MIN && !gt_intervals_add(set, from, end))
			return -ENOMEM;
	}
	gt_intervals_merge(set);
	return 0;
}

/* Work while the clocks were kept down. */
struct slowed {
	struct gt_intervals set;
	int64_t *before; /* sum of the lengths before each */
};

/* What @busy and @throttled have in common. -ENOMEM. */
static int slowed_of(const struct gt_intervals *busy, const struct gt_intervals *throttled,
		     struct slowed *ret_slowed)
{
	struct gt_intervals *set = &ret_slowed->set;
	int64_t sum = 0;

	if (!gt_intervals_common(busy, throttled, set))
		return -ENOMEM;
	ret_slowed->before = calloc(set->count + 1, sizeof(*ret_slowed->before));
	if (!ret_slowed->before)
		return -ENOMEM;
	for (size_t i = 0; i < set->count; i++) {
		ret_slowed->before[i] = sum;
		sum += set->at[i].end - set->at[i].start;
	}
	return 0;
}

/* How long there was such work before @t. */
static int64_t slowed_before(const struct slowed *slowed, int64_t t)
{
	size_t low = 0, high = slowed->set.count;
	const struct gt_interval *last;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slowed->set.at[middle].start < t)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	last = &slowed->set.at[low - 1];
	return slowed->before[low - 1] + (t < last->end ? t : last->end) - last->start;
}

/* What such work would have saved at the highest clock, if all of it followed the clock;
 * *ret_clock: the mean one there, 0: not known. */
static int64_t saving(const struct gt_model *model, uint16_t device, const struct slowed *slowed,
		      double most, double *ret_clock)
{
	double ns = 0, cycles = 0;
	int64_t from = 0, end = gt_health_end(model, device);
	double clock = 0;
	size_t behind = gt_health_first(model, device, GT_HEALTH_CLOCK_SM + 1);

	for (size_t i = gt_health_first(model, device, GT_HEALTH_CLOCK_SM); i <= behind; i++) {
		const struct gt_health_point *point = i < behind ? &model->health.at[i] : NULL;
		int64_t until = point ? point->ts : end;

		if (clock > 0 && from < until) {
			double part = (double)(slowed_before(slowed, until) -
					       slowed_before(slowed, from));

			ns += part;
			cycles += part * clock;
		}
		from = until;
		clock = point ? point->value : 0;
	}
	*ret_clock = ns > 0 ? cycles / ns : 0;
	return most > 0 ? (int64_t)(ns - cycles / most) : 0;
}

static int add_device(const struct gt_survey *survey, const struct gt_model *model,
		      const struct gt_device_track *track, struct throttled *all)
{
	struct gt_intervals busy = {0}, set = {0};
	struct slowed slowed = {0};
	double most = gt_health_over_time(model, track->device, GT_HEALTH_CLOCK_SM).max, clock = 0;
	int rc = busy_of(survey, model, track, &busy);
	int64_t both;

	if (!rc)
		rc = throttled_of(model, track->device, &set);
	if (!rc)
		rc = slowed_of(&busy, &set, &slowed);
	both = gt_intervals_total(&slowed.set);
	all->busy += gt_intervals_total(&busy);
	all->throttled += both;
	if (!rc)
		all->saves += saving(model, track->device, &slowed, most, &clock);
	if (both > all->worst) {
		all->worst = both;
		all->clock = clock;
		all->most = most;
		gt_key_of_device(model, track->device, all->where, sizeof(all->where));
		gt_health_throttled(model, track->device, all->why, sizeof(all->why));
	}
	gt_intervals_fini(&busy);
	gt_intervals_fini(&set);
	gt_intervals_fini(&slowed.set);
	free(slowed.before);
	return rc;
}

static void tell(const struct throttled *all, struct gt_finding *finding)
{
	double part = gt_survey_percent(all->throttled, all->busy);
	char clock[100] = "";

	finding->saves = all->saves;
	finding->state = part >= ENOUGH ? GT_FINDING_FOUND : GT_FINDING_CLEAR;
	if (all->clock > 0)
		snprintf(clock, sizeof(clock), "; its SM clock was %.0f MHz then, %.0f MHz at most",
			 all->clock, all->most);
	if (all->throttled)
		gt_rule_say(finding,
			    "The clocks were kept down for %.1f %% of the time in which the GPUs "
			    "had work, most on %s (of all its time: %s)%s.",
			    part, all->where, all->why, clock);
	else
		gt_rule_say(finding, "Nothing kept the clocks down.");
}

int gt_rule_throttled(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct throttled all = {0};
	bool is_read = false;
	int rc = 0;

	for (size_t f = 0; f < survey->job->count; f++) {
		const struct gt_model *model = &survey->job->models[f];

		for (size_t i = 0; !rc && i < model->devices.count; i++) {
			if (!is_known(model, model->devices.at[i].device))
				continue;
			is_read = true;
			rc = add_device(survey, model, &model->devices.at[i], &all);
		}
	}
	if (is_read) {
		tell(&all, finding);
		return rc;
	}
	finding->state = GT_FINDING_UNDECIDED;
	finding->needs = "readings of the clocks: gputrace run --nvml";
	return rc;
}
