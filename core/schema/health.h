/* SPDX-License-Identifier: Apache-2.0
 *
 * What is known of a GPU's power, clocks and health: its counters and their names (health.def).
 */
#ifndef GT_CORE_SCHEMA_HEALTH_H
#define GT_CORE_SCHEMA_HEALTH_H

#include <stddef.h>
#include <stdint.h>

/* The rows of health.def. */
enum gt_health_reading {
#define GT_HEALTH(id, counter, series, units) GT_HEALTH_##id,
#include "core/schema/health.def"
#undef GT_HEALTH
	GT_HEALTH_READINGS_
};

/* The readings that say what keeps the clocks down, 1 while it does. */
#define GT_HEALTH_THROTTLED_FIRST GT_HEALTH_THROTTLED_POWER
#define GT_HEALTH_THROTTLED_LAST  GT_HEALTH_THROTTLED_SYNC

/* How a reading is called in a trace. */
struct gt_health_name {
	const char *counter, *series;
	uint32_t units; /* so many of NVML's units are one of the trace's */
};

/* Indexed by reading. */
extern const struct gt_health_name gt_health_names[GT_HEALTH_READINGS_];

/* The reading of that counter and series; GT_HEALTH_READINGS_: none. Pure. */
enum gt_health_reading gt_health_find(const char *counter, size_t counter_length,
				      const char *series, size_t series_length);

#endif
