/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads the driver, the runtime and libraries, see the header. Main thread.
 */
#include "bench/device.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#define C2C 0x29 /* cufftType */

/* Runs on every driver; compiled for the device at load time. */
static const char image[] = ".version 6.0\n.target sm_50\n.address_size 64\n"
			    ".visible .entry empty() { ret; }\n";

static int load_driver(struct gt_bench_device *device)
{
	void **const fields[] = {
#define GT_BENCH_CU(field, function, symbol) (void **)&device->cu.field,
		GT_BENCH_CUS
#undef GT_BENCH_CU
	};
	static const char *const symbols[] = {
#define GT_BENCH_CU(field, function, symbol) symbol,
		GT_BENCH_CUS
#undef GT_BENCH_CU
	};

	device->failed = "libcuda.so.1";
	if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
		return -1;
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		device->failed = symbols[i];
		*fields[i] = dlsym(RTLD_DEFAULT, symbols[i]);
		if (!*fields[i])
			return -1;
	}
	return 0;
}

static bool is_simulated(const struct gt_bench_device *device)
{
	Dl_info info;

	return dladdr((const void *)(size_t)device->cu.init, &info) &&
	       strstr(info.dli_fname, "/simcuda/");
}

/* True when the call failed; records which one. */
#define FAILS(call) (device->failed = #call, (error = (int)(device->cu.call)) != 0)

int gt_bench_device_open(struct gt_bench_device *device, size_t bytes)
{
	CUmodule module;
	CUdevice first;
	int error = load_driver(device);

	if (error || FAILS(init(0)) || FAILS(device_get(&first, 0)) ||
	    FAILS(device_name(device->name, sizeof(device->name), first)) ||
	    FAILS(context_retain(&device->context, first)) || FAILS(context_set(device->context)) ||
	    FAILS(module_load(&module, image)) ||
	    FAILS(module_function(&device->kernel, module, "empty")) ||
	    FAILS(allocate(&device->memory, bytes)) || FAILS(allocate_host(&device->host, bytes)))
		return error;
	device->simulated = is_simulated(device);
	return 0;
}

/* A function, and the variable that is to hold it. */
struct bench_function {
	const char *name;
	void *at;
};

/* The first of the libraries @names that is there, then all of @functions; both end with NULL. */
static int load(const char *const *names, const struct bench_function *functions)
{
	void *library = NULL, *function;

	for (; !library && *names; names++)
		library = dlopen(*names, RTLD_NOW | RTLD_GLOBAL);
	for (; library && functions->name; functions++) {
		function = dlsym(RTLD_DEFAULT, functions->name);
		if (!function)
			return -1;
		memcpy(functions->at, &function, sizeof(function));
	}
	return library ? 0 : -1;
}

int gt_bench_device_runtime(struct gt_bench_device *device)
{
	static const char *const names[] = {"libcudart.so.13", "libcudart.so.12",
					    "libcudart.so.11.0", "libcudart.so", NULL};
	const struct bench_function functions[] = {{"cudaMemsetAsync", &device->memset_async},
						   {"cudaGetDevice", &device->get_device},
						   {"cudaStreamIsCapturing", &device->is_capturing},
						   {"cudaGetLastError", &device->last_error},
						   {NULL, NULL}};

	device->failed = "libcudart is not there";
	return load(names, functions);
}

int gt_bench_device_cublas(struct gt_bench_device *device)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
					    NULL};
	const struct bench_function functions[] = {{"cublasCreate_v2", &device->create},
						   {"cublasSetStream_v2", &device->set_stream},
						   {"cublasSgemm_v2", &device->sgemm},
						   {NULL, NULL}};

	device->failed = "libcublas is not there";
	if (load(names, functions))
		return -1;
	device->failed = "cublasCreate";
	return device->create(&device->cublas);
}

int gt_bench_device_cufft(struct gt_bench_device *device)
{
	static const char *const names[] = {"libcufft.so.12", "libcufft.so.11", "libcufft.so.10",
					    NULL};
	const struct bench_function functions[] = {{"cufftPlan1d", &device->make_plan},
						   {"cufftSetStream", &device->plan_stream},
						   {"cufftExecC2C", &device->transform},
						   {NULL, NULL}};

	device->failed = "libcufft is not there";
	if (load(names, functions))
		return -1;
	device->failed = "cufftPlan1d";
	return device->make_plan(&device->plan, 64, C2C, 1);
}

/* Of cuDNN, in the order in which they are called; handles are pointers, enums ints. */
struct making {
	int (*create)(void **);
	int (*tensor)(void **);
	int (*set_tensor)(void *, int type, int rank, const int *dims, const int *strides);
	int (*filter)(void **);
	int (*set_filter)(void *, int type, int format, int rank, const int *dims);
	int (*window)(void **);
	int (*set_window)(void *, int places, const int *padding, const int *stride,
			  const int *dilation, int mode, int type);
};

