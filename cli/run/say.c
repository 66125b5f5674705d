/* SPDX-License-Identifier: Apache-2.0
 *
 * See say.h.
 */
#include "cli/run/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "readers/show.h"

static bool is_quiet;

void gt_say_nothing(void)
{
	is_quiet = true;
}

bool gt_say_is_on(void)
{
	return !is_quiet;
}

void gt_say(const char *format, ...)
{
	char *line;
	va_list list;
	int length;

	if (is_quiet)
		return;
	va_start(list, format);
	length = vasprintf(&line, format, list);
	va_end(list);
	if (length < 0)
		return;
	gt_show_line(stderr, "gputrace: %s", line);
	free(line);
}
