/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches, then breaks:  crash HOW [HANDLER]
 *
 *   HOW      segv, bus, fpe, ill: a fault; abort; sent: SIGSEGV from outside; all: two threads at once
 *   HANDLER  none; exit: a handler that says so and leaves with 7; jump: one that goes on, 5 times;
 *            ignore: the signal is ignored; later: the handler is set after the first use of CUDA
 */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
	struct sigaction action = {.sa_flags = SA_SIGINFO};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		action.sa_sigaction = leave;
		if (!strcmp(what, "exit") || !strcmp(what, "later"))
			sigaction(numbers[i], &action, NULL);
		else if (!strcmp(what, "jump"))
			signal(numbers[i], jump);
		else if (!strcmp(what, "ignore"))
			signal(numbers[i], SIG_IGN);
	}
}

static volatile uintptr_t nowhere = 8; /* or the compiler sees what it is */

static void *touch(void *address)
{
	return (void *)(uintptr_t) * (volatile int *)address;
}

static void break_here(void)
{
	volatile int zero = 0;
	pthread_t other;

	if (!strcmp(how, "segv"))
		touch((void *)nowhere);
	else if (!strcmp(how, "bus"))
		touch(mmap(NULL, 4096, PROT_READ, MAP_SHARED, open("/proc/self/exe", O_RDONLY),
			   1 << 30));
	else if (!strcmp(how, "fpe"))
		exit(1000 / zero); /* of 1 the compiler makes a comparison */
	else if (!strcmp(how, "ill"))
		__builtin_trap();
	else if (!strcmp(how, "abort"))
		abort();
	else if (!strcmp(how, "sent"))
		kill(getpid(), SIGSEGV);
	else if (!strcmp(how, "all") && !pthread_create(&other, NULL, touch, (void *)nowhere))
		touch((void *)nowhere);
}

int main(int argc, char **argv)
{
	const char *handler = argc > 2 ? argv[2] : "none";
	volatile int times = 0;
	struct device device;

	how = argc > 1 ? argv[1] : "segv";
	if (strcmp(handler, "later") != 0)
		set_handler(handler);
	open_device(&device);
	if (!strcmp(handler, "later"))
		set_handler(handler);
	for (int i = 0; i < ROUNDS; i++)
		one_round(&device);
	sigsetjmp(back, 1);
	if (times++ < 5)
		break_here();
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return 3;
}