/* 16 channels of 4 x 4, each from all 16, in single precision: a KiB each. */
static int make_convolution(struct gt_bench_device *device, const struct making *make)
{
	static const int dims[] = {1, 16, 4, 4}, strides[] = {256, 16, 4, 1};
	static const int filter[] = {16, 16, 1, 1}, none[] = {0, 0}, one[] = {1, 1};
	struct gt_bench_network *n = &device->network;
	int error = make->create(&n->handle);

	error = error ? error : make->tensor(&n->tensor);
	error = error ? error : make->set_tensor(n->tensor, 0, 4, dims, strides);
	error = error ? error : make->filter(&n->filter);
	error = error ? error : make->set_filter(n->filter, 0, 0, 4, filter);
	error = error ? error : make->window(&n->window);
	return error ? error : make->set_window(n->window, 2, none, one, one, 1, 0);
}

int gt_bench_device_cudnn(struct gt_bench_device *device)
{
	static const char *const names[] = {"libcudnn.so.9", "libcudnn.so.8", NULL};
	struct making make;
	const struct bench_function functions[] = {
		{"cudnnCreate", &make.create},
		{"cudnnCreateTensorDescriptor", &make.tensor},
		{"cudnnSetTensorNdDescriptor", &make.set_tensor},
		{"cudnnCreateFilterDescriptor", &make.filter},
		{"cudnnSetFilterNdDescriptor", &make.set_filter},
		{"cudnnCreateConvolutionDescriptor", &make.window},
		{"cudnnSetConvolutionNdDescriptor", &make.set_window},
		{"cudnnSetStream", &device->network.set_stream},
		{"cudnnConvolutionForward", &device->network.forward},
		{NULL, NULL}};

	device->failed = "libcudnn is not there";
	if (load(names, functions))
		return -1;
	device->failed = "cudnnSetConvolutionNdDescriptor";
	return make_convolution(device, &make);
}

/* Nobody reads what they hold: no array is needed. */
int gt_bench_device_cusparse(struct gt_bench_device *device)
{
	static const char *const names[] = {"libcusparse.so.12", "libcusparse.so.11", NULL};
	struct gt_bench_sparse *s = &device->sparse;
	int (*create)(void **);
	int (*vector)(void **, int64_t size, void *values, int type);
	int (*matrix)(void **, int64_t rows, int64_t cols, int64_t nnz, void *offsets,
		      void *indices, void *values, int of_offsets, int of_indices, int base,
		      int type);
	const struct bench_function functions[] = {
		{"cusparseCreate", &create},    {"cusparseCreateDnVec", &vector},
		{"cusparseCreateCsr", &matrix}, {"cusparseSetStream", &s->set_stream},
		{"cusparseSpMV", &s->multiply}, {NULL, NULL}};
	char *memory = (char *)(uintptr_t)device->memory;
	int error;

	device->failed = "libcusparse is not there";
	if (load(names, functions))
		return -1;
	device->failed = "cusparseCreateCsr";
	error = create(&s->handle);
	error = error ? error : vector(&s->vector, 64, memory, 0);
	return error ? error
		     : matrix(&s->matrix, 64, 64, 0, memory + 512, memory + 1024, memory + 2048, 2,
			      2, 0, 0);
}

int gt_bench_device_cusolver(struct gt_bench_device *device)
{
	static const char *const names[] = {"libcusolver.so.12", "libcusolver.so.11", NULL};
	struct gt_bench_solver *s = &device->solver;
	int (*create)(void **);
	const struct bench_function functions[] = {{"cusolverDnCreate", &create},
						   {"cusolverDnSetStream", &s->set_stream},
						   {"cusolverDnSpotrf", &s->factorize},
						   {NULL, NULL}};

	device->failed = "libcusolver is not there";
	if (load(names, functions))
		return -1;
	device->failed = "cusolverDnCreate";
	return create(&s->handle);
}

int gt_bench_device_graph(struct gt_bench_device *device, int nodes)
{
	CUstream stream;
	CUgraph graph;
	int error = 0;

	if (FAILS(stream_create(&stream, CU_STREAM_NON_BLOCKING)) ||
	    FAILS(capture_begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)))
		return error;
	for (int i = 0; !error && i < nodes; i++)
		FAILS(launch(device->kernel, 1, 1, 1, 32, 1, 1, 0, stream, NULL, NULL));
	if (error || FAILS(capture_end(stream, &graph)) ||
	    FAILS(graph_instantiate(&device->graph, graph, 0)))
		return error;
	return 0;
}
