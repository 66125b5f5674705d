/* SPDX-License-Identifier: Apache-2.0
 *
 * Which clock CUPTI's time stamps are of. It is CLOCK_REALTIME by NVIDIA's header, but under WSL,
 * and unless another tool has set a clock of its own.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_TIMESTAMP_H
#define GT_COLLECTORS_CUPTI_LIBRARY_TIMESTAMP_H

#include <stdint.h>

struct gt_cupti_api;

/* CUPTI's clock, read between two readings of CLOCK_REALTIME. */
struct gt_cupti_timestamp {
	int64_t offset_ns; /* how far it is ahead */
	uint64_t error_ns; /* half of the bracket's width, at least 1; 0: not known */
	int64_t ticks;     /* how far it is ahead of the processor's counter */
};

/* The narrowest of a few brackets. After cuInit has finished: before, it may be another clock
 * (wprof d90527f). -ENOSYS: this CUPTI does not tell, or refuses. Drain thread. */
int gt_cupti_timestamp_read(const struct gt_cupti_api *api, struct gt_cupti_timestamp *ret_stamp);

#endif
