/* SPDX-License-Identifier: Apache-2.0
 *
 * A reading of a GPU over time, as --nvml recorded it: a value holds until the next one. Pure over
 * constant models.
 */
#ifndef GT_TRACE_HEALTH_H
#define GT_TRACE_HEALTH_H

#include "core/schema/health.h"
#include "trace/model.h"

/* Its values from the first to the last time that it was read. */
struct gt_health_span {
	uint64_t count; /* 0: it was not read, the rest means nothing */
	int64_t ns;     /* from the first value to gt_health_end */
	double mean;    /* over that time; of one value that one */
	double min, max;
	double last;
	double risen; /* of a counter, which begins again at 0 where its driver does */
};

/* Where in model->health the values of a reading of a device begin, or those of the next one do:
 * they end where those of @reading + 1 begin. */
size_t gt_health_first(const struct gt_model *model, uint16_t device, int reading);

/* The values of one reading of a GPU. */
struct gt_health_span gt_health_over_time(const struct gt_model *model, uint16_t device,
					  enum gt_health_reading reading);

/* When the device was read last; INT64_MIN: never. A value that does not change is not written each
 * time: it holds until then. */
int64_t gt_health_end(const struct gt_model *model, uint16_t device);

/* What kept the clocks of a GPU down, "power limit 12 %, temperature 3 %" of the time; "no", or
 * "-" where nothing tells. Returns @out. */
char *gt_health_throttled(const struct gt_model *model, uint16_t device, char *out, size_t size);

#endif
