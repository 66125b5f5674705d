/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulated libcudnn.so.9, with the prototypes of the toolkit's header: descriptors of the
 * legacy functions, and kernels that compute nothing. SIM_CUDNN_VERSION: what it says it is.
 */
#include <cudnn.h>
#include <stdlib.h>
#include <string.h>

#include "libraries/launch.h"

struct cudnnContext {
	cudaStream_t stream;
};

struct cudnnTensorStruct {
	cudnnDataType_t type;
	int rank, dims[CUDNN_DIM_MAX];
};

struct cudnnFilterStruct {
	struct cudnnTensorStruct tensor;
	cudnnTensorFormat_t format;
};

struct cudnnConvolutionStruct {
	int places, padding[3], stride[3], dilation[3], groups;
	cudnnConvolutionMode_t mode;
	cudnnDataType_t type;
	cudnnMathType_t math;
};

#define MAKE(name, type)                                                                           \
	SIM_LIBRARY_EXPORT cudnnStatus_t cudnnCreate##name(type *descriptor)                       \
	{                                                                                          \
		*descriptor = calloc(1, sizeof(**descriptor));                                     \
		return *descriptor ? CUDNN_STATUS_SUCCESS                                          \
				   : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;           \
	}                                                                                          \
	SIM_LIBRARY_EXPORT cudnnStatus_t cudnnDestroy##name(type descriptor)                       \
	{                                                                                          \
		free(descriptor);                                                                  \
		return CUDNN_STATUS_SUCCESS;                                                       \
	}

MAKE(TensorDescriptor, cudnnTensorDescriptor_t)
MAKE(FilterDescriptor, cudnnFilterDescriptor_t)
MAKE(ConvolutionDescriptor, cudnnConvolutionDescriptor_t)

