/* SPDX-License-Identifier: Apache-2.0
 *
 * What --flight-recorder asks for: how much of the newest is kept.
 */
#ifndef GT_CORE_WINDOW_FLIGHT_PLAN_H
#define GT_CORE_WINDOW_FLIGHT_PLAN_H

#include <stdint.h>

/* Both are limits; keep_ns 0: there is no recorder. */
struct gt_flight_plan {
	uint64_t keep_ns;
	uint64_t bytes;
};

/* "TIME[,SIZE]": 30s,256M; "" or "off": none. Any thread. -EINVAL: something else; -ERANGE: less
 * than 10 ms or 1 MiB, more than 1 day or 64 GiB. */
int gt_flight_plan_parse(const char *text, struct gt_flight_plan *ret_plan);

#endif
