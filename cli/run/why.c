/* SPDX-License-Identifier: Apache-2.0
 *
 * See why.h.
 */
#include "cli/run/why.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/run/say.h"
#include "core/config.h"
#include "core/window/capture_plan.h"

static const struct {
	size_t flag; /* offset of the bool in struct gt_target */
	const char *sentence;
} obstacles[] = {
	{offsetof(struct gt_target, is_foreign),
	 "is for another processor or word size than this tracer"},
	{offsetof(struct gt_target, is_static),
	 "is statically linked: it loads no library but the CUDA driver's"},
	{offsetof(struct gt_target, is_musl), "uses the musl C library, the tracer needs glibc"},
	{offsetof(struct gt_target, is_privileged),
	 "is setuid or has capabilities: the loader drops LD_PRELOAD"},
	{offsetof(struct gt_target, has_sanitizer), "needs its sanitizer to be the first library"},
};

/* All obstacles that @target has; empty: none. */
static void list_obstacles(const struct gt_target *target, char *ret_text, size_t size)
{
	size_t n = 0;

	*ret_text = 0;
	for (size_t i = 0; i < sizeof(obstacles) / sizeof(obstacles[0]) && n < size; i++)
		if (*(const bool *)((const char *)target + obstacles[i].flag))
			n += (size_t)snprintf(ret_text + n, size - n, "%s%s %s", n ? "; " : "",
					      target->path, obstacles[i].sentence);
}

/* Prints that the disk is full, or that neither folder can be written. */
static bool say_folder(const struct gt_folder *folder)
{
	int error = gt_folder_try(folder->path);

	if (error == -ENOSPC || error == -EDQUOT || error == -EFBIG) {
		gt_say("no trace: '%s' does not take one: %s", folder->path, strerror(-error));
		return true;
	}
	if (!error || !gt_folder_try(folder->fallback))
		return false;
	gt_say("no trace: neither '%s' nor '%s' could be written: %s", folder->path,
	       folder->fallback, strerror(-error));
	return true;
}

/* Which ranges --schedule has taken for steps. */
static const char *missed_steps(void)
{
	static char line[2 * GT_CAPTURE_RANGE_NAME];
	const char *steps = getenv(gt_options[GT_CONFIG_STEP_RANGE].env);
	const char *hint = "";

	if (!steps || !*steps || !strcmp(steps, GT_CAPTURE_STEPS_FOUND)) {
		if (steps && *steps)
			hint = ": --step-range=" GT_CAPTURE_STEPS_FOUND
			       " finds steps only afterwards, name them";
		steps = "ProfilerStep#N";
	}
	snprintf(line, sizeof(line), " or began no step of --schedule (no range %.200s was seen%s)",
		 steps, hint);
	return line;
}

/* What may not have come, so that nothing was recorded. */
static const char *missed_window(void)
{
	const char *delay = getenv("GPUTRACE_DELAY"), *moment = getenv("GPUTRACE_START_AT");
	const char *range = getenv("GPUTRACE_CAPTURE_RANGE"), *wait = getenv("GPUTRACE_WAIT");
	const char *schedule = getenv("GPUTRACE_SCHEDULE"), *ranks = getenv("GPUTRACE_RANKS");

	if (range && *range)
		return " or began no range of --capture-range";
	if (schedule && *schedule)
		return missed_steps();
	if (wait && strcmp(wait, "no") != 0)
		return " or ended before gputrace start (--wait)";
	if ((delay && strcmp(delay, "0") != 0) || (moment && *moment))
		return " or ended before --delay or --start-at had passed";
	if (ranks && *ranks)
		return " or had no process with a rank of --ranks";
	return "";
}

/* The recorder writes nothing unless there is a reason. */
static bool say_recorder(void)
{
	const char *recorder = getenv("GPUTRACE_FLIGHT_RECORDER");

	if (!recorder || !*recorder || !strcmp(recorder, "off"))
		return false;
	gt_say("no dump in the output folder: if no line above says why, nothing asked "
	       "--flight-recorder for one, or "
	       "the program gave the GPU no work");
	return true;
}

/* Without a spool all that had not been written is gone with the process. */
static bool say_killed(const char *command, int wait_status)
{
	const char *spool = getenv("GPUTRACE_SPOOL");

	if (!WIFSIGNALED(wait_status) || !spool || strcmp(spool, "off") != 0)
		return false;
	gt_say("no trace: '%s' was killed (%s), and with --spool=off what it had not written is "
	       "lost",
	       command, strsignal(WTERMSIG(wait_status)));
	return true;
}

void gt_why_say(const struct gt_folder *folder, const char *command, const struct gt_target *target,
		int wait_status)
{
	char text[5 * (PATH_MAX + 80)];

	if (say_folder(folder))
		return;
	list_obstacles(target, text, sizeof(text));
	if (!*text && (say_killed(command, wait_status) || say_recorder()))
		return;
	if (*text)
		gt_say("no process loaded the tracer: %s", text);
	else
		gt_say("no trace: if no line above says why, '%s' gave the GPU no work%s, or sudo, "
		       "env -i, ssh or a container dropped LD_PRELOAD",
		       command, missed_window());
}
