/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Pure.
 */
#include "core/schema/health.h"

#include <stdbool.h>
#include <string.h>

const struct gt_health_name gt_health_names[GT_HEALTH_READINGS_] = {
#define GT_HEALTH(id, counter, series, units) [GT_HEALTH_##id] = {counter, series, units},
#include "core/schema/health.def"
#undef GT_HEALTH
};

static bool is(const char *name, const char *text, size_t length)
{
	return strlen(name) == length && !memcmp(name, text, length);
}

enum gt_health_reading gt_health_find(const char *counter, size_t counter_length,
				      const char *series, size_t series_length)
{
	int i = 0;

	while (i < GT_HEALTH_READINGS_ &&
	       !(is(gt_health_names[i].counter, counter, counter_length) &&
		 is(gt_health_names[i].series, series, series_length)))
		i++;
	return (enum gt_health_reading)i;
}
