/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends in the way named by its first argument, after some GPU work that has been flushed
 * ("cuda"), or without having called CUDA at all ("none"). For tests/targets/test_endings.py.
 */
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/gate.h"

#define SETS 50

static void *buffer;

static void use_cuda(int sets)
{
	if (!buffer && cudaMalloc(&buffer, 4096)) {
		fprintf(stderr, "no CUDA\n");
		exit(97);
	}
	for (int i = 0; i < sets; i++)
		cudaMemset(buffer, i, 256);
	cudaDeviceSynchronize();
}

static void *end_after_main(void *unused)
{
	(void)unused;
	usleep(100000);
	printf("thread ends the process\n");
	exit(5);
}

static void end_by_return(void)
{
}

static void end_by_exit(void)
{
	exit(3);
}

static void end_by__exit(void)
{
	fflush(stdout);
	_exit(4);
}

static void end_by__Exit(void)
{
	fflush(stdout);
	_Exit(13);
}

static void leave(int number)
{
	(void)number;
	_exit(12);
}

/* A signal handler ends the process, wherever the thread is. */
static void end_by_handler(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 30000}};

	fflush(stdout);
	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		cudaMemset(buffer, 0, 16);
}

/* A child that shares our memory ends; the parent continues. */
static void end_by_vfork(void)
{
	fflush(stdout);
	for (int i = 0; i < 3; i++) {
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	use_cuda(SETS);
}

static void end_by_quick_exit(void)
{
	fflush(stdout);
	quick_exit(6);
}

static void end_by_abort(void)
{
	fflush(stdout);
	abort();
}

static void end_by_sigterm(void)
{
	fflush(stdout);
	raise(SIGTERM);
}

static void end_by_sigkill(void)
{
	fflush(stdout);
	raise(SIGKILL);
}

static void end_by_sigsegv(void)
{
	fflush(stdout);
	raise(SIGSEGV);
}

static void end_by_exec(void)
{
	fflush(stdout);
	execlp("sh", "sh", "-c", "echo after exec; exit 8", (char *)NULL);
}

static void *return_after_main(void *unused)
{
	usleep(100000);
	printf("the last thread returns\n");
	return unused;
}

static void end_by_last_return(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, return_after_main, NULL);
	pthread_detach(thread);
	pthread_exit(NULL);
}

#define FIRST_CALLERS 40

static pthread_barrier_t all_there;

static void *make_first_calls(void *unused)
{
	void *own = NULL;

	pthread_barrier_wait(&all_there);
	cudaMalloc(&own, 256);
	cudaMemset(own, 1, 256);
	cudaMemset(own, 2, 256);
	return unused;
}

/* Many threads use CUDA for the first time at once. */
static void end_by_first_calls(void)
{
	pthread_t threads[FIRST_CALLERS];

	pthread_barrier_init(&all_there, NULL, FIRST_CALLERS);
	for (int i = 0; i < FIRST_CALLERS; i++)
		pthread_create(&threads[i], NULL, make_first_calls, NULL);
	for (int i = 0; i < FIRST_CALLERS; i++)
		pthread_join(threads[i], NULL);
	cudaDeviceSynchronize();
	exit(12);
}

static void end_by_main_pthread_exit(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, end_after_main, NULL);
	pthread_exit(NULL);
}

static void end_by_system_call(void)
{
	syscall(SYS_exit, 6);
}

static void end_by_device_reset(void)
{
	cudaDeviceReset();
	buffer = NULL;
	use_cuda(SETS);
	exit(9);
}

static void end_by_reset_first(void)
{
	cudaDeviceReset();
	use_cuda(SETS);
	exit(10);
}

/* Forked children end in every possible way; the parent continues. */
static void end_by_fork(void)
{
	for (int i = 0; i < 3; i++) {
		int status;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (child == 0) {
			if (i == 0)
				exit(0);
			if (i == 1)
				_exit(0);
			execlp("true", "true", (char *)NULL);
			_exit(1);
		}
		waitpid(child, &status, 0);
		printf("child %d ended with %d\n", i, status);
	}
	use_cuda(SETS);
}

