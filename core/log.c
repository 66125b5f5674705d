/* SPDX-License-Identifier: Apache-2.0
 *
 * One line on stderr per message, see the header.
 */
#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "core/text.h"

static enum gt_log_level log_level = GT_LOG_NORMAL;

void gt_log_set_level(enum gt_log_level level)
{
	log_level = level;
}

static void say(const char *format, va_list args)
{
	char line[512];
	int saved = errno;
	size_t n = gt_text_format(line, sizeof(line) - 1, "gputrace: ");
	ssize_t done;

	n += gt_text_vformat(line + n, sizeof(line) - 1 - n, format, args);
	line[n++] = '\n';
	done = write(STDERR_FILENO, line, n);
	(void)done; /* nowhere to report that stderr is gone */
	errno = saved;
}

void gt_log_say(const char *format, ...)
{
	va_list args;

	if (log_level < GT_LOG_NORMAL)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}

void gt_log_verbose(const char *format, ...)
{
	va_list args;

	if (log_level < GT_LOG_VERBOSE)
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}
