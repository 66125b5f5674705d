/* SPDX-License-Identifier: Apache-2.0
 *
 * A known amount of work, then the list of open descriptors, which shows any of the tracer's. Exit
 * status 3.
 *
 * - workload rounds N: N rounds on each of three threads, exit status 3
 * - workload titled N: the same, after it overwrote its environment as programs do that set their
 *   title
 * - workload moved N: the same, after it went to another working folder, in which nothing can be
 *   made
 * - workload flood [N]: N times (without N: for ever) 64 rounds that are waited for
 * - workload threads N: N threads at once, ten rounds on each
 * - workload windowed N: the same, then 20 rounds between cudaProfilerStart and the end
 * - workload graph N: N replays of a graph of 100 kernels
 * - workload mixed N: N replays of a graph of one round
 * - workload slow N: N rounds, one a millisecond
 * - workload turns N: N rounds, one a millisecond, of two threads in turns, as forward and backward
 *   passes are
 * - workload ask N: N rounds, and before each the questions that frameworks ask
 * - workload held N: N rounds on one thread, says so and waits at a gate
 * - workload again N: the same, and N rounds after it
 * - workload killed N: N rounds on one thread, and it is dead
 * - workload dying N: N rounds on one thread, 1000 more, one a millisecond, and it is dead
 * - workload unending N: N rounds on one thread, and the program ends while a kernel beside them
 *   runs for hours
 */
#include <cuda_profiler_api.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/gate.h"
#include "tests/reliability/device.h"

#define THREADS 3

static struct device device;
static int rounds;

static void *work(void *unused)
{
	(void)unused;
	check((int)cudaFree(NULL), "cudaFree"); /* gives the thread the context */
	for (int i = 0; i < rounds; i++)
		one_round(&device);
	return NULL;
}

static void *flood(void *unused)
{
	(void)unused;
	check((int)cudaFree(NULL), "cudaFree");
	for (int burst = 0; !rounds || burst < rounds; burst++) {
		for (int i = 0; i < 64; i++)
			one_round(&device);
		check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
	}
	return NULL;
}

static void ask(void)
{
	enum cudaStreamCaptureStatus status;
	int number;

	for (int i = 0; i < rounds; i++) {
		check((int)cudaGetDevice(&number), "cudaGetDevice");
		check((int)cudaStreamIsCapturing(device.stream, &status), "cudaStreamIsCapturing");
		check((int)cudaGetLastError(), "cudaGetLastError");
		one_round(&device);
	}
}

static pthread_barrier_t all_there;

static void *meet(void *unused)
{
	(void)unused;
	check((int)cudaFree(NULL), "cudaFree");
	for (int i = 0; i < 10; i++)
		one_round(&device);
	pthread_barrier_wait(&all_there);
	return NULL;
}

