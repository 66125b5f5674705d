/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that uses cuDNN, written against cudnn.h. Prints the status of each call.
 *
 *   networks all      legacy functions, and plans of the backend
 *   networks wrong    calls that fail, sizes that are too large, a plan that nobody knows
 */
#include <cuda.h>
#include <cudnn.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOW(call) printf("%.*s: %d\n", (int)strcspn(#call, "("), #call, (int)(call))
#define NEEDS(call)                                                                                \
	do {                                                                                       \
		if (call)                                                                          \
			exit(3);                                                                   \
	} while (0)
#define SIZES(...) ((const int[]){__VA_ARGS__})

static const float one = 1;
static void *data;
static cudnnHandle_t handle;

static cudnnTensorDescriptor_t tensor(cudnnDataType_t type, int rank, const int *dims)
{
	cudnnTensorDescriptor_t made;

	NEEDS(cudnnCreateTensorDescriptor(&made));
	NEEDS(cudnnSetTensorNdDescriptor(made, type, rank, dims, dims));
	return made;
}

static cudnnFilterDescriptor_t filter(cudnnDataType_t type, int rank, const int *dims)
{
	cudnnFilterDescriptor_t made;

	NEEDS(cudnnCreateFilterDescriptor(&made));
	NEEDS(cudnnSetFilterNdDescriptor(made, type, CUDNN_TENSOR_NHWC, rank, dims));
	return made;
}

static cudnnConvolutionDescriptor_t window(int places, const int *padding, const int *stride,
					   const int *dilation, int groups, cudnnMathType_t math)
{
	cudnnConvolutionDescriptor_t made;

	NEEDS(cudnnCreateConvolutionDescriptor(&made));
	NEEDS(cudnnSetConvolutionNdDescriptor(made, places, padding, stride, dilation,
					      CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
	NEEDS(cudnnSetConvolutionGroupCount(made, groups));
	NEEDS(cudnnSetConvolutionMathType(made, math));
	return made;
}

static void legacy(void)
{
	cudnnTensorDescriptor_t x = tensor(CUDNN_DATA_HALF, 4, SIZES(8, 64, 56, 57));
	cudnnFilterDescriptor_t w = filter(CUDNN_DATA_HALF, 4, SIZES(128, 32, 3, 5));
	cudnnConvolutionDescriptor_t c =
		window(2, SIZES(1, 2), SIZES(2, 1), SIZES(1, 2), 2, CUDNN_TENSOR_OP_MATH);
	cudnnTensorDescriptor_t y = tensor(CUDNN_DATA_HALF, 4, SIZES(8, 128, 28, 53));
	cudnnTensorDescriptor_t v = tensor(CUDNN_DATA_FLOAT, 5, SIZES(1, 2, 6, 6, 6));
	cudnnFilterDescriptor_t u = filter(CUDNN_DATA_FLOAT, 5, SIZES(3, 2, 1, 2, 3));
	cudnnConvolutionDescriptor_t d =
		window(3, SIZES(0, 0, 0), SIZES(1, 1, 1), SIZES(1, 1, 1), 1, CUDNN_FMA_MATH);

	SHOW(cudnnConvolutionForward(handle, &one, x, data, w, data, c,
				     CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, data, 0,
				     &one, y, data));
	SHOW(cudnnConvolutionBackwardData(handle, &one, w, data, y, data, c,
					  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1, data, 0, &one, x,
					  data));
	SHOW(cudnnConvolutionBackwardFilter(handle, &one, v, data, v, data, d,
					    CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, data, 0, &one, u,
					    data));
	SHOW(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x,
				 data, &one, x, data));
	SHOW(cudnnBatchNormalizationForwardInference(handle, CUDNN_BATCHNORM_SPATIAL, &one, &one, v,
						     data, v, data, v, data, data, data, data,
						     1e-5));
}

/* ---- the backend ---- */

#define LIST(...) ((const int64_t[]){__VA_ARGS__})

static cudnnBackendDescriptor_t backend(cudnnBackendDescriptorType_t type)
{
	cudnnBackendDescriptor_t made;

	NEEDS(cudnnBackendCreateDescriptor(type, &made));
	return made;
}

static void put(cudnnBackendDescriptor_t of, cudnnBackendAttributeName_t name,
		cudnnBackendDescriptor_t value)
{
	NEEDS(cudnnBackendSetAttribute(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &value));
}

static cudnnBackendDescriptor_t in_graph(cudnnDataType_t type, int64_t rank, const int64_t *dims,
					 bool is_virtual)
{
	cudnnBackendDescriptor_t made = backend(CUDNN_BACKEND_TENSOR_DESCRIPTOR);

	NEEDS(cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
				       &type));
	NEEDS(cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank,
				       dims));
	NEEDS(cudnnBackendSetAttribute(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1,
				       &is_virtual));
	NEEDS(cudnnBackendFinalize(made));
	return made;
}

