/* SPDX-License-Identifier: Apache-2.0
 *
 * sandboxed ACTION WHEN END: installs a seccomp filter that permits what this program, the
 * simulated device and any program of the C library call, and has ACTION {kill, errno, trap, none}
 * for the rest, then works on, forks and ends by END {return, _exit}. WHEN: before the first CUDA
 * call (first), after some, for all threads (later), or on a thread that then makes its first call
 * (thread). Or, before the program starts (inherited): then ACTION is for rare calls alone.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/descriptors.h"
#include "tests/reliability/device.h"
#include "tests/reliability/sandbox.h"

/* For all threads, but not while the tracer opens its files: between its look at the filters and a
 * call that is not common, one may still come (docs/reliability.md). */
#define REST_US 300000

#define ROUNDS  50

static struct device device;
static uint32_t action;

/* Of this program and of the simulated device; none that the tracer does without. */
static const int own[] = {SYS_clock_nanosleep, SYS_wait4, SYS_ioctl, SYS_sched_yield};

static void install(unsigned int flags)
{
	if (action && sandbox_permit(action, own, sizeof(own) / sizeof(own[0]), flags)) {
		perror("seccomp");
		exit(77);
	}
}

/* As a sandbox that reports what broke out. */
static void on_sigsys(int number, siginfo_t *info, void *context)
{
	char text[] = "system call 000\n";

	for (int i = 0, call = info->si_syscall; i < 3; i++, call /= 10)
		text[sizeof(text) - 3 - (size_t)i] = (char)('0' + call % 10);
	if (write(2, text, sizeof(text) - 1) < 0)
		_exit(96);
	_exit(98);
}

static void work(void)
{
	for (int i = 0; i < ROUNDS; i++)
		one_round(&device);
	check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
}

static void *work_on_thread(void *restricted)
{
	if (restricted)
		install(0);
	check((int)cudaFree(NULL), "cudaFree");
	work();
	return NULL;
}

static void run_thread(void *restricted)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, work_on_thread, restricted), "pthread_create");
	check(pthread_join(thread, NULL), "pthread_join");
}

static void fork_and_wait(void)
{
	pid_t child = fork();
	int status = -1;

	if (!child)
		_exit(3);
	if (child > 0)
		waitpid(child, &status, 0);
	printf("child %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void start_restricted(char **argv)
{
	char none[] = "none", first[] = "first", *again[] = {argv[0], none, first, argv[3], NULL};

	if (sandbox_refuse(action, RARE, NULL, 0, 0))
		exit(77);
	execv(argv[0], again);
	exit(95);
}

static uint32_t action_of(const char *name)
{
	static const struct {
		const char *name;
		uint32_t action;
	} actions[] = {{"kill", SECCOMP_RET_KILL_PROCESS},
		       {"errno", SECCOMP_RET_ERRNO | EPERM},
		       {"trap", SECCOMP_RET_TRAP}};

	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (!strcmp(name, actions[i].name))
			return actions[i].action;
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction trap = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
	char first[64];
	int before, after;

	if (argc != 4)
		return 2;
	action = action_of(argv[1]);
	if (!strcmp(argv[2], "inherited"))
		start_restricted(argv);
	sigaction(SIGSYS, &trap, NULL);
	before = dup(0);
	close(before);
	if (!strcmp(argv[2], "first"))
		install(0);
	open_device(&device);
	work();
	if (!strcmp(argv[2], "later")) {
		usleep(REST_US);
		install(SECCOMP_FILTER_FLAG_TSYNC);
	}
	work();
	run_thread(strcmp(argv[2], "thread") ? NULL : first);
	run_thread(NULL);
	fork_and_wait();
	after = open("/dev/null", O_RDONLY);
	printf("the next descriptor is %s\n", after == before ? "the same" : "another one");
	fflush(stdout);
	if (!strcmp(argv[3], "_exit"))
		_exit(5);
	return 4;
}