static void on_many_threads(int count)
{
	pthread_t *threads = calloc((size_t)count, sizeof(*threads));

	check(threads == NULL || pthread_barrier_init(&all_there, NULL, (unsigned int)count),
	      "init");
	for (int i = 0; i < count; i++)
		check(pthread_create(&threads[i], NULL, meet, NULL), "pthread_create");
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static void begin_window(void)
{
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	check((int)cudaProfilerStart(), "cudaProfilerStart");
	for (int i = 0; i < 20; i++)
		one_round(&device);
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

static void on_threads(void *(*run)(void *))
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		check(pthread_create(&threads[i], NULL, run, NULL), "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* Moves the environment away and overwrites argv and what follows, which the kernel shows as the
 * title. */
static void set_title(char **argv)
{
	size_t count = 0;
	char **moved, *end = argv[0];

	while (environ[count])
		count++;
	moved = calloc(count + 1, sizeof(*moved));
	check(moved == NULL, "calloc");
	for (size_t i = 0; i < count; i++) {
		end = environ[i] > end ? environ[i] + strlen(environ[i]) : end;
		moved[i] = strdup(environ[i]);
	}
	environ = moved;
	memset(argv[0], 'x', (size_t)(end - argv[0]));
}

static pthread_barrier_t turn;

/* Every other round; both threads are there at each. */
static void take_turns(int first)
{
	for (int i = 0; i < rounds; i++) {
		if (i % 2 == first) {
			one_round(&device);
			usleep(1000);
		}
		pthread_barrier_wait(&turn);
	}
}

static void *take_other_turns(void *unused)
{
	(void)unused;
	check((int)cudaFree(NULL), "cudaFree");
	take_turns(1);
	return NULL;
}

static void in_turns(void)
{
	pthread_t other;

	check(pthread_barrier_init(&turn, NULL, 2), "pthread_barrier_init");
	check(pthread_create(&other, NULL, take_other_turns, NULL), "pthread_create");
	take_turns(0);
	pthread_join(other, NULL);
}

static void launch_kernels(struct device *d)
{
	void *arguments[] = {&d->data};

	for (int i = 0; i < 100; i++)
		check((int)cuLaunchKernel(d->kernel, 4, 1, 1, 64, 1, 1, 0, d->stream, arguments,
					  NULL),
		      "cuLaunchKernel");
}

static void replay_graph(void (*launch)(struct device *d))
{
	cudaGraphExec_t executable;
	cudaGraph_t graph;

	check((int)cudaStreamBeginCapture(device.stream, cudaStreamCaptureModeGlobal),
	      "cudaStreamBeginCapture");
	launch(&device);
	check((int)cudaStreamEndCapture(device.stream, &graph), "cudaStreamEndCapture");
	check((int)cudaGraphInstantiate(&executable, graph, 0), "cudaGraphInstantiate");
	for (int i = 0; i < rounds; i++) {
		check((int)cudaGraphLaunch(executable, device.stream), "cudaGraphLaunch");
		check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
	}
}

static void hold(void)
{
	work(NULL);
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	puts("held");
	fflush(stdout);
	wait_at_gate(1);
}

/* A C++ program's, which recovery must make readable without it. */
static void launch_mangled(void)
{
	static const char source[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				     ".visible .entry _Z4tockPf(.param .u64 p) { ret; }\n";
	void *arguments[] = {&device.data};
	CUfunction tock;
	CUmodule module;

	check((int)cuModuleLoadData(&module, source), "cuModuleLoadData");
	check((int)cuModuleGetFunction(&tock, module, "_Z4tockPf"), "cuModuleGetFunction");
	check((int)cuLaunchKernel(tock, 4, 1, 1, 64, 1, 1, 0, device.stream, arguments, NULL),
	      "cuLaunchKernel");
}

static void die(void)
{
	work(NULL);
	launch_mangled();
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	kill(getpid(), SIGKILL);
}

static void die_slowly(void)
{
	work(NULL);
	for (int i = 0; i < 1000; i++) {
		one_round(&device);
		usleep(1000);
	}
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	kill(getpid(), SIGKILL);
}

static void leave_one_running(void)
{
	void *arguments[] = {&device.data};
	cudaStream_t other;

	check((int)cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "cudaStreamCreate");
	check((int)cuLaunchKernel(device.kernel, INT_MAX, 65535, 1, 64, 1, 1, 0, other, arguments,
				  NULL),
	      "cuLaunchKernel");
	work(NULL);
	check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
	exit(3);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	bool on_three = !strcmp(how, "rounds") || !strcmp(how, "titled") || !strcmp(how, "moved");

	rounds = argc > 2 ? atoi(argv[2]) : 0;
	note_descriptors();
	print_descriptors();
	open_device(&device);
	if (!strcmp(how, "flood"))
		on_threads(flood);
	if (!strcmp(how, "threads") || !strcmp(how, "windowed"))
		on_many_threads(rounds);
	if (!strcmp(how, "windowed"))
		begin_window();
	if (!strcmp(how, "graph"))
		replay_graph(launch_kernels);
	else if (!strcmp(how, "mixed"))
		replay_graph(one_round);
	if (!strcmp(how, "titled"))
		set_title(argv);
	else if (!strcmp(how, "moved"))
		check(chdir("/proc"), "chdir");
	if (on_three)
		on_threads(work);
	for (int i = 0; !strcmp(how, "slow") && i < rounds; i++) {
		one_round(&device);
		usleep(1000);
	}
	if (!strcmp(how, "turns"))
		in_turns();
	if (!strcmp(how, "ask"))
		ask();
	if (!strcmp(how, "held") || !strcmp(how, "again"))
		hold();
	if (!strcmp(how, "killed"))
		die();
	if (!strcmp(how, "dying"))
		die_slowly();
	if (!strcmp(how, "unending"))
		leave_one_running();
	if (!strcmp(how, "again"))
		work(NULL);
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	print_descriptors();
	return 3;
}
