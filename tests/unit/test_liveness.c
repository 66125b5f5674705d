/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a process is alive, dying or gone: a fake /proc for each state, and a real process whose
 * first thread has ended.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recover/liveness.h"
#include "recover/writer_of.h"

#define PID   77
#define ALIVE "VmSize:\t    6000 kB\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n"

static char proc[] = "/tmp/gputrace-life-XXXXXX";

static void setup(void)
{
	cr_assert_not_null(mkdtemp(proc));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", proc);
	cr_assert_eq(system(command), 0);
}

TestSuite(life, .init = setup, .fini = teardown);

/* A thread of PID with this status. */
static void write_thread(int thread, const char *status)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "mkdir -p %s/%d/task/%d", proc, PID, thread);
	cr_assert_eq(system(path), 0);
	snprintf(path, sizeof(path), "%s/%d/task/%d/status", proc, PID, thread);
	file = fopen(path, "w");
	cr_assert(file && fputs(status, file) >= 0 && fclose(file) == 0);
}

Test(life, of_one_thread)
{
	static const struct {
		const char *status;
		enum gt_liveness life;
	} cases[] = {
		{"State:\tR (running)\n" ALIVE, GT_LIVENESS_ALIVE},
		{"State:\tT (stopped)\n" ALIVE, GT_LIVENESS_ALIVE},
		{"State:\tZ (zombie)\nShdPnd:\t0000000000000100\n", GT_LIVENESS_ENDED},
		{"State:\tX (dead)\n", GT_LIVENESS_ENDED},
		/* its memory is gone, its files may not be */
		{"State:\tD (disk sleep)\nSigPnd:\t0000000000000000\n", GT_LIVENESS_DYING},
		/* killed, before it noticed */
		{"State:\tR (running)\nVmSize:\t 6000 kB\nShdPnd:\t0000000000000100\n",
		 GT_LIVENESS_DYING},
		{"State:\tR (running)\nVmSize:\t 6000 kB\nSigPnd:\t0000000000004100\n",
		 GT_LIVENESS_DYING},
		/* SIGTERM is pending: it may be blocked for ever */
		{"State:\tR (running)\nVmSize:\t 6000 kB\nSigPnd:\t0000000000004000\n",
		 GT_LIVENESS_ALIVE},
	};

	cr_assert_eq(gt_liveness_of(proc, PID), GT_LIVENESS_ENDED);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		write_thread(PID, cases[i].status);
		cr_assert_eq(gt_liveness_of(proc, PID), cases[i].life, "%s", cases[i].status);
	}
}

Test(life, a_thread_of_the_kernel_is_no_process)
{
	char path[256];
	FILE *file;

	write_thread(PID, "State:\tS (sleeping)\nSigPnd:\t0000000000000000\n");
	cr_assert_eq(gt_liveness_of(proc, PID), GT_LIVENESS_DYING);
	snprintf(path, sizeof(path), "%s/%d/stat", proc, PID);
	file = fopen(path, "w");
	cr_assert(file && fputs("77 (a) b) S 0 0 0 0 -1 2129984 0 0 0\n", file) >= 0 &&
		  !fclose(file));
	cr_assert_eq(gt_liveness_of(proc, PID), GT_LIVENESS_ENDED);
}

Test(life, lasts_as_long_as_a_thread)
{
	write_thread(PID, "State:\tZ (zombie)\n");
	write_thread(PID + 1, "State:\tS (sleeping)\n" ALIVE);
	cr_assert_eq(gt_liveness_of(proc, PID), GT_LIVENESS_ALIVE);
	write_thread(PID + 1, "State:\tR (running)\n");
	cr_assert_eq(gt_liveness_of(proc, PID), GT_LIVENESS_DYING);
	write_thread(PID + 1, "State:\tZ (zombie)\n");
	cr_assert_eq(gt_liveness_of(proc, PID), GT_LIVENESS_ENDED);
}

Test(life, stands_still_as_long_as_a_thread)
{
	cr_assert_not(gt_liveness_is_stopped(proc, PID));
	write_thread(PID, "State:\tZ (zombie)\n");
	write_thread(PID + 1, "State:\tS (sleeping)\n" ALIVE);
	cr_assert_not(gt_liveness_is_stopped(proc, PID));
	write_thread(PID + 1, "State:\tT (stopped)\n" ALIVE);
	cr_assert(gt_liveness_is_stopped(proc, PID));
	write_thread(PID + 1, "State:\tt (tracing stop)\n" ALIVE);
	cr_assert(gt_liveness_is_stopped(proc, PID));
}

static void *end_it(void *data)
{
	(void)data;
	write_thread(PID, "State:\tZ (zombie)\n");
	return NULL;
}

Test(life, is_waited_for)
{
	int patience = 100, long_patience = 600000;
	pthread_t thread;

	write_thread(PID, "State:\tS (sleeping)\n" ALIVE);
	cr_assert(gt_liveness_wait(proc, PID, &patience));
	cr_assert_eq(patience, 100);
	write_thread(PID, "State:\tR (running)\n");
	cr_assert(gt_liveness_wait(proc, PID, &patience));
	cr_assert_eq(patience, 0);
	cr_assert_eq(pthread_create(&thread, NULL, end_it, NULL), 0);
	cr_assert_not(gt_liveness_wait(proc, PID, &long_patience));
	cr_assert_eq(pthread_join(thread, NULL), 0);
}

static void *stay(void *data)
{
	(void)data;
	for (;;)
		pause();
	return NULL;
}

/* A process with @path open that continues after its first thread has ended. */
static pid_t start_headless(const char *path)
{
	pid_t pid = fork();
	pthread_t thread;

	if (pid)
		return pid;
	if (open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) < 0 ||
	    pthread_create(&thread, NULL, stay, NULL))
		_exit(1);
	syscall(SYS_exit, 0);
	_exit(1);
}

/* The state letter after the command name. */
static char state_of(pid_t pid)
{
	char path[64], text[512] = "", *end;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "r");
	cr_assert(file && fgets(text, sizeof(text), file));
	fclose(file);
	end = strrchr(text, ')');
	return end ? end[2] : 0;
}

Test(life, without_the_first_thread)
{
	char path[64];
	pid_t pid;

	snprintf(path, sizeof(path), "%s/trace", proc);
	pid = start_headless(path);
	cr_assert_gt(pid, 0);
	while (state_of(pid) != 'Z')
		usleep(1000);
	cr_assert(gt_writer_is_alive(path, pid));
	kill(pid, SIGKILL);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	cr_assert_not(gt_writer_is_alive(path, pid));
	cr_assert_not(gt_process_is_alive(pid));
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}
