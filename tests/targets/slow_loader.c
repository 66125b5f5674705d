/* SPDX-License-Identifier: Apache-2.0
 *
 * A program whose GPU waits for the host: burn_cpu() runs, wait_for_disk() sleeps, both static and
 * called from load_batch(). Prints what a sampler must not change.
 *
 *   slow_loader STEPS BURN-US SLEEP-US [own | late | mask | small | coroutine]...
 *
 *   own     has a handler for SIGURG before CUDA is used
 *   late    installs one in the middle
 *   mask    blocks SIGURG
 *   small   launches and burns on a thread with a small stack
 *   coroutine  burns and sleeps on a stack of its own
 *
 * Prints "eintr N" (sleeps that were interrupted), "urgent N" (SIGURGs that its own handler got).
 */
#include <cuda_runtime_api.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* Functions keep their names: no clones. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif
#define STACK (32u << 10)

static unsigned long interrupted;
static volatile sig_atomic_t urgent;
static int steps, burn_us, sleep_us;
static bool late, coroutine;
static float *data;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static NOINLINE double burn_cpu(void)
{
	double until = now() + burn_us / 1e6, sum = 0;

	for (double t = now(); t < until; t = now())
		for (int i = 1; i < 200; i++)
			sum += 1.0 / (i + sum);
	return sum;
}

/* Counts interruptions by signals: an interrupted call is not repeated. */
static NOINLINE int wait_for_disk(void)
{
	struct timespec wait = {.tv_nsec = sleep_us * 1000L};
	int result = nanosleep(&wait, NULL);

	interrupted += result != 0;
	__asm__ volatile("" ::: "memory");
	return result;
}

static NOINLINE double load_batch(void)
{
	double sum = sleep_us ? wait_for_disk() : 0;

	sum += burn_us ? burn_cpu() : 0;
	__asm__ volatile("" ::: "memory");
	return sum;
}

static ucontext_t outside, inside;

static void load_inside(void)
{
	for (;;) {
		load_batch();
		swapcontext(&inside, &outside);
	}
}

/* As load_batch, on a stack of 32 KiB between guard pages. */
static void load_on_own_stack(void)
{
	static char *memory;

	if (!memory) {
		memory = mmap(NULL, STACK + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mprotect(memory + 4096, STACK, PROT_READ | PROT_WRITE);
		getcontext(&inside);
		inside.uc_stack.ss_sp = memory + 4096;
		inside.uc_stack.ss_size = STACK;
		makecontext(&inside, load_inside, 0);
	}
	swapcontext(&outside, &inside);
}

static void on_urgent(int signal)
{
	urgent++;
}

static void handle_urgent(void)
{
	struct sigaction action = {.sa_handler = on_urgent};

	sigaction(SIGURG, &action, NULL);
}

static void *train(void *unused)
{
	for (int i = 0; i < steps; i++) {
		if (late && i == steps / 2)
			handle_urgent();
		cudaMemsetAsync(data, i, 1024, NULL);
		cudaStreamSynchronize(NULL);
		if (coroutine)
			load_on_own_stack();
		else
			load_batch();
	}
	cudaMemsetAsync(data, 0, 1024, NULL);
	cudaStreamSynchronize(NULL);
	return NULL;
}

static void train_on_small_stack(void)
{
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64u << 10);
	pthread_create(&thread, &attributes, train, NULL);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	bool small = false;
	sigset_t set;

	if (argc < 4)
		return 2;
	steps = atoi(argv[1]);
	burn_us = atoi(argv[2]);
	sleep_us = atoi(argv[3]);
	sigemptyset(&set);
	for (int i = 4; i < argc; i++) {
		if (!strcmp(argv[i], "own"))
			handle_urgent();
		late |= !strcmp(argv[i], "late");
		coroutine |= !strcmp(argv[i], "coroutine");
		small |= !strcmp(argv[i], "small");
		if (!strcmp(argv[i], "mask"))
			sigaddset(&set, SIGURG);
	}
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (cudaMalloc((void **)&data, 1024))
		return 1;
	if (small)
		train_on_small_stack();
	else
		train(NULL);
	printf("eintr %lu\nurgent %d\n", interrupted, (int)urgent);
	return 0;
}
