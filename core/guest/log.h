/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of the tracer on the program's stderr: one line, prefixed, by write(2), each message
 * once. Off the application's hot path; never stdio, never an allocation, no cancellation point.
 */
#ifndef GT_CORE_GUEST_LOG_H
#define GT_CORE_GUEST_LOG_H

/* What is printed on stderr. */
enum gt_log_level {
	GT_LOG_QUIET,   /* prints nothing */
	GT_LOG_NORMAL,  /* losses of data */
	GT_LOG_VERBOSE, /* what the tracer does */
};

/* Called once by the session. */
void gt_log_set_level(enum gt_log_level level);

/* Remembers the file of descriptor 2. Once the program has replaced it, maybe by a data file,
 * nothing is printed. Call it before the program runs; without it everything is printed. */
void gt_log_remember_stderr(void);

/* "gputrace: <text>\n". Supports %s %d %u %lu %lx %% only (own formatter, async-signal-safe).
 * errno is kept. Any thread. */
void gt_log_say(const char *format, ...) __attribute__((format(printf, 1, 2)));
void gt_log_verbose(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
