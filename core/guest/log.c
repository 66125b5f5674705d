/* SPDX-License-Identifier: Apache-2.0
 *
 * One line on stderr per message, see the header.
 */
#include "core/guest/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/guest/sys.h"
#include "core/guest/text.h"
#include "core/guest/write_signals.h"

static enum gt_log_level log_level = GT_LOG_NORMAL;

static struct {
	bool is_known, was_open;
	dev_t device;
	ino_t inode;
} first_stderr;

void gt_log_remember_stderr(void)
{
	struct stat now = {0};

	first_stderr.was_open = gt_sys_fstat(STDERR_FILENO, &now) == 0;
	first_stderr.device = now.st_dev;
	first_stderr.inode = now.st_ino;
	first_stderr.is_known = true;
}

static bool is_first_stderr(void)
{
	struct stat now;

	return !first_stderr.is_known ||
	       (first_stderr.was_open && gt_sys_fstat(STDERR_FILENO, &now) == 0 &&
		now.st_dev == first_stderr.device && now.st_ino == first_stderr.inode);
}

void gt_log_set_level(enum gt_log_level level)
{
	log_level = level;
}

/* A failed write has nowhere to be reported, and must not reach the program. */
static void write_line(const char *line, size_t length)
{
	struct gt_write_signals before;
	bool failed;

	gt_write_signals_block(&before);
	failed = syscall(SYS_write, STDERR_FILENO, line, length) < 0;
	gt_write_signals_restore(&before, failed);
}

static void print_message(const char *format, va_list args)
{
	char line[512];
	int saved = errno;
	size_t n = gt_text_format(line, sizeof(line) - 1, "gputrace: ");

	n += gt_text_vformat(line + n, sizeof(line) - 1 - n, format, args);
	gt_text_clean(line, n, '?'); /* paths and values come from outside */
	line[n++] = '\n';
	if (is_first_stderr())
		write_line(line, n);
	errno = saved;
}

void gt_log_say(const char *format, ...)
{
	va_list args;

	if (log_level < GT_LOG_NORMAL)
		return;
	va_start(args, format);
	print_message(format, args);
	va_end(args);
}

void gt_log_verbose(const char *format, ...)
{
	va_list args;

	if (log_level < GT_LOG_VERBOSE)
		return;
	va_start(args, format);
	print_message(format, args);
	va_end(args);
}