static void *call_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		cudaGetLastError();
	return NULL;
}

/* Exits while two threads call the cheapest function. */
static void end_by_exit_among_callers(void)
{
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, call_for_ever, NULL);
	usleep(20000);
	exit(11);
}

/* Prints the processors of thread @task if it is the tracer's. */
static int report_processors(const char *task, const cpu_set_t *all)
{
	char path[300], line[256] = "";
	cpu_set_t its;
	FILE *comm;

	snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task);
	comm = fopen(path, "r");
	if (!comm)
		return 0;
	if (!fgets(line, sizeof(line), comm))
		line[0] = 0;
	fclose(comm);
	if (strcmp(line, "gputrace-w\n") || sched_getaffinity(atoi(task), sizeof(its), &its))
		return 0;
	printf("the tracer's thread has %s\n",
	       CPU_EQUAL(&its, all) ? "all processors" : "one processor");
	return 1;
}

/* The main thread is pinned to one processor, as by OpenMP's runtime; the tracer's must not be. */
static void end_by_pinned(void)
{
	struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	cpu_set_t one, all;
	int reported = 0;

	sched_getaffinity(0, sizeof(all), &all);
	CPU_ZERO(&one);
	for (int i = CPU_SETSIZE - 1; CPU_COUNT(&one) == 0; i--)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof(one), &one);
	use_cuda(SETS);
	for (int i = 0; i < 200 && !reported;
	     i++, usleep(10000), rewinddir(tasks)) /* until it has set its name */
		while ((entry = readdir(tasks)))
			reported |= report_processors(entry->d_name, &all);
	exit(0);
}

/* A child whose driver enters the tracer again. */
static void end_by_fork_again(void)
{
	int (*inject)(void);
	cudaStream_t stream;
	cudaEvent_t event;

	fflush(stdout);
	if (fork() == 0) {
		*(void **)&inject = dlsym(RTLD_DEFAULT, "InitializeInjection");
		inject();
		cudaStreamCreate(&stream);
		cudaEventCreate(&event);
		cudaFree(buffer);
		cudaMalloc(&buffer, 64);
		exit(0);
	}
	wait(NULL);
}

static const struct {
	const char *name;
	void (*end)(void);
} ways[] = {
	{"return", end_by_return},
	{"exit", end_by_exit},
	{"_exit", end_by__exit},
	{"_Exit", end_by__Exit},
	{"handler", end_by_handler},
	{"vfork", end_by_vfork},
	{"quick_exit", end_by_quick_exit},
	{"abort", end_by_abort},
	{"sigterm", end_by_sigterm},
	{"sigkill", end_by_sigkill},
	{"sigsegv", end_by_sigsegv},
	{"exec", end_by_exec},
	{"main_pthread_exit", end_by_main_pthread_exit},
	{"system_call", end_by_system_call},
	{"last_return", end_by_last_return},
	{"first_calls", end_by_first_calls},
	{"device_reset", end_by_device_reset},
	{"reset_first", end_by_reset_first},
	{"fork", end_by_fork},
	{"pinned", end_by_pinned},
	{"fork_again", end_by_fork_again},
	{"exit_among_callers", end_by_exit_among_callers},
};

int main(int argc, char **argv)
{
	int with_cuda = argc > 2 && !strcmp(argv[2], "cuda");

	note_descriptors();
	if (with_cuda) {
		use_cuda(SETS);
		wait_at_gate(1); /* until it is in the file, where it must stay */
	}
	printf("about to end\n");
	print_descriptors();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (argc > 1 && !strcmp(argv[1], ways[i].name))
			ways[i].end();
	}
	printf("returning\n");
	return 0;
}
