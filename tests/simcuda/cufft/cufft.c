/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated libcufft.so.12, with the prototypes of the toolkit's header: plans, and a kernel
 * for each dimension of what they execute.
 */
#include <cufft.h>
#include <cufftXt.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "libraries/launch.h"

#define MOST 8192

struct plan {
	bool is_there;
	int rank; /* 0: not made yet */
	cufftType type;
	cudaStream_t stream;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plan plans[MOST + 1];

static struct plan *plan_of(cufftHandle handle)
{
	return handle > 0 && handle <= MOST && plans[handle].is_there ? &plans[handle] : NULL;
}

/* SIM_CUFFT_MAJOR: what it says it is. */
SIM_LIBRARY_EXPORT cufftResult cufftGetProperty(libraryPropertyType type, int *value)
{
	const char *major = getenv("SIM_CUFFT_MAJOR");

	*value = type != MAJOR_VERSION ? 0 : major ? atoi(major) : CUFFT_VER_MAJOR;
	return CUFFT_SUCCESS;
}

SIM_LIBRARY_EXPORT cufftResult cufftCreate(cufftHandle *handle)
{
	cufftHandle free = 1;

	if (!handle)
		return CUFFT_INVALID_VALUE;
	if (!sim_library_start())
		return CUFFT_SETUP_FAILED;
	pthread_mutex_lock(&lock);
	while (free <= MOST && plans[free].is_there)
		free++;
	if (free <= MOST)
		plans[free] = (struct plan){.is_there = true};
	pthread_mutex_unlock(&lock);
	*handle = free;
	return free <= MOST ? CUFFT_SUCCESS : CUFFT_ALLOC_FAILED;
}

SIM_LIBRARY_EXPORT cufftResult cufftDestroy(cufftHandle handle)
{
	struct plan *plan = plan_of(handle);

	if (!plan)
		return CUFFT_INVALID_PLAN;
	pthread_mutex_lock(&lock);
	plan->is_there = false;
	pthread_mutex_unlock(&lock);
	return CUFFT_SUCCESS;
}

SIM_LIBRARY_EXPORT cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream)
{
	struct plan *plan = plan_of(handle);

	if (!plan)
		return CUFFT_INVALID_PLAN;
	plan->stream = stream;
	return CUFFT_SUCCESS;
}

static cufftResult make(cufftHandle handle, int rank, const long long *n, cufftType type,
			long long batch, size_t *size)
{
	struct plan *plan = plan_of(handle);

	if (!plan || plan->rank)
		return CUFFT_INVALID_PLAN;
	if (rank < 1 || rank > 3 || !n || batch < 1)
		return CUFFT_INVALID_SIZE;
	for (int i = 0; i < rank; i++)
		if (n[i] < 1)
			return CUFFT_INVALID_SIZE;
	if ((type & ~0x40) != CUFFT_C2C && (type & ~0x40) != CUFFT_R2C &&
	    (type & ~0x40) != CUFFT_C2R)
		return CUFFT_INVALID_TYPE;
	plan->rank = rank;
	plan->type = type;
	if (size)
		*size = 0;
	return sim_library_launch(plan->stream, "sim_fft_twiddles") ? CUFFT_SUCCESS
								    : CUFFT_SETUP_FAILED;
}

static cufftResult make_new(cufftHandle *handle, int rank, const long long *n, cufftType type,
			    long long batch)
{
	cufftResult result = cufftCreate(handle);

	return result ? result : make(*handle, rank, n, type, batch, NULL);
}

static const long long *wide(int rank, const int *n, long long room[3])
{
	for (int i = 0; n && i < rank && i < 3; i++)
		room[i] = n[i];
	return n ? room : NULL;
}

#define SIZES(...) ((const long long[]){__VA_ARGS__})

SIM_LIBRARY_EXPORT cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch)
{
	return make_new(plan, 1, SIZES(nx), type, batch);
}

SIM_LIBRARY_EXPORT cufftResult cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type)
{
	return make_new(plan, 2, SIZES(nx, ny), type, 1);
}

SIM_LIBRARY_EXPORT cufftResult cufftPlan3d(cufftHandle *plan, int nx, int ny, int nz,
					   cufftType type)
{
	return make_new(plan, 3, SIZES(nx, ny, nz), type, 1);
}

