/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU work and a second user of CUPTI, step by step as the arguments say:
 *
 *   work=MS                 a round of three operations and a wait, each millisecond
 *   init clock start stop teardown finalize disable    see kineto_like.h
 *   sleep=MS
 *
 * The device is opened at the first work. Exit status 3.
 */
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/reliability/device.h"
#include "tests/reliability/kineto_like.h"

static struct device device;
static unsigned int rounds;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void work(unsigned int ms)
{
	uint64_t until = now_ms() + ms;

	if (!device.kernel)
		open_device(&device);
	while (now_ms() < until) {
		one_round(&device);
		check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
		rounds++;
		usleep(1000);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} steps[] = {
	{"init", kineto_init},       {"clock", kineto_clock},       {"start", kineto_start},
	{"stop", kineto_stop},       {"teardown", kineto_teardown}, {"finalize", kineto_finalize},
	{"disable", kineto_disable},
};

static void step(const char *word)
{
	if (!strncmp(word, "work=", 5))
		work((unsigned int)atoi(word + 5));
	if (!strncmp(word, "sleep=", 6))
		usleep((unsigned int)atoi(word + 6) * 1000);
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
