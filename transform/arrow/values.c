/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "transform/arrow/values.h"

#include "trace/file/header.h"

int64_t gt_arrow_moment(const struct gt_arrow_job *job, size_t process, int64_t t)
{
	const struct gt_header *header = &gt_arrow_model(job, process)->reading.header;
	int64_t since;

	if (!header->has_base || __builtin_add_overflow(t, header->base_ns, &since))
		since = t;
	return gt_clock_map_time(&job->job.clocks.of[process], since);
}

void gt_arrow_put_span(const struct gt_arrow_job *job, size_t process, int64_t start, int64_t dur,
		       struct gt_arrow_batch *batch)
{
	int64_t end;

	if (__builtin_add_overflow(start, dur, &end))
		end = INT64_MAX;
	gt_arrow_put_int(batch, gt_arrow_moment(job, process, start));
	gt_arrow_put_int(batch, gt_arrow_moment(job, process, end));
	gt_arrow_put_int(batch, dur);
	gt_arrow_put_int(batch, (int64_t)process);
}

void gt_arrow_put_known(struct gt_arrow_batch *batch, int64_t value, bool is_known)
{
	if (is_known)
		gt_arrow_put_int(batch, value);
	else
		gt_arrow_put_none(batch);
}
