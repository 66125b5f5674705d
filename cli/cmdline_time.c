/* SPDX-License-Identifier: Apache-2.0
 *
 * Times on the command line. Pure.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cmdline.h"

bool gt_cmdline_read_time(const char *text, int64_t unit, int64_t *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
	char *end;
	double value = strtod(text, &end), scale = 0;

	if (end > text && !*end)
		scale = (double)unit;
	for (size_t i = 0; end > text && i < sizeof(units) / sizeof(units[0]); i++)
		if (!strcmp(end, units[i].name))
			scale = units[i].ns;
	if (scale <= 0 || !(value >= 0) || !(value * scale <= GT_CMDLINE_MAX_TIME))
		return false;
	*ret_ns = (int64_t)(value * scale);
	return true;
}

int64_t gt_cmdline_time(const struct gt_cmdline *args, const char *option, int64_t unit)
{
	const char *text = gt_cmdline_get(args, option);
	int64_t ns = 0;

	if (text)
		gt_cmdline_read_time(text, unit, &ns); /* the parser has checked it */
	return ns;
}
