/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: clocks that were kept down make work longer, and the host wait, but no gap.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "trace/health.h"

#define ENOUGH 0.05 /* of the time that it was read */

/* The largest part of the time that one reason held; 0: none, or not read. */
static double throttled_of(const struct gt_model *model, uint16_t device)
{
	double most = 0;

	for (int r = GT_HEALTH_THROTTLED_FIRST; r <= GT_HEALTH_THROTTLED_LAST; r++) {
		struct gt_health_span span =
			gt_health_over_time(model, device, (enum gt_health_reading)r);

		most = span.count && span.mean > most ? span.mean : most;
	}
	return most;
}

/* A device's clocks: a group of the sums, of which the label is what is said. */
#define CLOCKS "clocks of "
#define PARTS  1e15 /* of the time, as a whole number */

static int add(struct gt_groups *groups, const struct gt_model *model, uint16_t device, double part)
{
	char where[96], why[200], text[400];
	struct gt_group *group;

	gt_key_of_device(model, device, where, sizeof(where));
	gt_health_throttled(model, device, why, sizeof(why));
	snprintf(text, sizeof(text), CLOCKS "%" PRIu64 " %u", groups->trace, device);
	group = gt_groups_get(groups, text);
	if (!group)
		return -ENOMEM;
	snprintf(text, sizeof(text), "throttled: the clocks of %s were kept down (%s)", where, why);
	group->label = gt_names_put(&groups->names, text, strlen(text));
	group->tag[GT_GAPS_TAG_MAX] = (int64_t)(part * PARTS);
	return 0;
}

int gt_gaps_map_clocks(struct gt_gaps_parts *parts, const struct gt_job *job)
{
	struct gt_groups *groups = &parts->sets[GT_GAPS_SUMS].groups;
	int rc = 0;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		groups->trace = gt_job_order(job, f);
		for (size_t i = 0; !rc && i < model->devices.count; i++) {
			uint16_t device = model->devices.at[i].device;
			double part = throttled_of(model, device);

			if (part >= ENOUGH)
				rc = add(groups, model, device, part);
		}
	}
	return rc;
}

bool gt_gaps_clocks(struct gt_gaps_parts *parts, char *ret_text, size_t size)
{
	const struct gt_groups *groups = &parts->sets[GT_GAPS_SUMS].groups;
	const struct gt_group *worst = NULL;
	unsigned int throttled = 0;
	char more[48] = "";

	for (size_t i = 0; i < groups->list.count; i++) {
		const struct gt_group *group = &groups->list.at[i];

		if (strncmp(gt_group_name(groups, group), CLOCKS, sizeof(CLOCKS) - 1) != 0)
			continue;
		throttled++;
		if (!worst || group->tag[GT_GAPS_TAG_MAX] > worst->tag[GT_GAPS_TAG_MAX])
			worst = group;
	}
	if (!worst)
		return false;
	if (throttled > 1)
		snprintf(more, sizeof(more), ", as were those of %u other%s", throttled - 1,
			 throttled == 2 ? "" : "s");
	snprintf(ret_text, size,
		 "%s%s. Its work took longer for it, "
		 "which is no idle time: gputrace analyze says how much.",
		 gt_names_get(&groups->names, worst->label), more);
	return true;
}