SIM_LIBRARY_EXPORT size_t cudnnGetVersion(void)
{
	const char *version = getenv("SIM_CUDNN_VERSION");

	return version ? (size_t)atol(version) : 91900;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
	if (!sim_library_start())
		return CUDNN_STATUS_NOT_INITIALIZED;
	*handle = calloc(1, sizeof(**handle));
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
	if (!handle)
		return CUDNN_STATUS_NOT_INITIALIZED;
	handle->stream = stream;
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
	free(handle);
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t t,
							    cudnnDataType_t type, int rank,
							    const int *dims, const int *strides)
{
	if (rank < 1 || rank > CUDNN_DIM_MAX)
		return CUDNN_STATUS_BAD_PARAM;
	t->type = type;
	t->rank = rank;
	memcpy(t->dims, dims, sizeof(*dims) * (size_t)rank);
	return CUDNN_STATUS_SUCCESS;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t t,
							    int wanted, cudnnDataType_t *type,
							    int *rank, int *dims, int *strides)
{
	*type = t->type;
	*rank = t->rank;
	memcpy(dims, t->dims, sizeof(*dims) * (size_t)least(wanted, t->rank));
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t f,
							    cudnnDataType_t type,
							    cudnnTensorFormat_t format, int rank,
							    const int *dims)
{
	f->format = format;
	return cudnnSetTensorNdDescriptor(&f->tensor, type, rank, dims, NULL);
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnGetFilterNdDescriptor(const cudnnFilterDescriptor_t f,
							    int wanted, cudnnDataType_t *type,
							    cudnnTensorFormat_t *format, int *rank,
							    int *dims)
{
	*format = f->format;
	return cudnnGetTensorNdDescriptor(&f->tensor, wanted, type, rank, dims, NULL);
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnSetConvolutionNdDescriptor(
	cudnnConvolutionDescriptor_t c, int places, const int *padding, const int *stride,
	const int *dilation, cudnnConvolutionMode_t mode, cudnnDataType_t type)
{
	if (places < 1 || places > 3)
		return CUDNN_STATUS_BAD_PARAM;
	*c = (struct cudnnConvolutionStruct){
		.places = places, .groups = 1, .mode = mode, .type = type};
	memcpy(c->padding, padding, sizeof(*padding) * (size_t)places);
	memcpy(c->stride, stride, sizeof(*stride) * (size_t)places);
	memcpy(c->dilation, dilation, sizeof(*dilation) * (size_t)places);
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnGetConvolutionNdDescriptor(
	const cudnnConvolutionDescriptor_t c, int wanted, int *places, int *padding, int *stride,
	int *dilation, cudnnConvolutionMode_t *mode, cudnnDataType_t *type)
{
	size_t size = sizeof(int) * (size_t)least(wanted, c->places);

	*places = c->places;
	memcpy(padding, c->padding, size);
	memcpy(stride, c->stride, size);
	memcpy(dilation, c->dilation, size);
	*mode = c->mode;
	*type = c->type;
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t c,
							       int groups)
{
	c->groups = groups;
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t c,
							     cudnnMathType_t math)
{
	c->math = math;
	return CUDNN_STATUS_SUCCESS;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnGetConvolutionMathType(cudnnConvolutionDescriptor_t c,
							     cudnnMathType_t *math)
{
	*math = c->math;
	return CUDNN_STATUS_SUCCESS;
}

/* Without a handle nothing is read. */
static cudnnStatus_t launch(cudnnHandle_t handle, const void *descriptor, const char *name)
{
	if (!handle)
		return CUDNN_STATUS_NOT_INITIALIZED;
	if (!descriptor)
		return CUDNN_STATUS_BAD_PARAM;
	return sim_library_launch(handle->stream, name) ? CUDNN_STATUS_SUCCESS
							: CUDNN_STATUS_EXECUTION_FAILED;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnConvolutionForward(
	cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_of, const void *x,
	const cudnnFilterDescriptor_t w_of, const void *w, const cudnnConvolutionDescriptor_t c,
	cudnnConvolutionFwdAlgo_t algorithm, void *room, size_t size, const void *beta,
	const cudnnTensorDescriptor_t y_of, void *y)
{
	cudnnStatus_t status = launch(handle, x_of, "sim_nchw_to_nhwc");

	return status ? status : launch(handle, c, "sim_cudnn_fprop");
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnConvolutionBackwardData(
	cudnnHandle_t handle, const void *alpha, const cudnnFilterDescriptor_t w_of, const void *w,
	const cudnnTensorDescriptor_t dy_of, const void *dy, const cudnnConvolutionDescriptor_t c,
	cudnnConvolutionBwdDataAlgo_t algorithm, void *room, size_t size, const void *beta,
	const cudnnTensorDescriptor_t dx_of, void *dx)
{
	return launch(handle, c, "sim_cudnn_dgrad");
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnConvolutionBackwardFilter(
	cudnnHandle_t handle, const void *alpha, const cudnnTensorDescriptor_t x_of, const void *x,
	const cudnnTensorDescriptor_t dy_of, const void *dy, const cudnnConvolutionDescriptor_t c,
	cudnnConvolutionBwdFilterAlgo_t algorithm, void *room, size_t size, const void *beta,
	const cudnnFilterDescriptor_t dw_of, void *dw)
{
	return launch(handle, c, "sim_cudnn_wgrad");
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnSoftmaxForward(cudnnHandle_t handle,
						     cudnnSoftmaxAlgorithm_t algorithm,
						     cudnnSoftmaxMode_t mode, const void *alpha,
						     const cudnnTensorDescriptor_t x_of,
						     const void *x, const void *beta,
						     const cudnnTensorDescriptor_t y_of, void *y)
{
	return launch(handle, x_of, "sim_cudnn_softmax");
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnBatchNormalizationForwardInference(
	cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void *alpha, const void *beta,
	const cudnnTensorDescriptor_t x_of, const void *x, const cudnnTensorDescriptor_t y_of,
	void *y, const cudnnTensorDescriptor_t norm_of, const void *scale, const void *bias,
	const void *mean, const void *variance, double epsilon)
{
	return epsilon == 1e-5 ? launch(handle, x_of, "sim_cudnn_bn") : CUDNN_STATUS_BAD_PARAM;
}

SIM_LIBRARY_EXPORT cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
						     cudnnBackendDescriptor_t plan,
						     cudnnBackendDescriptor_t pack)
{
	return launch(handle, plan, "sim_cudnn_plan");
}
