/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "trace/load/model_health.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/intern.h"
#include "core/schema/health.h"

int gt_build_health_record(struct gt_model *model, const struct gt_trace_event *record)
{
	struct gt_health_point point = {.ts = record->ts, .device = (uint16_t)record->pid};
	struct gt_span value;

	if (!gt_span_is(&record->cat, "gputrace", 8) || record->pid < 0 ||
	    record->pid >= GT_NO_DEVICE)
		return 0;
	for (int i = 0; i < GT_HEALTH_READINGS_; i++) {
		const struct gt_health_name *name = &gt_health_names[i];

		if (!gt_span_is(&record->name, name->counter, strlen(name->counter)) ||
		    !gt_span_member(&record->args, name->series, &value) ||
		    !gt_span_double(&value, &point.value))
			continue;
		point.reading = (uint8_t)i;
		if (!gt_vec_push(&model->health, point))
			return -ENOMEM;
	}
	return 0;
}

int gt_build_health_event(struct gt_model *model, const struct gt_event *event, int64_t ts)
{
	const struct gt_counter_event *counter = &event->counter;
	struct gt_health_point point = {
		.ts = ts,
		.device = (uint16_t)event->place.device,
		.value = counter->is_real ? counter->real : (double)counter->value,
	};
	enum gt_health_reading reading;

	if (!counter->on_gpu || !counter->name || !counter->series ||
	    event->place.device >= GT_NO_DEVICE)
		return 0;
	reading = gt_health_find(counter->name->text, counter->name->length, counter->series->text,
				 counter->series->length);
	if (reading == GT_HEALTH_READINGS_ || !isfinite(point.value))
		return 0;
	point.reading = (uint8_t)reading;
	return gt_vec_push(&model->health, point) ? 0 : -ENOMEM;
}
