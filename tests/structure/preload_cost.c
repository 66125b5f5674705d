/* SPDX-License-Identifier: Apache-2.0
 *
 * Benchmark: what it costs a process that never uses CUDA to have the tracer preloaded. Starts
 * /bin/true many times with and without, alternating; prints the median and the difference.
 * Argument: the shared object.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define ROUNDS 1000

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

/* us from before the spawn until the child has been waited for; below 0: it failed */
static double start_one(char *const *environment)
{
	static char name[] = "true";
	char *arguments[] = {name, NULL};
	double start = now_us();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environment) ||
	    waitpid(pid, &status, 0) != pid || status)
		return -1;
	return now_us() - start;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(const double *sorted, double q)
{
	return sorted[(size_t)(q * (ROUNDS - 1))];
}

int main(int argc, char **argv)
{
	static double without[ROUNDS], with[ROUNDS];
	static char variable[4096];
	char *bare[] = {NULL};
	char *preloaded[] = {variable, NULL};

	if (argc != 2)
		return 2;
	snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", argv[1]);
	for (int i = 0; i < ROUNDS; i++) {
		without[i] = start_one(bare);
		with[i] = start_one(preloaded);
		if (without[i] < 0 || with[i] < 0) {
			fprintf(stderr, "/bin/true did not run\n");
			return 1;
		}
	}
	qsort(without, ROUNDS, sizeof(double), compare);
	qsort(with, ROUNDS, sizeof(double), compare);
	printf("/bin/true x %d, us each      p10   median      p90\n", ROUNDS);
	printf("  without                %8.1f %8.1f %8.1f\n", quantile(without, 0.1),
	       quantile(without, 0.5), quantile(without, 0.9));
	printf("  with libgputrace.so    %8.1f %8.1f %8.1f\n", quantile(with, 0.1),
	       quantile(with, 0.5), quantile(with, 0.9));
	printf("  difference of medians  %17.1f\n", quantile(with, 0.5) - quantile(without, 0.5));
	return 0;
}
