/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU work and a second user of CUPTI, step by step as the arguments say:
 *
 *   once              one round: three operations, a wait, a pause of 1 ms
 *   launch            one round without a wait
 *   work=MS           rounds for MS milliseconds, but at least MS/10 of them
 *   work-until        rounds until the next gate opens (tests/gate.h)
 *   rest-until        nothing until the next gate opens
 *   open              opens the device, which is otherwise opened by the first round
 *   init, clock, start, stop, teardown, finalize, disable   see kineto_like.h
 *   loading=LIBRARY   "disable" on another thread while the library's constructor waits for it
 *
 * Exit status 3.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/gate.h"
#include "tests/reliability/device.h"
#include "tests/reliability/kineto_like.h"

static struct device device;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void open_once(void)
{
	if (!device.kernel)
		open_device(&device);
}

static void launch_once(void)
{
	open_once();
	one_round(&device);
}

static void work_once(void)
{
	launch_once();
	check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
	usleep(1000);
}

static void work(unsigned int ms)
{
	uint64_t until = now_ms() + ms;

	for (unsigned int rounds = 0; now_ms() < until || rounds < ms / 10; rounds++)
		work_once();
}

static int gates;

static void work_until(void)
{
	uint64_t patience = now_ms() + GATE_PATIENCE_MS;

	gates++;
	do
		work_once();
	while (!gate_is_open(gates) && now_ms() < patience);
}

static void rest_until(void)
{
	wait_at_gate(++gates);
}

static void say_first(void)
{
	puts("first");
	fflush(stdout);
}

static void *disable(void *unused)
{
	kineto_disable();
	return unused;
}

/* Called by the constructor, with the loader's lock held. */
static void while_loading(void)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += GATE_PATIENCE_MS / 1000;
	check(pthread_create(&thread, NULL, disable, NULL), "pthread_create");
	check(pthread_timedjoin_np(thread, NULL, &until), "a call of CUPTI waits for the loader");
}

static void load(const char *library)
{
	char address[32];

	snprintf(address, sizeof(address), "%p", (void *)(uintptr_t)while_loading);
	setenv("CONSTRUCTOR_CALLS", address, 1);
	check(!dlopen(library, RTLD_NOW), "dlopen");
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{"init", kineto_init},       {"clock", kineto_clock},       {"start", kineto_start},
	{"stop", kineto_stop},       {"teardown", kineto_teardown}, {"finalize", kineto_finalize},
	{"disable", kineto_disable}, {"open", open_once},           {"work-until", work_until},
	{"rest-until", rest_until},  {"once", work_once},           {"first", say_first},
	{"launch", launch_once},
};

static void step(const char *word)
{
	if (!strncmp(word, "work=", 5))
		work((unsigned int)atoi(word + 5));
	if (!strncmp(word, "loading=", 8))
		load(word + 8);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!strcmp(word, steps[i].name))
			steps[i].run();
	}
}

int main(int argc, char **argv)
{
	note_descriptors();
	for (int i = 1; i < argc; i++)
		step(argv[i]);
	if (device.kernel)
		check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	kineto_report();
	puts("done");
	print_descriptors();
	return 3;
}
