/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "analysis/usage/energy_curve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/health.h"

static int by_time(const void *a, const void *b)
{
	const struct gt_energy_point *x = a, *y = b;

	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* The values of a reading, by time. A trace of several files has them in their order. */
static int collect(const struct gt_model *model, uint16_t device, uint8_t reading,
		   struct gt_energy_curve *curve)
{
	for (size_t i = 0; i < model->health.count; i++) {
		const struct gt_health_point *point = &model->health.at[i];

		if (point->device != device || point->reading != reading)
			continue;
		if (!gt_vec_push(&curve->points, ((struct gt_energy_point){
							 .ts = point->ts, .joules = point->value})))
			return -ENOMEM;
	}
	if (curve->points.count)
		qsort(curve->points.at, curve->points.count, sizeof(*curve->points.at), by_time);
	return 0;
}

/* A counter does not fall: it began again when the driver was loaded again. */
static void drop_falls(struct gt_energy_curve *curve)
{
	struct gt_energy_point *points = curve->points.at;
	double before = 0, last = curve->points.count ? points[0].joules : 0;

	for (size_t i = 0; i < curve->points.count; i++) {
		double now = points[i].joules;

		if (now < last)
			before += last;
		last = now;
		points[i].joules = before + now;
	}
}

/* Power is that from its moment on, the last one until the GPU was read last. */
static int sum_power(struct gt_energy_curve *curve, int64_t end)
{
	struct gt_energy_point *points = curve->points.at;
	double joules = 0, watts = 0;
	size_t count = curve->points.count;

	if (count && end > points[count - 1].ts &&
	    !gt_vec_push(&curve->points, ((struct gt_energy_point){.ts = end})))
		return -ENOMEM;
	points = curve->points.at;
	for (size_t i = 0; i < curve->points.count; i++) {
		double next = points[i].joules;

		if (i)
			joules += watts * (double)(points[i].ts - points[i - 1].ts) / 1e9;
		points[i].joules = joules;
		watts = next;
	}
	return 0;
}

static void find_most(const struct gt_model *model, uint16_t device, struct gt_energy_curve *curve)
{
	for (size_t i = 0; i < model->health.count; i++) {
		const struct gt_health_point *point = &model->health.at[i];

		if (point->device == device && point->reading == GT_HEALTH_POWER &&
		    point->value > curve->most_watts)
			curve->most_watts = point->value;
	}
}

int gt_energy_curve_make(const struct gt_model *model, uint16_t device,
			 struct gt_energy_curve *ret_curve)
{
	int rc;

	memset(ret_curve, 0, sizeof(*ret_curve));
	find_most(model, device, ret_curve);
	rc = collect(model, device, GT_HEALTH_ENERGY, ret_curve);
	if (rc || ret_curve->points.count) {
		drop_falls(ret_curve);
		return rc;
	}
	rc = collect(model, device, GT_HEALTH_POWER, ret_curve);
	return rc ? rc : sum_power(ret_curve, gt_health_end(model, device));
}

void gt_energy_curve_fini(struct gt_energy_curve *curve)
{
	gt_vec_free(&curve->points);
}
