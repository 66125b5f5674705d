/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream and the kernel of a call, from CUPTI's copy of its parameters (streams.def): for work
 * that has no record yet. Application threads, inside the callback.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_STREAMS_H
#define GT_COLLECTORS_CUPTI_LIBRARY_STREAMS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/event.h"

/* What the parameters of a call say. */
struct gt_cupti_stream {
	uint64_t handle; /* as the program gave it; GT_CUPTI_STREAM_PER_THREAD: the thread's default
			  */
	bool is_launch;  /* of a kernel: the symbolName of the callback is valid */
};

/* The handle cudaStreamPerThread, also for the default stream of a call with the suffix _ptsz; and
 * that of a call which concerns all streams. */
#define GT_CUPTI_STREAM_PER_THREAD 2u
#define GT_CUPTI_STREAM_ALL        UINT64_MAX

/* Fills @ret_stream from the parameters of a call. False: the call has no stream. */
bool gt_cupti_stream_of(enum gt_api_domain domain, uint32_t cbid, const void *parameters,
			struct gt_cupti_stream *ret_stream);

#endif
