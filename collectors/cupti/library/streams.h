/* SPDX-License-Identifier: Apache-2.0
 *
 * The stream and the kernel of a call, from CUPTI's copy of its parameters (streams.def): for work
 * that has no record yet. Application threads, inside the callback.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_STREAMS_H
#define GT_COLLECTORS_CUPTI_LIBRARY_STREAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/schema/event.h"

/* The handle cudaStreamPerThread, also for the default stream of a call with the suffix _ptsz; and
 * that of a call which concerns all streams. */
#define GT_CUPTI_STREAM_PER_THREAD 2u
#define GT_CUPTI_STREAM_ALL        UINT64_MAX

/* Flags of a row. */
enum gt_cupti_stream_flag {
	GT_CUPTI_STREAM_KNOWN = 1,  /* there is a row */
	GT_CUPTI_STREAM_LAUNCH = 2, /* of a kernel: the symbolName of the callback is valid */
	GT_CUPTI_STREAM_PLAIN = 4,  /* the handle lies at the offset, whatever it is */
};

#define GT_CUPTI_STREAM_CALLS 1024u

/* A row of the table; for the function below. */
struct gt_cupti_stream_row {
	uint8_t flags, offset; /* enum gt_cupti_stream_flag, and those of streams.c */
};

extern const struct gt_cupti_stream_row gt_cupti_stream_rows[GT_API_DOMAIN_COUNT_]
							    [GT_CUPTI_STREAM_CALLS];

/* What the parameters of a call say. */
struct gt_cupti_stream {
	uint64_t handle; /* as the program gave it, or one of the two above */
	bool is_launch;
};

/* The same for rows that are not plain. */
bool gt_cupti_stream_find(struct gt_cupti_stream_row row, const void *parameters,
			  struct gt_cupti_stream *ret_stream);

/* Fills @ret_stream from the parameters of a call. False: the call has no stream. Hot. */
static inline bool gt_cupti_stream_of(enum gt_api_domain domain, uint32_t cbid,
				      const void *parameters, struct gt_cupti_stream *ret_stream)
{
	struct gt_cupti_stream_row row;

	if (cbid >= GT_CUPTI_STREAM_CALLS)
		return false;
	row = gt_cupti_stream_rows[domain][cbid];
	if (!row.flags)
		return false;
	if (!(row.flags & GT_CUPTI_STREAM_PLAIN) || !parameters)
		return gt_cupti_stream_find(row, parameters, ret_stream);
	ret_stream->is_launch = row.flags & GT_CUPTI_STREAM_LAUNCH;
	memcpy(&ret_stream->handle, (const char *)parameters + row.offset,
	       sizeof(ret_stream->handle));
	return true;
}

#endif
