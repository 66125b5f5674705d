/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/window/flight_plan.h"

#include <errno.h>
#include <string.h>

#include "core/guest/text.h"
#include "core/window/when.h"

#define MIB         ((uint64_t)1 << 20)
#define BYTES       (256 * MIB) /* without a size */
#define BYTES_LEAST MIB
#define BYTES_MOST  (64 * 1024 * MIB)
#define TIME_LEAST  UINT64_C(10000000)
#define TIME_MOST   UINT64_C(86400000000000)

int gt_flight_plan_parse(const char *text, struct gt_flight_plan *ret_plan)
{
	struct gt_flight_plan plan = {.bytes = BYTES};
	int rc;

	*ret_plan = (struct gt_flight_plan){0};
	if (!*text || !strcmp(text, "off"))
		return 0;
	rc = gt_when_span(text, &text, &plan.keep_ns);
	if (!rc && *text == ',')
		rc = gt_text_parse_size(text + 1, &text, &plan.bytes);
	if (rc)
		return rc;
	if (*text)
		return -EINVAL;
	if (plan.keep_ns < TIME_LEAST || plan.keep_ns > TIME_MOST || plan.bytes < BYTES_LEAST ||
	    plan.bytes > BYTES_MOST)
		return -ERANGE;
	*ret_plan = plan;
	return 0;
}