static cudnnBackendDescriptor_t convolution(const int64_t *before, const int64_t *after)
{
	cudnnBackendDescriptor_t made = backend(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;

	NEEDS(cudnnBackendSetAttribute(made, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
				       1, &type));
	NEEDS(cudnnBackendSetAttribute(made, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2,
				       LIST(1, 1)));
	NEEDS(cudnnBackendSetAttribute(made, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES,
				       CUDNN_TYPE_INT64, 2, LIST(1, 1)));
	NEEDS(cudnnBackendSetAttribute(made, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64,
				       2, before));
	NEEDS(cudnnBackendSetAttribute(made, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64,
				       2, after));
	return made;
}

/* A convolution; its descriptors are gone when it is used. */
static cudnnBackendDescriptor_t forward(const int64_t *padding_after, const int64_t *output)
{
	cudnnBackendDescriptor_t made =
		backend(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
	cudnnBackendDescriptor_t parts[] = {
		in_graph(CUDNN_DATA_BFLOAT16, 4, LIST(4, 16, 10, 10), false),
		in_graph(CUDNN_DATA_BFLOAT16, 4, LIST(32, 16, 3, 3), false),
		in_graph(CUDNN_DATA_BFLOAT16, 4, output, true),
		convolution(LIST(1, 1), padding_after)};

	put(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, parts[0]);
	put(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, parts[1]);
	put(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, parts[2]);
	put(made, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, parts[3]);
	NEEDS(cudnnBackendFinalize(made));
	for (int i = 0; i < 4; i++)
		NEEDS(cudnnBackendDestroyDescriptor(parts[i]));
	return made;
}

static cudnnBackendDescriptor_t product(const int64_t *a, bool a_virtual, const int64_t *b,
					const int64_t *c, bool c_virtual)
{
	cudnnBackendDescriptor_t made = backend(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
	cudnnBackendDescriptor_t way = backend(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
	const cudnnDataType_t type = CUDNN_DATA_FLOAT;

	NEEDS(cudnnBackendSetAttribute(way, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1,
				       &type));
	put(made, CUDNN_ATTR_OPERATION_MATMUL_ADESC, in_graph(CUDNN_DATA_HALF, 4, a, a_virtual));
	put(made, CUDNN_ATTR_OPERATION_MATMUL_BDESC, in_graph(CUDNN_DATA_HALF, 4, b, false));
	put(made, CUDNN_ATTR_OPERATION_MATMUL_CDESC, in_graph(CUDNN_DATA_HALF, 4, c, c_virtual));
	put(made, CUDNN_ATTR_OPERATION_MATMUL_DESC, way);
	return made;
}

/* Through heuristics, or an engine of its own. */
static cudnnBackendDescriptor_t plan_of(cudnnBackendDescriptor_t *operations, int64_t count,
					bool ask)
{
	cudnnBackendDescriptor_t graph = backend(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
	cudnnBackendDescriptor_t from = backend(ask ? CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR
						    : CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	cudnnBackendDescriptor_t configuration = backend(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	cudnnBackendDescriptor_t plan = backend(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
	int64_t found = 0;

	NEEDS(cudnnBackendSetAttribute(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS,
				       CUDNN_TYPE_BACKEND_DESCRIPTOR, count, operations));
	put(from, ask ? CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH : CUDNN_ATTR_ENGINE_OPERATION_GRAPH,
	    graph);
	if (ask)
		NEEDS(cudnnBackendGetAttribute(from, CUDNN_ATTR_ENGINEHEUR_RESULTS,
					       CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found,
					       &configuration));
	else
		put(configuration, CUDNN_ATTR_ENGINECFG_ENGINE, from);
	put(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
	NEEDS(cudnnBackendFinalize(plan));
	NEEDS(cudnnBackendDestroyDescriptor(configuration));
	NEEDS(cudnnBackendDestroyDescriptor(from));
	NEEDS(cudnnBackendDestroyDescriptor(graph));
	return plan;
}

static void plans(void)
{
	cudnnBackendDescriptor_t pack = backend(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	cudnnBackendDescriptor_t fused[] = {forward(LIST(1, 1), LIST(4, 32, 10, 10)),
					    backend(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR)};
	cudnnBackendDescriptor_t uneven[] = {forward(LIST(0, 0), LIST(4, 32, 9, 9))};
	cudnnBackendDescriptor_t attention[] = {
		product(LIST(2, 8, 100, 64), false, LIST(2, 8, 64, 120), LIST(2, 8, 100, 120),
			true),
		backend(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR),
		backend(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR),
		product(LIST(2, 8, 100, 120), true, LIST(2, 8, 120, 64), LIST(2, 8, 100, 64),
			false)};

	SHOW(cudnnBackendExecute(handle, plan_of(fused, 2, true), pack));
	SHOW(cudnnBackendExecute(handle, plan_of(uneven, 1, false), pack));
	SHOW(cudnnBackendExecute(handle, plan_of(attention, 4, false), pack));
}

static int all(void)
{
	legacy();
	plans();
	SHOW(cuCtxSynchronize());
	SHOW(cudnnDestroy(handle));
	return 0;
}

static int wrong(void)
{
	cudnnTensorDescriptor_t huge =
		tensor(CUDNN_DATA_FLOAT, 4, SIZES(INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX));
	cudnnFilterDescriptor_t w = filter(CUDNN_DATA_FLOAT, 4, SIZES(128, INT32_MAX, 1, 1));
	cudnnFilterDescriptor_t odd = filter(CUDNN_DATA_FLOAT, 4, SIZES(4, 7, 1, 1));
	cudnnTensorDescriptor_t x = tensor(CUDNN_DATA_FLOAT, 4, SIZES(1, 8, 2, 2));
	cudnnConvolutionDescriptor_t c =
		window(2, SIZES(0, 0), SIZES(1, 1), SIZES(1, 1), 1, CUDNN_DEFAULT_MATH);
	cudnnTensorDescriptor_t freed = (cudnnTensorDescriptor_t)16;
	cudnnBackendDescriptor_t unknown[] = {data}, pack, gone;
	cudnnBackendDescriptor_t known[] = {forward(LIST(1, 1), LIST(4, 32, 10, 10))};
	cudnnBackendDescriptor_t varying[] = {product(
		LIST(2, 8, 100, 64), false, LIST(2, 8, 64, 120), LIST(2, 8, 100, 120), false)};

	SHOW(cudnnConvolutionForward(NULL, &one, NULL, data, NULL, data, NULL,
				     CUDNN_CONVOLUTION_FWD_ALGO_GEMM, data, 0, &one, NULL, data));
	SHOW(cudnnConvolutionForward(handle, &one, huge, data, w, data, c,
				     CUDNN_CONVOLUTION_FWD_ALGO_GEMM, data, 0, &one, huge, data));
	SHOW(cudnnConvolutionForward(handle, &one, x, data, odd, data, c,
				     CUDNN_CONVOLUTION_FWD_ALGO_GEMM, data, 0, &one, x, data));
	SHOW(cudnnBackendExecute(handle, (cudnnBackendDescriptor_t)16, NULL));
	SHOW(cudnnBackendExecute(handle, plan_of(unknown, 1, true), NULL));
	SHOW(cudnnSoftmaxForward(NULL, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, &one, freed,
				 data, &one, freed, data));
	put(varying[0], CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC,
	    in_graph(CUDNN_DATA_INT32, 4, LIST(2, 1, 1, 1), false));
	SHOW(cudnnBackendExecute(handle, plan_of(varying, 1, true), NULL));
	pack = backend(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
	NEEDS(cudnnBackendSetAttribute(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES,
				       CUDNN_TYPE_INT64, 4, LIST(1, 16, 10, 10)));
	SHOW(cudnnBackendExecute(handle, plan_of(known, 1, true), pack));
	gone = plan_of(known, 1, true);
	NEEDS(cudnnBackendDestroyDescriptor(gone));
	SHOW(cudnnBackendExecute(handle, gone, NULL));
	NEEDS(cudnnDestroyTensorDescriptor(x));
	SHOW(cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_FAST, CUDNN_SOFTMAX_MODE_CHANNEL, &one, x,
				 data, &one, x, data));
	SHOW(cuCtxSynchronize());
	return 0;
}

int main(int argc, char **argv)
{
	CUcontext context;

	if (argc != 2)
		return 2;
	NEEDS(cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context));
	NEEDS(cudnnCreate(&handle));
	if (!strcmp(argv[1], "all"))
		return all();
	return !strcmp(argv[1], "wrong") ? wrong() : 2;
}
