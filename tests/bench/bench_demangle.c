/* SPDX-License-Identifier: Apache-2.0
 *
 * What a C++ name costs the drain thread: the estimate of its length and the demangler, over the
 * names in a file, one a line. Without a file: over its own, few names.
 *
 *   strings -n 8 /usr/local/cuda/lib64/lib*.so | grep -E '^_Z[A-Za-z0-9_]+$' | sort -u >NAMES
 *   build/tests/bench/bench_demangle NAMES
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/symbols/demangle.h"
#include "collectors/symbols/mangled.h"

#define NAMES  65536
#define ROUNDS 5

static const char *names[NAMES] = {
	"_Z5scalePffi",
	"_ZN17cutlass__5x_cudnn6KernelI59cutlass_tensorop_h884wgrad_analytic_128x64_32x2_nhwc_"
	"align8EEvNT_6ParamsE",
	"_Z10dot_kernelI6float2Li128ELi0E15cublasDotParamsI23cublasGemvTensorBatchedIKS0_E30"
	"cublasGemvTensorStridedBatchedIS0_EEEvT2_",
};
static size_t count = 3;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void read_names(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[8192];

	for (count = 0; file && count < NAMES && fgets(line, sizeof(line), file); count++) {
		line[strcspn(line, "\n")] = 0;
		names[count] = strdup(line);
	}
	if (!file || !count) {
		fprintf(stderr, "bench_demangle: no names in %s\n", path);
		exit(1);
	}
	fclose(file);
}

static double time_estimates(uint64_t *ret_sum)
{
	double start = now();

	*ret_sum = 0;
	for (size_t i = 0; i < count; i++)
		*ret_sum += gt_mangled_expansion(names[i], strlen(names[i]));
	return now() - start;
}

/* With the estimate, and without the answers of earlier rounds. */
static double time_demangling(size_t *ret_readable)
{
	struct gt_intern *pool = gt_intern_new((size_t)256 << 20);
	struct gt_demangle *demangle = pool ? gt_demangle_new(pool) : NULL;
	double start;

	if (!demangle)
		exit(1);
	gt_demangle_get(demangle, "_Z1fv", 5); /* loads the library */
	start = now();
	*ret_readable = 0;
	for (size_t i = 0; i < count; i++)
		*ret_readable += strcmp(gt_demangle_get(demangle, names[i], strlen(names[i]))->text,
					names[i]) != 0;
	start = now() - start;
	gt_demangle_free(demangle);
	gt_intern_free(pool);
	return start;
}

static size_t count_refused(void)
{
	size_t refused = 0;

	for (size_t i = 0; i < count; i++)
		refused += gt_mangled_expansion(names[i], strlen(names[i])) > GT_DEMANGLE_TEXT_MAX;
	return refused;
}

int main(int argc, char **argv)
{
	double estimate = 0, all = 0;
	size_t readable = 0;
	uint64_t sum = 0;

	if (argc > 1)
		read_names(argv[1]);
	for (int i = 0; i < ROUNDS; i++) {
		double e = time_estimates(&sum), a = time_demangling(&readable);

		estimate = i && estimate < e ? estimate : e;
		all = i && all < a ? all : a;
	}
	printf("%zu names: estimate %.0f ns, all %.0f ns a name; %zu readable, %zu refused by "
	       "their estimate, %.1f bytes estimated a name\n",
	       count, estimate / (double)count, all / (double)count, readable, count_refused(),
	       (double)sum / (double)count);
	return 0;
}