/* Through exported functions, as an older cuFFT did. */
SIM_LIBRARY_EXPORT cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *inembed,
					     int istride, int idist, int *onembed, int ostride,
					     int odist, cufftType type, int batch)
{
	cufftResult result = cufftCreate(plan);
	size_t size;

	return result ? result
		      : cufftMakePlanMany(*plan, rank, n, inembed, istride, idist, onembed, ostride,
					  odist, type, batch, &size);
}

SIM_LIBRARY_EXPORT cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch,
					       size_t *size)
{
	return make(plan, 1, SIZES(nx), type, batch, size);
}

SIM_LIBRARY_EXPORT cufftResult cufftMakePlan2d(cufftHandle plan, int nx, int ny, cufftType type,
					       size_t *size)
{
	return make(plan, 2, SIZES(nx, ny), type, 1, size);
}

SIM_LIBRARY_EXPORT cufftResult cufftMakePlan3d(cufftHandle plan, int nx, int ny, int nz,
					       cufftType type, size_t *size)
{
	return make(plan, 3, SIZES(nx, ny, nz), type, 1, size);
}

SIM_LIBRARY_EXPORT cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed,
						 int istride, int idist, int *onembed, int ostride,
						 int odist, cufftType type, int batch, size_t *size)
{
	long long room[3];

	return make(plan, rank, wide(rank, n, room), type, batch, size);
}

SIM_LIBRARY_EXPORT cufftResult cufftMakePlanMany64(cufftHandle plan, int rank, long long *n,
						   long long *inembed, long long istride,
						   long long idist, long long *onembed,
						   long long ostride, long long odist,
						   cufftType type, long long batch, size_t *size)
{
	return make(plan, rank, n, type, batch, size);
}

#ifndef SIM_CUFFT_OLD
SIM_LIBRARY_EXPORT cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long *n,
						   long long *inembed, long long istride,
						   long long idist, cudaDataType in,
						   long long *onembed, long long ostride,
						   long long odist, cudaDataType out,
						   long long batch, size_t *size, cudaDataType by)
{
	return make(plan, rank, n, CUFFT_C2C, batch, size);
}

SIM_LIBRARY_EXPORT cufftResult cufftXtExec(cufftHandle plan, void *in, void *out, int direction)
{
	return cufftExecC2C(plan, in, out, direction);
}
#endif

static cufftResult execute(cufftHandle handle, cufftType type)
{
	struct plan *plan = plan_of(handle);
	char name[64];

	if (!plan || !plan->rank)
		return CUFFT_INVALID_PLAN;
	if (plan->type != type)
		return CUFFT_INVALID_TYPE;
	for (int i = 0; i < plan->rank; i++) {
		snprintf(name, sizeof(name), "sim_fft_%x_%d", (unsigned int)type, i);
		if (!sim_library_launch(plan->stream, name))
			return CUFFT_EXEC_FAILED;
	}
	return CUFFT_SUCCESS;
}

SIM_LIBRARY_EXPORT cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out,
					    int direction)
{
	return execute(plan, CUFFT_C2C);
}

SIM_LIBRARY_EXPORT cufftResult cufftExecR2C(cufftHandle plan, cufftReal *in, cufftComplex *out)
{
	return execute(plan, CUFFT_R2C);
}

SIM_LIBRARY_EXPORT cufftResult cufftExecC2R(cufftHandle plan, cufftComplex *in, cufftReal *out)
{
	return execute(plan, CUFFT_C2R);
}

SIM_LIBRARY_EXPORT cufftResult cufftExecZ2Z(cufftHandle plan, cufftDoubleComplex *in,
					    cufftDoubleComplex *out, int direction)
{
	return execute(plan, CUFFT_Z2Z);
}

SIM_LIBRARY_EXPORT cufftResult cufftExecD2Z(cufftHandle plan, cufftDoubleReal *in,
					    cufftDoubleComplex *out)
{
	return execute(plan, CUFFT_D2Z);
}

SIM_LIBRARY_EXPORT cufftResult cufftExecZ2D(cufftHandle plan, cufftDoubleComplex *in,
					    cufftDoubleReal *out)
{
	return execute(plan, CUFFT_Z2D);
}
