/* SPDX-License-Identifier: Apache-2.0
 *
 * reuse N: closes descriptor 0 and opens a file again, N times, while threads that launch come and
 * go. Prints how often the file got another number: the tracer had it at that moment. Run by hand
 * for docs/reliability.md.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/reliability/device.h"

static void *data;

static void *launch(void *unused)
{
	for (int i = 0; i < 5; i++, usleep(500))
		cudaMemset(data, 1, 256);
	return unused;
}

static void *come_and_go(void *unused)
{
	pthread_t thread;

	for (;;) {
		check(pthread_create(&thread, NULL, launch, NULL), "pthread_create");
		pthread_join(thread, NULL);
	}
	return unused;
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000000, other = 0;
	pthread_t thread;

	check((int)cudaMalloc(&data, BYTES), "cudaMalloc");
	check(pthread_create(&thread, NULL, come_and_go, NULL), "pthread_create");
	for (long i = 0; i < count; i++) {
		close(STDIN_FILENO);
		other += open("/dev/null", O_RDONLY) != STDIN_FILENO;
	}
	printf("%ld of %ld got another number\n", other, count);
	fflush(stdout);
	_exit(0);
}
