/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that hang until a gate opens (tests/gate.h) or for some seconds, each in its own way,
 * and then go on. All but `first` begin with a round of work that is waited for.
 *
 *   kernel    waits on a stream for the kernel "spin" (how long it runs: SIMCUDA_SCRIPT)
 *   first     the same, and it is the first launch
 *   later     waits for the gate first
 *   ahead     launches it 40 times, then waits: the GPU works all the time; then for the gate
 *   unwaited  launches it and waits for the gate
 *   device    waits for the device (a wait that hangs: the fault slow_sync)
 *   lock      waits for a mutex that another thread holds
 *   read      waits for a byte in a pipe
 *   busy      computes, and launches nothing
 *   work      launches and waits all the time
 *   function  waits on a stream for a host function in it, which waits for the gate
 *   behind    the same, with a kernel behind the function
 *   many      as read, while 100 threads that never call CUDA wait, too
 *   beside    as read, but a thread that has ended is the only one that has called CUDA
 *
 * Exit status 3.
 */
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "tests/gate.h"
#include "tests/reliability/device.h"

static struct device device;
static CUfunction spin;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int channel[2];
static volatile uint64_t sum;

static void open_spin(void)
{
	static const char text[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				   ".visible .entry _Z4spinPi(.param .u64 p) { ret; }\n";
	CUmodule module;

	check((int)cuModuleLoadData(&module, text), "cuModuleLoadData");
	check((int)cuModuleGetFunction(&spin, module, "_Z4spinPi"), "cuModuleGetFunction");
}

static __attribute__((noinline)) void launch_spin(void)
{
	void *arguments[] = {&device.data};

	check((int)cuLaunchKernel(spin, 4, 1, 1, 64, 1, 1, 0, device.stream, arguments, NULL),
	      "cuLaunchKernel");
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void wait_for_stream(void)
{
	check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
	__asm__ volatile("" ::: "memory");
}

static void hang_kernel(void)
{
	launch_spin();
	check((int)cudaMemsetAsync(device.data, 1, 256, device.stream), "cudaMemsetAsync");
	wait_for_stream();
}

static void hang_later(void)
{
	wait_at_gate(1);
	hang_kernel();
}

static void run_ahead(void)
{
	for (int i = 0; i < 40; i++)
		launch_spin();
	wait_for_stream();
	wait_at_gate(1);
}

static void hang_unwaited(void)
{
	launch_spin();
	wait_at_gate(1);
}

static __attribute__((noinline)) void wait_for_device(void)
{
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void take_lock(void)
{
	pthread_mutex_lock(&mutex);
	__asm__ volatile("" ::: "memory");
}

static void *hold_lock(void *ready)
{
	pthread_mutex_lock(&mutex);
	pthread_barrier_wait(ready);
	wait_at_gate(1);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void hang_lock(void)
{
	pthread_barrier_t ready;
	pthread_t thread;

	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&thread, NULL, hold_lock, &ready);
	pthread_barrier_wait(&ready);
	take_lock();
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static __attribute__((noinline)) void read_byte(void)
{
	char byte;

	check(read(channel[0], &byte, 1) != 1, "read");
	__asm__ volatile("" ::: "memory");
}

static void *write_byte(void *unused)
{
	wait_at_gate(1);
	check(write(channel[1], "x", 1) != 1, "write");
	return unused;
}

static void hang_read(void)
{
	pthread_t thread;

	check(pipe(channel), "pipe");
	pthread_create(&thread, NULL, write_byte, NULL);
	read_byte();
	pthread_join(thread, NULL);
}

static __attribute__((noinline)) void compute(void)
{
	for (int i = 0; i < 2000000; i++)
		sum += (uint64_t)i;
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void hang_busy(void)
{
	while (!gate_is_open(1))
		compute();
}

static void work(void)
{
	do {
		one_round(&device);
		wait_for_stream();
		usleep(1000);
	} while (!gate_is_open(1));
}

static __attribute__((noinline)) void wait_in_function(void *unused)
{
	wait_at_gate(1);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void launch_function(void)
{
	check((int)cudaLaunchHostFunc(device.stream, wait_in_function, NULL), "cudaLaunchHostFunc");
	__asm__ volatile("" ::: "memory");
}

static void hang_function(void)
{
	launch_function();
	wait_for_stream();
}

static void hang_behind(void)
{
	launch_function();
	launch_spin();
	wait_for_stream();
}

static int never[2];

static __attribute__((noinline)) void read_below(int depth)
{
	char byte;

	if (depth)
		read_below(depth - 1);
	else
		check(read(never[0], &byte, 1) != 0, "read");
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void *idle(void *unused)
{
	read_below(20);
	return unused;
}

static void hang_many(void)
{
	pthread_t threads[100];

	check(pipe(never), "pipe");
	for (int i = 0; i < 100; i++)
		check(pthread_create(&threads[i], NULL, idle, NULL), "pthread_create");
	hang_read();
	close(never[1]);
	for (int i = 0; i < 100; i++)
		pthread_join(threads[i], NULL);
}

static void *use_device(void *unused)
{
	open_device(&device);
	one_round(&device);
	wait_for_stream();
	return unused;
}

static int hang_beside(void)
{
	pthread_t thread;

	check(pthread_create(&thread, NULL, use_device, NULL), "pthread_create");
	pthread_join(thread, NULL);
	hang_read();
	check((int)cudaFree(NULL), "cudaFree"); /* the context is current here, too */
	one_round(&device);
	wait_for_stream();
	puts("beside is over");
	return 3;
}

static const struct {
	const char *name;
	void (*hang)(void);
} ways[] = {{"kernel", hang_kernel},     {"first", hang_kernel},      {"later", hang_later},
	    {"unwaited", hang_unwaited}, {"device", wait_for_device}, {"lock", hang_lock},
	    {"read", hang_read},         {"busy", hang_busy},         {"work", work},
	    {"function", hang_function}, {"behind", hang_behind},     {"many", hang_many},
	    {"ahead", run_ahead}};

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	if (!strcmp(argv[1], "beside"))
		return hang_beside();
	open_device(&device);
	open_spin();
	if (strcmp(argv[1], "first") != 0) {
		one_round(&device);
		wait_for_stream();
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			ways[i].hang();
	one_round(&device);
	wait_for_stream();
	printf("%s is over\n", argv[1]);
	return 3;
}
