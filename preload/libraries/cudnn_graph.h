/* SPDX-License-Identifier: Apache-2.0
 *
 * How much cuDNN computes, from tensors and windows as descriptors have them. Numbers are the
 * program's: any may come. Pure functions, any thread.
 */
#ifndef GT_PRELOAD_LIBRARIES_CUDNN_GRAPH_H
#define GT_PRELOAD_LIBRARIES_CUDNN_GRAPH_H

#include <stdbool.h>

#include "core/schema/math_call.h"

#define CUDNN_RANK   8 /* CUDNN_DIM_MAX */
#define CUDNN_PLACES 3

/* What a descriptor says of a tensor or a filter. */
struct cudnn_tensor {
	int64_t dims[CUDNN_RANK]; /* N, C, ... or K, C, ..., in any memory order */
	uint8_t rank;             /* 0: not known */
	uint8_t type;             /* cudaDataType + 1; 0: not known */
	bool is_virtual;          /* between two operations of a graph: in no memory */
};

/* ... of a convolution, or of the type in which a product is computed. */
struct cudnn_window {
	int64_t before[CUDNN_PLACES], after[CUDNN_PLACES]; /* padding */
	int64_t stride[CUDNN_PLACES], dilation[CUDNN_PLACES];
	uint8_t places;
	uint8_t compute; /* cudaDataType + 1; 0: not known */
};

/* An operation: what is multiplied by what. */
struct cudnn_operation {
	uint8_t kind;                /* GT_MATH_CONVOLUTION, ... */
	struct cudnn_tensor x, w, y; /* input, filter, output; A, B, C; Q, V, O */
	struct cudnn_window window;
	bool varies; /* the tensors have room for more than what is computed */
};

/* What a graph computes, as its operations are added. */
struct cudnn_work {
	struct gt_math_call call;
	uint32_t operations, products; /* how many; those whose FLOPs are counted */
	bool incomplete;               /* of one it is not known what it computes */
	bool no_bytes;                 /* ... how many bytes its operands have */
	struct cudnn_tensor output;    /* of the first product, if it is virtual */
};

/* cudaDataType + 1 of a cudnnDataType_t; 0: none. */
uint8_t cudnn_type(int64_t type);

/* Sets the sizes of @call to those of a tensor. */
void cudnn_describe_shape(struct gt_math_call *call, const struct cudnn_tensor *tensor);

/* Adds an operation, in the order of the graph. */
void cudnn_work_add(struct cudnn_work *work, const struct cudnn_operation *operation);

/* Without FLOPs if something is not known. */
struct gt_math_call cudnn_work_call(const struct cudnn_work *work);

#endif
