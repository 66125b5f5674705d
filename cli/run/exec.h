/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program in the foreground as if this process were not there: same terminal, same process
 * group, same standard streams; signals sent to this process reach it; a stop stops both. The part
 * of `gputrace run` that a shell cannot do: a shell's background job has /dev/null for stdin and
 * ignores SIGINT, and while a foreground job runs a shell does not act on signals. Main thread of a
 * single-threaded program only.
 */
#ifndef GT_CLI_RUN_EXEC_H
#define GT_CLI_RUN_EXEC_H

#include <signal.h>
#include <stdbool.h>
#include <sys/time.h>
#include <sys/types.h>

/* How the program ended. */
struct gt_exec {
	pid_t child;
	int wait_status;  /* as waitpid gives it; valid when started */
	int error;        /* errno of execvp, 0: started */
	int death_signal; /* PR_GET_PDEATHSIG of this process */
	sigset_t old_mask;
	struct sigaction old_child_action;
	struct itimerval
		timers[ITIMER_PROF + 1]; /* the program's, by ITIMER_*, set before its start */
};

/*
 * Opens standard streams that are closed on /dev/null, so that no file of this process gets their
 * numbers. In the program they are closed again. To be called before any file is opened.
 */
void gt_exec_reserve_streams(void);

/*
 * Starts @argv (found through PATH) with the strings of @environment ("NAME=VALUE",
 * NULL-terminated) added to the environment, and waits for its end. Returns 0 with ret_exec->error
 * set when there is no such program, negative errno when no process could be made. All signals stay
 * blocked until gt_exec_end.
 */
int gt_exec_run(char *const *argv, char *const *environment, struct gt_exec *ret_exec);

/* Ends this process as the program ended: its exit status, or its signal (without a core file of
 * our own); 127 or 126 when it could not be started. Does not return. */
_Noreturn void gt_exec_end(const struct gt_exec *exec);

#endif
