/* SPDX-License-Identifier: Apache-2.0
 *
 * The energy that a GPU had used by each moment, as --nvml recorded it: from its energy counter,
 * and where it has none from its power. Pure over constant models; one thread per curve.
 */
#ifndef GT_ANALYSIS_USAGE_ENERGY_CURVE_H
#define GT_ANALYSIS_USAGE_ENERGY_CURVE_H

#include "readers/vec.h"
#include "trace/model.h"

/* Between two points the power is constant. */
struct gt_energy_point {
	int64_t ts;
	double joules;
};

/* A GPU's energy over time. */
struct gt_energy_curve {
	GT_VEC(struct gt_energy_point) points; /* by time; less than two: nothing is known */
	double most_watts;                     /* the largest power that was read; 0: none was */
};

/* Of a counter that was read once nothing is known but its power. 0 or -ENOMEM; free with _fini in
 * either case. */
int gt_energy_curve_make(const struct gt_model *model, uint16_t device,
			 struct gt_energy_curve *ret_curve);
void gt_energy_curve_fini(struct gt_energy_curve *curve);

#endif
