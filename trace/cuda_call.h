/* SPDX-License-Identifier: Apache-2.0
 *
 * What a CUDA call in a trace does, by its name: the table of CUDA calls (core/schema/cuda_api.def)
 * for readers of traces, which have no cbid. Any thread.
 */
#ifndef GT_TRACE_CUDA_CALL_H
#define GT_TRACE_CUDA_CALL_H

#include <stddef.h>

#include "core/schema/cuda_api.h"

/* What a call does, as far as the host's time is concerned. */
enum gt_cuda_call {
	GT_CUDA_CALL_OTHER,
	GT_CUDA_CALL_ENQUEUES, /* starts work, or puts a host function into a stream, and returns */
	GT_CUDA_CALL_BLOCKS,   /* the host may wait in it for GPU work */
};

/*
 * @name as a trace has it: "cudaMemcpy", "cuMemcpyDtoH_v2_ptds", "cudaLaunchKernel_v7000"; a
 * version and a suffix for per-thread default streams are ignored where the table has no row of
 * that name. HIP's, SYCL's and Level Zero's names are known too.
 */
enum gt_cuda_call gt_cuda_call_of(const char *name);

/* The class of the call in that table, HIP's as CUDA's; GT_CUDA_CLASS_COUNT_: it is not known. */
enum gt_cuda_class gt_cuda_class_of(const char *name);

#endif
