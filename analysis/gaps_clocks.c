/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: clocks that were kept down make work longer, and the host wait, but no gap.
 */
#include <stdio.h>

#include "analysis/gaps.h"
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

static void tell(const struct gt_model *model, uint16_t device, unsigned int others, char *out,
		 size_t size)
{
	char where[96], why[200], more[48] = "";

	gt_key_of_device(model, device, where, sizeof(where));
	gt_health_throttled(model, device, why, sizeof(why));
	if (others)
		snprintf(more, sizeof(more), ", as were those of %u other%s", others,
			 others == 1 ? "" : "s");
	snprintf(out, size,
		 "throttled: the clocks of %s were kept down (%s)%s. Its work took longer for it, "
		 "which is no idle time: gputrace analyze says how much.",
		 where, why, more);
}

bool gt_gaps_clocks(const struct gt_job *job, char *ret_text, size_t size)
{
	const struct gt_model *worst_model = NULL;
	unsigned int throttled = 0;
	uint16_t worst_device = 0;
	double worst = 0;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; i < model->devices.count; i++) {
			double part = throttled_of(model, model->devices.at[i].device);

			throttled += part >= ENOUGH;
			if (part < ENOUGH || part <= worst)
				continue;
			worst = part;
			worst_model = model;
			worst_device = model->devices.at[i].device;
		}
	}
	if (worst_model)
		tell(worst_model, worst_device, throttled - 1, ret_text, size);
	return worst_model;
}
