/* SPDX-License-Identifier: Apache-2.0
 *
 * A call of a library that computes (cuBLAS, cuFFT, cuDNN, cuSPARSE, cuSOLVER), as
 * libgputrace-cublas.so and others like it (preload/libraries) see it, as the trace holds it, and
 * as the kernels that it launches show it. Pure functions, any thread.
 */
#ifndef GT_CORE_SCHEMA_MATH_CALL_H
#define GT_CORE_SCHEMA_MATH_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The functions of core/schema/cublas.def and core/schema/calls. The numbers are in no file. */
enum gt_math_function {
	GT_MATH_NONE,
#define GT_CUBLAS(family, formula, symbol, name, index, types) GT_MATH_##symbol,
#include "core/schema/cublas.def"
#define GT_CUFFT(family, formula, symbol, type) GT_MATH_##symbol,
#include "core/schema/calls/cufft.def"
#define GT_CUDNN(symbol, describe, parameters, arguments) GT_MATH_##symbol,
#include "core/schema/calls/cudnn.def"
#define GT_CUSPARSE(symbol, describe, parameters, arguments)           GT_MATH_##symbol,
#define GT_CUSPARSE_MAKE(symbol, kind, made, parameters, arguments)    GT_MATH_##symbol,
#define GT_CUSPARSE_DESTROY(symbol, descriptor, parameters, arguments) GT_MATH_##symbol,
#include "core/schema/calls/cusparse.def"
#define GT_CUSOLVER(symbol, formula, describe, parameters, arguments) GT_MATH_##symbol,
#include "core/schema/calls/cusolver.def"
	GT_MATH_FUNCTION_COUNT_
};

#define GT_MATH_FUNCTIONS 4095 /* the largest number that there is room for */

/* Which of the sizes the function takes. Of a transform m, n and k are its dimensions. */
enum { GT_MATH_M = 1, GT_MATH_N = 2, GT_MATH_K = 4, GT_MATH_BATCH = 8 };

/* gt_math_call.once: the matrix is the same one for the whole batch. */
enum { GT_MATH_SAME_A = 1, GT_MATH_SAME_B = 2 };

/* Why a call has no sizes, or wrong ones: fault of the program, but for the last. */
enum gt_math_unknown {
	GT_MATH_SIZES_KNOWN, /* or the function tells none */
	GT_MATH_UNKNOWN_DESCRIPTOR,
	GT_MATH_FREED_DESCRIPTOR,
	GT_MATH_OUT_OF_RANGE, /* below 0, or not those of one operation */
	GT_MATH_UNKNOWN_VERSION,
	GT_MATH_UNKNOWN_COUNT_
};

/* Zeroed: no such call. Its bytes may come from anywhere: any value means something. */
struct gt_math_call {
	uint64_t flops; /* that the call asks for; 0: not claimed */
	uint64_t bytes; /* of its operands, each counted once; 0: not known */
	union {
		uint8_t shapes[32]; /* of cuDNN, if sizes is 0: core/schema/calls/shapes.h */
		struct {
			int64_t m, n, k, batch; /* as the program gave them */
		};
	};
	uint64_t nnz;    /* stored elements of the sparse operand; 0: not known, or none */
	uint32_t number; /* of the call in its process: its kernels have it, too; 0: not known */
	union {
		int32_t algorithm;   /* cublasGemmAlgo_t, if has_algorithm */
		uint32_t operations; /* else, of cuDNN: see gt_math_operations() */
		uint32_t epilogue;   /* else: cublasLtEpilogue_t; 0: not known, or has none */
	};
	uint16_t function : 12; /* enum gt_math_function */
	uint16_t unknown : 4;   /* enum gt_math_unknown */
	uint8_t a, b, c;        /* cudaDataType + 1 of the operands; 0: there is none */
	uint8_t compute;        /* cublasComputeType_t, or cudaDataType + 1; 0: not known */
	uint8_t sizes : 4;      /* GT_MATH_M, ... */
	uint8_t once : 2;       /* GT_MATH_SAME_A, ... In no trace */
	uint8_t has_algorithm : 1;
	uint8_t overflow : 1;           /* the FLOPs are more than fit into 63 bits */
	uint8_t transa : 3, transb : 3; /* cublasOperation_t + 1; 0: none, 7: not known */
	uint8_t side : 2; /* cublasSideMode_t + 1, or of a transform 1: forward, 2: inverse; 0:
			     none, 3: not known */
};

/* "cublasSgemm"; NULL: none. */
const char *gt_math_function(unsigned int function);

/* "cublas"; NULL: there is no such function. */
const char *gt_math_library(unsigned int function);

/* Its sizes are those of a transform. */
bool gt_math_is_transform(unsigned int function);

/* It is one of cuDNN. */
bool gt_math_is_network(unsigned int function);

/* What a graph of cuDNN does, in its order, 4 bits each from the lowest on, 0 behind the last. */
enum {
	GT_MATH_NO_OPERATION,
	GT_MATH_CONVOLUTION,
	GT_MATH_CONVOLUTION_DATA,
	GT_MATH_CONVOLUTION_FILTER,
	GT_MATH_MATMUL,
	GT_MATH_POINTWISE,
	GT_MATH_REDUCTION,
	GT_MATH_NORM,
	GT_MATH_NORM_GRADIENT,
	GT_MATH_ATTENTION,
	GT_MATH_ATTENTION_GRADIENT,
	GT_MATH_RESHAPE,
	GT_MATH_RESAMPLE,
	GT_MATH_OTHER,
	GT_MATH_MORE, /* more than there is room for */
	GT_MATH_OPERATION_COUNT_
};

#define GT_MATH_OPERATIONS_TEXT 112

/* "conv+pointwise"; "": none. */
void gt_math_operations(uint32_t operations, char out[GT_MATH_OPERATIONS_TEXT]);

/* And back. */
uint32_t gt_math_find_operations(const char *text, size_t length);

/* The function of that name; GT_MATH_NONE: none. */
enum gt_math_function gt_math_find_function(const char *name, size_t length);

/* PyTorch's name of a cudaDataType + 1, "Float"; NULL: none. And back, 0: none. */
const char *gt_math_type(uint8_t type);
uint8_t gt_math_find_type(const char *name, size_t length);

/* Bits of one of it; 0: none. */
unsigned int gt_math_type_bits(uint8_t type);

/* "CUBLAS_COMPUTE_32F_FAST_TF32", or what gt_math_type() says; NULL: not known. And back. */
const char *gt_math_compute(uint8_t compute);
uint8_t gt_math_find_compute(const char *name, size_t length);

/* "freed descriptor"; NULL: the sizes are known. And back. */
const char *gt_math_unknown(unsigned int unknown);
enum gt_math_unknown gt_math_find_unknown(const char *text, size_t length);

/* A size is below 0. */
bool gt_math_is_out_of_range(const struct gt_math_call *call);

/* "CUBLASLT_EPILOGUE_BIAS"; NULL: none, the default or not known. And back, 0: none. */
const char *gt_math_epilogue(uint32_t epilogue);
uint32_t gt_math_find_epilogue(const char *name, size_t length);

/* Sets flops, bytes and overflow from the other members, by the formula of the function:
 * multiplications and additions of the textbook, a complex one being 6 and 2; alpha and beta are
 * left out, as is an epilogue; a transform as in core/schema/calls/fft.h. Nothing is set for sizes
 * below 0. */
void gt_math_count(struct gt_math_call *call);

#endif
