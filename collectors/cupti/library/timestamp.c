/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/library/timestamp.h"

#include <errno.h>
#include <time.h>

#include "collectors/cupti/library/load.h"
#include "core/arch/arch.h"

#define TRIES 5

static uint64_t read_realtime(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int gt_cupti_timestamp_read(const struct gt_cupti_api *api, struct gt_cupti_timestamp *ret_stamp)
{
	uint64_t narrowest = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t stamp, before = read_realtime(), width;

		if (!api->cuptiGetTimestamp || api->cuptiGetTimestamp(&stamp) != CUPTI_SUCCESS)
			return -ENOSYS;
		width = read_realtime() - before;
		if (width >= narrowest) /* or the clock was set back */
			continue;
		narrowest = width;
		ret_stamp->offset_ns = (int64_t)(stamp - (before + width / 2));
		ret_stamp->error_ns = width / 2 + 1;
		ret_stamp->ticks = (int64_t)(stamp - gt_arch_ticks());
	}
	return narrowest == UINT64_MAX ? -ENOSYS : 0;
}
