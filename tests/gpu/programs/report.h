/* SPDX-License-Identifier: Apache-2.0
 *
 * What each GPU program shares: error checks, a clock, options as --name=N, and the one JSON line
 * on stdout in which it tells what a complete trace of it has to hold. C and C++.
 */
#ifndef GT_TESTS_GPU_REPORT_H
#define GT_TESTS_GPU_REPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What the program did, and so what its trace must show. */
struct report {
	const char *program;
	long kernels, memcpys, memsets; /* operations on the GPU */
	long graph_launches;            /* the operations of replays are counted above */
	long launches;                  /* calls that start a kernel or a graph, timed */
	double ns_per_launch;           /* host time of one such call, mean; 0: not timed */
};

static inline void report_check(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(1);
}
#define CHECK(call) report_check((int)(call), #call)

static inline double report_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The N of "--name=N", or @otherwise. */
static inline long report_option(int argc, char **argv, const char *name, long otherwise)
{
	size_t length = strlen(name);

	for (int i = 1; i < argc; i++) {
		if (!strncmp(argv[i], "--", 2) && !strncmp(argv[i] + 2, name, length) &&
		    argv[i][length + 2] == '=')
			return atol(argv[i] + length + 3);
	}
	return otherwise;
}

static inline void report_print(const struct report *report)
{
	printf("{\"program\": \"%s\", \"kernels\": %ld, \"memcpys\": %ld, \"memsets\": %ld, "
	       "\"graph_launches\": %ld, \"launches\": %ld, \"ns_per_launch\": %.1f}\n",
	       report->program, report->kernels, report->memcpys, report->memsets,
	       report->graph_launches, report->launches, report->ns_per_launch);
}

#endif
