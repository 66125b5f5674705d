/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU work and a second user of CUPTI, step by step as the arguments say:
 *
 *   work=MS                 a round of three operations and a wait, each millisecond, MS/10 rounds at least
 *   work-until, rest-until  the same, or nothing, until the next gate opens (tests/gate.h)
 *   init clock start stop teardown finalize disable    see kineto_like.h
 *   open                    the device, which else is opened at the first work
 *
 * Exit status 3.
 */
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static void work_once(void)
{
	open_once();
	one_round(&device);
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

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{"init", kineto_init},       {"clock", kineto_clock},       {"start", kineto_start},
	{"stop", kineto_stop},       {"teardown", kineto_teardown}, {"finalize", kineto_finalize},
	{"disable", kineto_disable}, {"open", open_once},           {"work-until", work_until},
	{"rest-until", rest_until},
};

static void step(const char *word)
{
	if (!strncmp(word, "work=", 5))
		work((unsigned int)atoi(word + 5));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!strcmp(word, steps[i].name))
			steps[i].run();
	}
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		step(argv[i]);
	if (device.kernel)
		check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	kineto_report();
	puts("done");
	return 3;
}
