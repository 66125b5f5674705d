/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses cuFFT, written against cufft.h. Prints the result of each call.
 *
 *   transforms all       a plan of each family, and what executes it
 *   transforms wrong     calls that fail, unknown plans, sizes that are too large, a cuFFT without
 *                        cufftXt
 *   transforms plans     more plans than are kept, and numbers that are given again
 *   transforms cost N    ns of a call that launches nothing, and of one: N thousand of each
 */
#include <cuda.h>
#include <cufft.h>
#include <cufftXt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHOW(call) printf("%.*s: %d\n", (int)strcspn(#call, "("), #call, (int)(call))
#define PLANS      5000

static cufftComplex *c;
static cufftReal *r;
static cufftDoubleComplex *z;
static cufftDoubleReal *d;

static void use_device(void)
{
	CUcontext context;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
		exit(3);
}

static void made_at_once(void)
{
	cufftHandle one, two, three, many;
	int sizes[2] = {12, 10};

	SHOW(cufftPlan1d(&one, 1000, CUFFT_C2C, 7));
	SHOW(cufftExecC2C(one, c, c, CUFFT_FORWARD));
	SHOW(cufftExecC2C(one, c, c, CUFFT_INVERSE));
	SHOW(cufftPlan2d(&two, 30, 17, CUFFT_R2C));
	SHOW(cufftExecR2C(two, r, c));
	SHOW(cufftPlan3d(&three, 8, 16, 32, CUFFT_Z2Z));
	SHOW(cufftExecZ2Z(three, z, z, CUFFT_INVERSE));
	SHOW(cufftPlanMany(&many, 2, sizes, NULL, 1, 120, NULL, 1, 120, CUFFT_Z2D, 5));
	SHOW(cufftExecZ2D(many, z, d));
	SHOW(cufftDestroy(one));
}

static void made_later(void)
{
	cufftHandle plan[5];
	long long sizes[3] = {4, 6, 9};
	size_t size;

	for (int i = 0; i < 5; i++)
		SHOW(cufftCreate(&plan[i]));
	SHOW(cufftMakePlan1d(plan[0], 3, CUFFT_D2Z, 1, &size));
	SHOW(cufftExecD2Z(plan[0], d, z));
	SHOW(cufftMakePlan2d(plan[1], 5, 11, CUFFT_C2R, &size));
	SHOW(cufftExecC2R(plan[1], c, r));
	SHOW(cufftMakePlan3d(plan[2], 2, 2, 2, CUFFT_C2C, &size));
	SHOW(cufftExecC2C(plan[2], c, c, CUFFT_FORWARD));
	SHOW(cufftMakePlanMany64(plan[3], 3, sizes, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 2, &size));
	SHOW(cufftExecC2C(plan[3], c, c, CUFFT_FORWARD));
	SHOW(cufftXtMakePlanMany(plan[4], 1, sizes, NULL, 1, 1, CUDA_C_16F, NULL, 1, 1, CUDA_C_16F,
				 1, &size, CUDA_C_16F));
	SHOW(cufftXtExec(plan[4], c, c, CUFFT_INVERSE));
}

static int all(void)
{
	made_at_once();
	made_later();
	SHOW(cuCtxSynchronize());
	return 0;
}

static int wrong(void)
{
	long long large[3] = {1ll << 40, 1ll << 40, 2}, much[1] = {1ll << 57}, small[1] = {4};
	cufftHandle plan;
	size_t size;

	SHOW(cufftPlan1d(&plan, -5, CUFFT_C2C, 1));
	SHOW(cufftPlan1d(NULL, 5, CUFFT_C2C, 1));
	SHOW(cufftExecC2C(4711, c, c, CUFFT_FORWARD));
	SHOW(cufftPlanMany(&plan, 77, NULL, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1));
	SHOW(cufftPlan1d(&plan, 16, CUFFT_C2C, 1));
	SHOW(cufftExecR2C(plan, r, c));
	SHOW(cufftExecC2C(plan, c, c, 12345));
	SHOW(cufftCreate(&plan));
	SHOW(cufftMakePlanMany64(plan, 3, large, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1, &size));
	SHOW(cufftExecC2C(plan, c, c, CUFFT_FORWARD));
	SHOW(cufftCreate(&plan));
	SHOW(cufftMakePlanMany64(plan, 1, much, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1, &size));
	SHOW(cufftExecC2C(plan, c, c, CUFFT_FORWARD));
	SHOW(cufftCreate(&plan));
	SHOW(cufftXtMakePlanMany(plan, 1, small, NULL, 1, 1, CUDA_C_32F, NULL, 1, 1, CUDA_C_32F, 1,
				 &size, CUDA_C_32F));
	SHOW(cufftXtExec(plan, c, c, CUFFT_FORWARD));
	SHOW(cufftDestroy(plan));
	SHOW(cufftExecC2C(plan, c, c, CUFFT_FORWARD));
	SHOW(cuCtxSynchronize());
	return 0;
}

/* The last one has the number of one that was destroyed. */
static int plans(void)
{
	cufftHandle plan[PLANS], again;

	for (int i = 0; i < PLANS; i++)
		if (cufftPlan1d(&plan[i], 2, CUFFT_C2C, 1) || cufftExecC2C(plan[i], c, c, -1))
			return 3;
	for (int i = 0; i < PLANS; i++)
		if (cufftDestroy(plan[i]))
			return 3;
	if (cufftPlan1d(&again, 256, CUFFT_C2C, 1) || again != plan[0])
		return 3;
	SHOW(cufftExecC2C(again, c, c, -1));
	SHOW(cuCtxSynchronize());
	return 0;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int cost(int thousands)
{
	double calls = 0, transforms = 0, before;
	struct timespec nap = {0, 20000000};
	cufftHandle plan;

	if (cufftPlan1d(&plan, 1024, CUFFT_C2C, 1))
		return 3;
	for (int i = 0; i < thousands; i++) {
		before = now();
		for (int j = 0; j < 1000; j++)
			cufftExecR2C(plan, r, c);
		calls += now() - before;
		before = now();
		for (int j = 0; j < 1000; j++)
			cufftExecC2C(plan, c, c, CUFFT_FORWARD);
		transforms += now() - before;
		nanosleep(&nap, NULL);
	}
	printf("%.0f ns a call that launches nothing, %.0f ns one with a kernel\n",
	       calls / thousands / 1000, transforms / thousands / 1000);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	use_device();
	if (argc == 3 && !strcmp(argv[1], "cost"))
		return cost(atoi(argv[2]));
	if (!strcmp(argv[1], "all"))
		return all();
	if (!strcmp(argv[1], "wrong"))
		return wrong();
	return !strcmp(argv[1], "plans") ? plans() : 2;
}
