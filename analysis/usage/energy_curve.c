/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "analysis/usage/energy_curve.h"

#include <errno.h>
#include <string.h>

#include "trace/health.h"

/* The values of a reading, by time. */
static int collect(const struct gt_model *model, uint16_t device, int reading,
		   struct gt_energy_curve *curve)
{
	size_t end = gt_health_first(model, device, reading + 1);

	curve->points.count = 0;
	for (size_t i = gt_health_first(model, device, reading); i < end; i++) {
		const struct gt_health_point *point = &model->health.at[i];

		if (!gt_vec_push(&curve->points, ((struct gt_energy_point){
							 .ts = point->ts, .joules = point->value})))
			return -ENOMEM;
	}
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
	size_t end = gt_health_first(model, device, GT_HEALTH_POWER + 1);

	for (size_t i = gt_health_first(model, device, GT_HEALTH_POWER); i < end; i++)
		if (model->health.at[i].value > curve->most_watts)
			curve->most_watts = model->health.at[i].value;
}

int gt_energy_curve_make(const struct gt_model *model, uint16_t device,
			 struct gt_energy_curve *ret_curve)
{
	int rc;

	memset(ret_curve, 0, sizeof(*ret_curve));
	find_most(model, device, ret_curve);
	rc = collect(model, device, GT_HEALTH_ENERGY, ret_curve);
	if (rc || ret_curve->points.count > 1) {
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
