/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "trace/health.h"

#include <stdio.h>

static void add_value(struct gt_health_span *span, int64_t ts, double value, int64_t *at,
		      double *sum)
{
	if (!span->count++) {
		span->first = span->min = span->max = value;
		span->first_at = ts;
	} else if (ts > *at) {
		*sum += span->last * (double)(ts - *at);
		span->ns += ts - *at;
	}
	span->min = value < span->min ? value : span->min;
	span->max = value > span->max ? value : span->max;
	span->last = value;
	*at = ts;
}

int64_t gt_health_end(const struct gt_model *model, uint16_t device)
{
	int64_t end = INT64_MIN;

	for (size_t i = 0; i < model->health.count; i++)
		if (model->health.at[i].device == device && model->health.at[i].ts > end)
			end = model->health.at[i].ts;
	return end;
}

struct gt_health_span gt_health_over_time(const struct gt_model *model, uint16_t device,
					  enum gt_health_reading reading)
{
	struct gt_health_span span = {0};
	double sum = 0;
	int64_t at = 0;

	for (size_t i = 0; i < model->health.count; i++) {
		const struct gt_health_point *point = &model->health.at[i];

		if (point->device == device && point->reading == reading)
			add_value(&span, point->ts, point->value, &at, &sum);
	}
	span.last_at = at;
	if (span.count)
		add_value(&span, gt_health_end(model, device), span.last, &at, &sum);
	span.mean = span.ns ? sum / (double)span.ns : span.last;
	return span;
}

char *gt_health_throttled(const struct gt_model *model, uint16_t device, char *out, size_t size)
{
	size_t length = 0;
	bool is_known = false;

	for (int i = GT_HEALTH_THROTTLED_FIRST; i <= GT_HEALTH_THROTTLED_LAST; i++) {
		struct gt_health_span span =
			gt_health_over_time(model, device, (enum gt_health_reading)i);

		is_known |= span.count != 0;
		if (span.count && span.mean > 0 && length < size)
			length += (size_t)snprintf(out + length, size - length, "%s%s %.0f %%",
						   length ? ", " : "", gt_health_names[i].series,
						   span.mean * 100);
	}
	if (!length)
		snprintf(out, size, "%s", is_known ? "no" : "-");
	return out;
}
