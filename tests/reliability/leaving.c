/* SPDX-License-Identifier: Apache-2.0
 *
 * leaving HOW THREADS PAUSE: threads launch without end, PAUSE microseconds apart; when each has
 * made ROUNDS rounds, the process ends in the way HOW. Prints how many rounds it saw, and when it
 * began to leave (CLOCK_MONOTONIC ns). For tests/reliability/test_leaving.py and
 * tests/bench/exit_time.py.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/reliability/device.h"

#define ROUNDS      50
#define MAX_THREADS 16

static struct device device;
static _Atomic uint64_t rounds[MAX_THREADS];
static useconds_t pause_us;
static int thread_count;

/* At the end the driver goes while the threads are still there: then it refuses. */
static bool try_round(void)
{
	static char host[BYTES];
	void *arguments[] = {&device.data};

	return !cuLaunchKernel(device.kernel, 4, 1, 1, 64, 1, 1, 0, device.stream, arguments,
			       NULL) &&
	       !cudaMemsetAsync(device.data, 1, 256, device.stream) &&
	       !cudaMemcpyAsync(device.data, host, 1024, cudaMemcpyHostToDevice, device.stream);
}

static void *launch_for_ever(void *count)
{
	_Atomic uint64_t *own = count;

	check((int)cudaFree(NULL), "cudaFree"); /* gives the thread its context */
	for (;;) {
		if (try_round())
			atomic_fetch_add(own, 1);
		if (pause_us)
			usleep(pause_us);
	}
	return NULL;
}

static void wait_for_rounds(void)
{
	for (int i = 0; i < thread_count; i++)
		while (atomic_load(&rounds[i]) < ROUNDS)
			usleep(1000);
}

static void say_when(void)
{
	struct timespec now;
	uint64_t all = 0;

	for (int i = 0; i < thread_count; i++)
		all += atomic_load(&rounds[i]);
	clock_gettime(CLOCK_MONOTONIC, &now);
	printf("leaving at %llu after %llu rounds\n",
	       (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec,
	       (unsigned long long)all);
	fflush(stdout);
}

static void by_return(void)
{
}

static void by_exit(void)
{
	exit(3);
}

static void by__exit(void)
{
	_exit(4);
}

static void by_quick_exit(void)
{
	quick_exit(5);
}

static void *exit_here(void *unused)
{
	exit(6);
	return unused;
}

static void by_thread(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, exit_here, NULL), "pthread_create");
	pause();
}

/* Registered after CUDA was started, so that it runs before the file is closed. */
static void launch_at_exit(void)
{
	printf("at exit it could %slaunch\n", try_round() ? "" : "not ");
}

static void by_handler(void)
{
	atexit(launch_at_exit);
	exit(7);
}

static const struct {
	const char *name;
	void (*leave)(void);
} ways[] = {
	{"return", by_return},         {"exit", by_exit},     {"_exit", by__exit},
	{"quick_exit", by_quick_exit}, {"thread", by_thread}, {"handler", by_handler},
};

/* Runs after the handlers: the file is closed, the calls must still work. */
__attribute__((destructor)) static void launch_at_unload(void)
{
	if (device.data)
		try_round();
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 4)
		return 2;
	note_descriptors();
	thread_count = atoi(argv[2]) < MAX_THREADS ? atoi(argv[2]) : MAX_THREADS;
	pause_us = (useconds_t)atoi(argv[3]);
	open_device(&device);
	for (int i = 0; i < thread_count; i++) {
		check(pthread_create(&thread, NULL, launch_for_ever, &rounds[i]), "pthread_create");
		pthread_detach(thread);
	}
	wait_for_rounds();
	print_descriptors();
	say_when();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			ways[i].leave();
	return 0;
}
