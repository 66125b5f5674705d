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
		span->min = span->max = value;
	} else {
		*sum += span->last * (double)(ts - *at);
		span->ns += ts - *at;
		span->risen += value < span->last ? value : value - span->last;
	}
	span->min = value < span->min ? value : span->min;
	span->max = value > span->max ? value : span->max;
	span->last = value;
	*at = ts;
}

size_t gt_health_first(const struct gt_model *model, uint16_t device, int reading)
{
	size_t low = 0, high = model->health.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct gt_health_point *point = &model->health.at[middle];

		if (point->device < device || (point->device == device && point->reading < reading))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t gt_health_end(const struct gt_model *model, uint16_t device)
{
	int64_t end = INT64_MIN;

	for (int reading = 0; reading < GT_HEALTH_READINGS_; reading++) {
		size_t behind = gt_health_first(model, device, reading + 1);

		if (behind > gt_health_first(model, device, reading) &&
		    model->health.at[behind - 1].ts > end)
			end = model->health.at[behind - 1].ts;
	}
	return end;
}

struct gt_health_span gt_health_over_time(const struct gt_model *model, uint16_t device,
					  enum gt_health_reading reading)
{
	struct gt_health_span span = {0};
	double sum = 0;
	int64_t at = 0;

	for (size_t i = gt_health_first(model, device, reading),
		    end = gt_health_first(model, device, reading + 1);
	     i < end; i++)
		add_value(&span, model->health.at[i].ts, model->health.at[i].value, &at, &sum);
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
