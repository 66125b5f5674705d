/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches, then crashes:  crash HOW [HANDLER]
 *
 * HOW
 *   segv, bus, fpe, ill, abort   by that signal
 *   sent      by SIGSEGV from kill()
 *   synced    segv after all GPU work has finished
 *   often     segv, 40 times instead of 5 if the program continues
 *   all       two threads at once
 *   ticked    the same while both get other signals, as from a profiler
 *   busy      segv while another thread makes calls all the time
 *   null      a call through a null pointer
 *   over      a stack overflow
 *   thread    a stack overflow on another thread
 * HANDLER
 *   none      the default action
 *   exit      prints a line and exits with 7
 *   later     the same, set after the first use of CUDA
 *   onstack   the same with SA_ONSTACK, although there is no signal stack
 *   own       the same with a signal stack made after the first use of CUDA
 *   jump      continues, up to 5 times
 *   ignore    the signal is ignored
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/reliability/device.h"

#define ROUNDS 100

static sigjmp_buf back;
static const char *how;

static void leave(int number, siginfo_t *info, void *context)
{
	char line[] = "handler: signal 00, address 0\n";

	(void)context;
	line[16] = (char)('0' + number / 10);
	line[17] = (char)('0' + number % 10);
	line[28] = info->si_addr == (void *)8 ? '8' : '0';
	_exit(write(1, line, sizeof(line) - 1) > 0 ? 7 : 8);
}

static void jump(int number)
{
	siglongjmp(back, number);
}

static void set_handler(const char *what)
{
	static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	bool on_stack = !strcmp(what, "onstack") || !strcmp(what, "own");
	struct sigaction action = {.sa_flags = SA_SIGINFO | (on_stack ? SA_ONSTACK : 0)};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		action.sa_sigaction = leave;
		if (!strcmp(what, "exit") || !strcmp(what, "later") || on_stack)
			sigaction(numbers[i], &action, NULL);
		else if (!strcmp(what, "jump"))
			signal(numbers[i], jump);
		else if (!strcmp(what, "ignore"))
			signal(numbers[i], SIG_IGN);
	}
}

static volatile uintptr_t nowhere = 8; /* volatile: unknown to the compiler */

__attribute__((noinline)) static void *touch(void *address)
{
	return (void *)(uintptr_t) * (volatile int *)address;
}

__attribute__((noinline)) static int run_over(int depth)
{
	volatile char room[512];

	room[0] = (char)depth;
	return nowhere ? run_over(depth + 1) + room[0] : 0;
}

/* Overflows the stack of a thread that has used CUDA. */
static void *run_over_there(void *unused)
{
	check((int)cudaFree(NULL), "cudaFree");
	return (void *)(intptr_t)run_over((int)(intptr_t)unused);
}

static void *come_and_go(void *unused)
{
	check((int)cudaFree(unused), "cudaFree");
	return NULL;
}

/* Runs short-lived threads first: their signal stacks are reused. */
static void run_over_on_thread(void)
{
	pthread_t thread;

	for (int i = 0; i < 20; i++)
		if (!pthread_create(&thread, NULL, come_and_go, NULL))
			pthread_join(thread, NULL);
	if (!pthread_create(&thread, NULL, run_over_there, NULL))
		pthread_join(thread, NULL);
}

static void make_signal_stack(void)
{
	static char memory[64 << 10];
	stack_t stack = {.ss_sp = memory, .ss_size = sizeof(memory)};

	sigaltstack(&stack, NULL);
}

static pthread_t broken[2];
static _Atomic bool ticking;

static void on_tick(int number)
{
	(void)number;
}

static void *tick(void *unused)
{
	(void)unused;
	for (;;) {
		for (int i = 0; i < 2; i++)
			check(pthread_kill(broken[i], SIGUSR1), "pthread_kill");
		ticking = true;
		usleep(100);
	}
	return NULL;
}

static void *touch_when_ticking(void *address)
{
	while (!ticking)
		;
	return touch(address);
}

static void break_ticked(void)
{
	pthread_t ticker;

	signal(SIGUSR1, on_tick);
	broken[0] = pthread_self();
	check(pthread_create(&broken[1], NULL, touch_when_ticking, (void *)nowhere),
	      "pthread_create");
	check(pthread_create(&ticker, NULL, tick, NULL), "pthread_create");
	touch_when_ticking((void *)nowhere);
}

static _Atomic int begun;

static void *call_on(void *argument)
{
	struct device *device = argument;

	check((int)cudaFree(NULL), "cudaFree");
	while (begun >= 0) {
		check((int)cudaMemsetAsync(device->data, 0, 64, device->stream), "cudaMemsetAsync");
		begun = 1;
	}
	return NULL;
}

static void call_beside(struct device *device)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, call_on, device), "pthread_create");
	while (!begun)
		usleep(1000);
}

__attribute__((noinline)) static void break_here(void)
{
	void (*volatile no_function)(void) = NULL;
	volatile int zero = 0;
	pthread_t other;

	if (!strcmp(how, "segv") || !strcmp(how, "synced") || !strcmp(how, "often") ||
	    !strcmp(how, "busy"))
		touch((void *)nowhere);
	else if (!strcmp(how, "bus"))
		touch(mmap(NULL, 4096, PROT_READ, MAP_SHARED, open("/proc/self/exe", O_RDONLY),
			   1 << 30));
	else if (!strcmp(how, "fpe"))
		exit(1000 / zero); /* 1 / zero would be compiled to a comparison */
	else if (!strcmp(how, "null"))
		no_function();
	else if (!strcmp(how, "over"))
		run_over(0);
	else if (!strcmp(how, "thread"))
		run_over_on_thread();
	else if (!strcmp(how, "ill"))
		__builtin_trap();
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "sent"))
		kill(getpid(), SIGSEGV);
	else if (!strcmp(how, "ticked"))
		break_ticked();
	else if (!strcmp(how, "all") && !pthread_create(&other, NULL, touch, (void *)nowhere))
		touch((void *)nowhere);
	__asm__ volatile(""); /* prevents tail calls */
}

int main(int argc, char **argv)
{
	const char *handler = argc > 2 ? argv[2] : "none";
	volatile int times = 0;
	struct device device;

	note_descriptors();
	how = argc > 1 ? argv[1] : "segv";
	if (strcmp(handler, "later") != 0)
		set_handler(handler);
	open_device(&device);
	if (!strcmp(handler, "later"))
		set_handler(handler);
	if (!strcmp(handler, "own"))
		make_signal_stack();
	for (int i = 0; i < ROUNDS / 2; i++)
		one_round(&device);
	print_descriptors();
	for (int i = 0; i < ROUNDS / 2; i++)
		one_round(&device);
	if (!strcmp(how, "synced"))
		check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	if (!strcmp(how, "busy"))
		call_beside(&device);
	sigsetjmp(back, 1);
	if (times++ < (strcmp(how, "often") ? 5 : 40))
		break_here();
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return 3;
}
