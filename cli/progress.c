/* SPDX-License-Identifier: Apache-2.0
 *
 * See progress.h. A thread of its own draws, so that the work needs no places where it looks up.
 */
#include "cli/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define FIRST_MS 1000 /* what is done sooner needs no line */
#define NEXT_MS  200
#define ERASE    "\r\033[K"

static struct {
	pthread_mutex_t lock;
	pthread_cond_t stopped;
	pthread_t thread;
	struct timespec start;
	bool running, ending, drawn;
} shown = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double seconds_since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

void gt_progress_print(const struct gt_progress *now, double seconds, char *out, size_t size)
{
	double done = (double)now->done / 1e6, total = (double)now->total / 1e6;
	double rate = seconds > 0 ? done / seconds : 0;

	if (now->total && now->done <= now->total)
		snprintf(out, size, "%s %.0f %%, %.1f of %.1f MB, %.0f MB/s", now->what,
			 done * 100 / total, done, total, rate);
	else if (now->done)
		snprintf(out, size, "%s %.1f MB, %.0f MB/s", now->what, done, rate);
	else
		snprintf(out, size, "%s, %.0f s", now->what, seconds);
}

/* One write, cut at the width of the terminal: a line that wraps could not be taken away. */
static void draw(void)
{
	struct gt_progress now = gt_progress_now();
	struct winsize window = {0};
	char text[160], line[192];
	int width = 80;

	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &window) && window.ws_col)
		width = window.ws_col;
	gt_progress_print(&now, seconds_since(&shown.start), text, sizeof(text));
	snprintf(line, sizeof(line), "%sgputrace: %.*s", ERASE, width > 12 ? width - 11 : 0, text);
	fputs(line, stderr);
	shown.drawn = true;
}

static void erase(void)
{
	if (shown.drawn)
		fputs(ERASE, stderr);
	shown.drawn = false;
}

static struct timespec in_ms(long ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_nsec += ms * 1000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	return at;
}

static void *work(void *data)
{
	long pause = FIRST_MS;

	pthread_mutex_lock(&shown.lock);
	while (!shown.ending) {
		struct timespec until = in_ms(pause);
		int rc = 0;

		while (!shown.ending && !rc)
			rc = pthread_cond_timedwait(&shown.stopped, &shown.lock, &until);
		if (!shown.ending)
			draw();
		pause = NEXT_MS;
	}
	erase();
	pthread_mutex_unlock(&shown.lock);
	return data;
}

static bool is_wanted(void)
{
	const char *quiet = getenv("GPUTRACE_QUIET"), *term = getenv("TERM");

	return isatty(STDERR_FILENO) && (!quiet || !*quiet || !strcmp(quiet, "no")) &&
	       (!term || strcmp(term, "dumb"));
}

void gt_progress_start(const char *what)
{
	pthread_condattr_t monotonic;
	sigset_t all, before;

	gt_progress_begin(what);
	if (shown.running || !is_wanted())
		return;
	clock_gettime(CLOCK_MONOTONIC, &shown.start);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&shown.stopped, &monotonic);
	pthread_condattr_destroy(&monotonic);
	shown.ending = false;
	sigfillset(&all); /* signals are the main thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	shown.running = !pthread_create(&shown.thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gt_progress_stop(void)
{
	if (!shown.running)
		return;
	pthread_mutex_lock(&shown.lock);
	shown.ending = true;
	pthread_cond_signal(&shown.stopped);
	pthread_mutex_unlock(&shown.lock);
	pthread_join(shown.thread, NULL);
	pthread_cond_destroy(&shown.stopped);
	shown.running = false;
}

void gt_progress_hide(void)
{
	pthread_mutex_lock(&shown.lock);
	erase();
	pthread_mutex_unlock(&shown.lock);
}
