/* SPDX-License-Identifier: Apache-2.0
 *
 * See trace/model.h: how large the sums of a trace, and of all traces of a job, can become. Pure.
 */
#include "trace/model.h"

#define MOST 4e18 /* with room for what a double rounds */

static double wall_of(const struct gt_model *model)
{
	if (model->last < model->first)
		return 0;
	return ((double)model->last - (double)model->first) *
	       (double)(model->devices.count ? model->devices.count : 1);
}

void gt_trace_sums_add(struct gt_trace_sums *sums, const struct gt_model *model)
{
	for (size_t i = 0; i < model->ops.count; i++) {
		int64_t size = gt_model_op_traits(model, i)->bytes;

		sums->ops += (double)gt_row_number(model, model->ops.at[i].dur_code);
		sums->bytes += size > 0 ? (double)size : 0;
	}
	for (size_t i = 0; i < model->calls.count; i++)
		sums->calls += (double)gt_row_number(model, model->calls.at[i].dur_code);
	for (size_t i = 0; i < model->ranges.count; i++)
		sums->ranges += (double)model->ranges.at[i].dur;
	for (size_t i = 0; i < model->os_calls.count; i++) {
		int64_t size = model->os_calls.at[i].bytes;

		sums->blocked += (double)model->os_calls.at[i].dur;
		sums->bytes += size > 0 ? (double)size : 0;
	}
	for (size_t i = 0; i < model->mpi_calls.count; i++) {
		sums->blocked += (double)model->mpi_calls.at[i].dur;
		sums->bytes += (double)model->mpi_calls.at[i].sent +
			       (double)model->mpi_calls.at[i].received;
	}
	sums->wall += wall_of(model);
}

bool gt_trace_sums_fit(const struct gt_trace_sums *sums)
{
	return sums->ops < MOST && sums->bytes < MOST && sums->calls < MOST &&
	       sums->ranges < MOST && sums->blocked < MOST && sums->wall < MOST;
}
