/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver, the runtime, libraries as the workload needs them, loaded at run time.
 * Functions are looked up in the global scope first, so that a preloaded hook is found as in a
 * linked program.
 */
#ifndef GT_BENCH_DEVICE_H
#define GT_BENCH_DEVICE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* GT_BENCH_CU(field, function of cuda.h, its symbol) */
#define GT_BENCH_CUS                                                                               \
	GT_BENCH_CU(init, cuInit, "cuInit")                                                        \
	GT_BENCH_CU(device_get, cuDeviceGet, "cuDeviceGet")                                        \
	GT_BENCH_CU(device_name, cuDeviceGetName, "cuDeviceGetName")                               \
	GT_BENCH_CU(context_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")          \
	GT_BENCH_CU(context_set, cuCtxSetCurrent, "cuCtxSetCurrent")                               \
	GT_BENCH_CU(module_load, cuModuleLoadData, "cuModuleLoadData")                             \
	GT_BENCH_CU(module_function, cuModuleGetFunction, "cuModuleGetFunction")                   \
	GT_BENCH_CU(allocate, cuMemAlloc, "cuMemAlloc_v2")                                         \
	GT_BENCH_CU(free, cuMemFree, "cuMemFree_v2")                                               \
	GT_BENCH_CU(allocate_host, cuMemAllocHost, "cuMemAllocHost_v2")                            \
	GT_BENCH_CU(stream_create, cuStreamCreate, "cuStreamCreate")                               \
	GT_BENCH_CU(stream_synchronize, cuStreamSynchronize, "cuStreamSynchronize")                \
	GT_BENCH_CU(launch, cuLaunchKernel, "cuLaunchKernel")                                      \
	GT_BENCH_CU(copy_to_device, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")                     \
	GT_BENCH_CU(capture_begin, cuStreamBeginCapture, "cuStreamBeginCapture_v2")                \
	GT_BENCH_CU(capture_end, cuStreamEndCapture, "cuStreamEndCapture")                         \
	GT_BENCH_CU(graph_instantiate, cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags") \
	GT_BENCH_CU(graph_launch, cuGraphLaunch, "cuGraphLaunch")

/* Of cuDNN, with a convolution. */
struct gt_bench_network {
	void *handle, *tensor, *filter, *window;
	int (*set_stream)(void *handle, CUstream stream);
	int (*forward)(void *handle, const void *alpha, const void *x_of, const void *x,
		       const void *w_of, const void *w, const void *window, int algorithm,
		       void *room, size_t size, const void *beta, const void *y_of, void *y);
};

/* Of cuSPARSE, with a matrix of 64 x 64 and a vector. */
struct gt_bench_sparse {
	void *handle, *matrix, *vector;
	int (*set_stream)(void *handle, CUstream stream);
	int (*multiply)(void *handle, int op, const void *alpha, const void *a, const void *x,
			const void *beta, void *y, int type, int algorithm, void *room);
};

/* Of cuSOLVER. */
struct gt_bench_solver {
	void *handle;
	int (*set_stream)(void *handle, CUstream stream);
	int (*factorize)(void *handle, int uplo, int n, float *a, int lda, float *room, int size,
			 int *info);
};

/* The functions of the driver and the runtime that the workloads call. */
struct gt_bench_device {
	struct {
#define GT_BENCH_CU(field, function, symbol) __typeof__(function) *field;
		GT_BENCH_CUS
#undef GT_BENCH_CU
	} cu;
	/* of the runtime */
	int (*memset_async)(void *memory, int value, size_t size, CUstream stream);
	int (*get_device)(int *ret_device);
	int (*is_capturing)(CUstream stream, int *ret_status);
	int (*last_error)(void);
	/* of cuBLAS, and its handle */
	void *cublas;
	int (*create)(void **ret_handle);
	int (*set_stream)(void *handle, CUstream stream);
	int (*sgemm)(void *handle, int transa, int transb, int m, int n, int k, const float *alpha,
		     const void *a, int lda, const void *b, int ldb, const float *beta, void *c,
		     int ldc);
	/* of cuFFT, and its plan */
	int plan;
	int (*make_plan)(int *ret_plan, int points, int type, int batch);
	int (*plan_stream)(int plan, CUstream stream);
	int (*transform)(int plan, void *in, void *out, int direction);
	struct gt_bench_network network;
	struct gt_bench_sparse sparse;
	struct gt_bench_solver solver;
	CUcontext context;
	CUfunction kernel;
	CUdeviceptr memory;
	void *host;
	CUgraphExec graph;
	char name[128];
	bool simulated;     /* tests/simcuda of this repository */
	const char *failed; /* the step that failed */
};

/* Opens the first device: primary context, an empty kernel, @bytes on host and device. 0, or CUDA's
 * error (-1: no such library or function) with device->failed set. Never closed. */
int gt_bench_device_open(struct gt_bench_device *device, size_t bytes);

/* Loads the functions of the runtime, of any CUDA version on the machine. */
int gt_bench_device_runtime(struct gt_bench_device *device);

/* Loads cuBLAS, of any CUDA version on the machine, and makes a handle. */
int gt_bench_device_cublas(struct gt_bench_device *device);

/* Loads cuFFT likewise, and makes a plan of 64 points. */
int gt_bench_device_cufft(struct gt_bench_device *device);

/* Loads cuDNN likewise, and makes a convolution of 16 channels of 4 x 4. */
int gt_bench_device_cudnn(struct gt_bench_device *device);

/* Loads cuSPARSE likewise, and makes a matrix and a vector; and cuSOLVER, and makes a handle. */
int gt_bench_device_cusparse(struct gt_bench_device *device);
int gt_bench_device_cusolver(struct gt_bench_device *device);

/* A graph of @nodes empty kernels. */
int gt_bench_device_graph(struct gt_bench_device *device, int nodes);

#endif
