/* SPDX-License-Identifier: Apache-2.0
 *
 * What the plans of cuFFT transform: of the newest few thousand that are there at one time. Any
 * thread; no lock, no allocation, no system call. Numbers are the program's: any may come.
 */
#ifndef GT_PRELOAD_LIBRARIES_FFT_PLANS_H
#define GT_PRELOAD_LIBRARIES_FFT_PLANS_H

#include "core/schema/math_call.h"

/* Sets sizes and types of @call: @rank dimensions at @n, cufftType @type. With a rank that cuFFT
 * does not have, or without @n, no sizes. */
void fft_describe(struct gt_math_call *call, int rank, const long long *n, int type,
		  long long batch);
void fft_describe_ints(struct gt_math_call *call, int rank, const int *n, int type,
		       long long batch);

/* The same with cudaDataType of input, output and of what it is computed @by. */
void fft_describe_typed(struct gt_math_call *call, int rank, const long long *n, int in, int out,
			int by, long long batch);

/* What @call says does not hold for this version of cuFFT. */
void fft_forget_sizes(struct gt_math_call *call);

/* There is a plan at @plan, unless cuFFT @failed. */
void fft_plan_made(const int *plan, int failed);

/* @plan transforms what @call says; nothing if cuFFT @failed. */
void fft_plan_keep(int plan, const struct gt_math_call *call, int failed);

/* Before it is destroyed: another thread may get the same number. */
void fft_plan_forget(int plan);

/* Sets what @plan transforms, with FLOPs and bytes, and @direction, which a transform with a real
 * side has no choice of. A plan that is not known: only the types of @type, if that is not 0. */
void fft_plan_use(int plan, int type, int direction, struct gt_math_call *call);

#endif
