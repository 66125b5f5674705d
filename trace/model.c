/* SPDX-License-Identifier: Apache-2.0
 *
 * See model.h: questions to a loaded model. Any thread.
 */
#include "trace/model.h"

#include <stdlib.h>
#include <string.h>

void gt_model_fini(struct gt_model *model)
{
	for (size_t i = 0; i < model->stacks.count; i++)
		free(model->stacks.at[i].frame);
	gt_vec_free(&model->ops);
	gt_vec_free(&model->waits);
	gt_vec_free(&model->calls);
	gt_vec_free(&model->ranges);
	gt_vec_free(&model->samples);
	gt_vec_free(&model->os_calls);
	gt_vec_free(&model->pages);
	gt_vec_free(&model->loadings);
	gt_vec_free(&model->mpi_calls);
	gt_vec_free(&model->threads);
	gt_vec_free(&model->stacks);
	gt_vec_free(&model->modules);
	gt_vec_free(&model->mangled);
	gt_vec_free(&model->groups);
	gt_vec_free(&model->places);
	gt_vec_free(&model->messages);
	gt_vec_free(&model->forwards);
	gt_vec_free(&model->library_work);
	gt_vec_free(&model->failed_calls);
	gt_vec_free(&model->op_work);
	gt_vec_free(&model->notes);
	gt_vec_free(&model->memory);
	gt_vec_free(&model->health);
	gt_vec_free(&model->blocks);
	gt_vec_free(&model->devices);
	free(model->device_ops);
	gt_vec_free(&model->op_traits);
	gt_vec_free(&model->call_traits);
	free(model->op_index.at);
	free(model->call_index.at);
	gt_vec_free(&model->wide);
	gt_vec_free(&model->steps);
	gt_names_fini(&model->names);
	gt_reading_fini(&model->reading);
	free(model->own_path);
	free(model->ranks);
}

static bool ends_by(const struct gt_model *model, uint32_t range, int64_t t)
{
	return range != GT_NONE && model->ranges.at[range].start + model->ranges.at[range].dur <= t;
}

/* The last range up to @range that is open at @t: those between a range and its parent end before
 * it. No parent ends before its child, so nothing is missed between here and a jump's end. */
static uint32_t open_at(const struct gt_model *model, uint32_t range, int64_t t)
{
	while (ends_by(model, range, t))
		range = ends_by(model, model->ranges.at[range].jump, t)
				? model->ranges.at[range].jump
				: model->ranges.at[range].parent;
	return range;
}

/* The first one of a row that begins behind @t, or the end of the row. */
static uint32_t first_behind(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			     int64_t t)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	uint32_t low = track->range[kind].first, high = low + track->range[kind].count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->ranges.at[middle].start <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint32_t gt_model_last_range(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			     int64_t t)
{
	uint32_t behind = first_behind(model, thread, kind, t);

	return behind == model->threads.at[thread].range[kind].first ? GT_NONE : behind - 1;
}

uint32_t gt_model_range_at(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			   int64_t t)
{
	return open_at(model, gt_model_last_range(model, thread, kind, t), t);
}

int64_t gt_model_next_range(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			    int64_t t)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	uint32_t behind = first_behind(model, thread, kind, t);

	return behind < track->range[kind].first + track->range[kind].count
		       ? model->ranges.at[behind].start
		       : INT64_MAX;
}

bool gt_model_is_step(const struct gt_model *model, const struct gt_model_range *range)
{
	return range->kind == GT_RANGE_NVTX &&
	       !strncmp(gt_model_name(model, range->name), "ProfilerStep#", 13);
}

uint32_t gt_model_range_around(const struct gt_model *model, uint32_t range, int64_t t)
{
	return open_at(model, model->ranges.at[range].before, t);
}

/* Narrows where the first call of a row is that begins behind @t, in steps that grow from @near on:
 * that one is far from the middle of the row, and most often next to it. */
static void narrow(const struct gt_model *model, int64_t t, uint32_t near, uint32_t *low,
		   uint32_t *high)
{
	const struct gt_call_row *at = model->calls.at;
	size_t step = 1;

	if (at[near].start <= t) {
		*low = near + 1;
		for (; *high - *low > step && at[*low + step].start <= t; step *= 2)
			*low += (uint32_t)step + 1;
		if (*high - *low > step)
			*high = *low + (uint32_t)step;
	} else {
		*high = near;
		for (; *high - *low > step && at[*high - step].start > t; step *= 2)
			*high -= (uint32_t)step;
		if (*high - *low > step)
			*low = *high - (uint32_t)step + 1;
	}
}

uint32_t gt_model_call_before(const struct gt_model *model, uint32_t thread, int64_t t,
			      uint32_t near)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	uint32_t first = track->call.first, low = first, high = first + track->call.count;

	if (near >= low && near < high)
		narrow(model, t, near, &low, &high);
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->calls.at[middle].start <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low == first ? GT_NONE : low - 1;
}

/* cuModuleLoadData, cudaLibraryLoadData, cuLinkComplete, ... */
static bool is_to_load(const char *name)
{
	if (!strncmp(name, "cuda", 4))
		return !strncmp(name + 4, "LibraryLoad", 11);
	return !strncmp(name, "cuModuleLoad", 12) || !strncmp(name, "cuLibraryLoad", 13) ||
	       !strncmp(name, "cuLink", 6);
}

bool gt_model_loads(const struct gt_model *model, const struct gt_call *call)
{
	const struct gt_model_loading *at = model->loadings.at;
	size_t low = 0, high = model->loadings.count;
	int64_t end = call->start + call->dur;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (at[middle].thread != call->thread ? at[middle].thread < call->thread
						      : at[middle].start < end)
			low = middle + 1;
		else
			high = middle;
	}
	return (low && at[low - 1].thread == call->thread && at[low - 1].until > call->start) ||
	       is_to_load(gt_model_name(model, call->name));
}

/* Whether @wait is of a stream before that of @op, or ends on it up to @t, as do all before it. */
static bool is_over(const struct gt_host_wait *wait, const struct gt_op *op, int64_t t)
{
	if (wait->device != op->device)
		return wait->device < op->device;
	return wait->stream != op->stream ? wait->stream < op->stream : wait->until <= t;
}

const struct gt_host_wait *gt_model_wait_from(const struct gt_model *model, const struct gt_op *op,
					      int64_t t)
{
	const struct gt_host_wait *at = model->waits.at;
	size_t low = 0, high = model->waits.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (is_over(&at[middle], op, t))
			low = middle + 1;
		else
			high = middle;
	}
	while (low < model->waits.count && at[low].end <= t && at[low].stream == op->stream &&
	       at[low].device == op->device)
		low++;
	return low < model->waits.count && at[low].stream == op->stream &&
			       at[low].device == op->device
		       ? &at[low]
		       : NULL;
}

uint32_t gt_model_sample_from(const struct gt_model *model, uint32_t thread, int64_t t)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	uint32_t low = track->sample.first, high = low + track->sample.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->samples.at[middle].ts < t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int64_t gt_model_sample_time(const struct gt_model *model, uint32_t sample, int64_t from,
			     int64_t to)
{
	const struct gt_sample *at = &model->samples.at[sample];
	const struct gt_thread_track *track = &model->threads.at[at->thread];
	uint32_t last = track->sample.first + track->sample.count - 1;

	if (sample > track->sample.first && at[-1].ts >= from)
		from = at[-1].ts + (at->ts - at[-1].ts) / 2;
	if (sample < last && at[1].ts < to)
		to = at->ts + (at[1].ts - at->ts) / 2;
	return to - from;
}

/* The first of @thread's that begins behind @t; the thread's end where there is none. */
static uint32_t os_call_from(const struct gt_model *model, uint32_t thread, int64_t t)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	uint32_t low = track->os_call.first, high = low + track->os_call.count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->os_calls.at[middle].start <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Handlers interrupt handlers, but not so often. */
#define MOST_AROUND 64

uint32_t gt_model_os_call_at(const struct gt_model *model, uint32_t thread, int64_t t)
{
	uint32_t at = os_call_from(model, thread, t);

	if (at == model->threads.at[thread].os_call.first)
		return GT_NONE;
	at--;
	for (int i = 0; at != GT_NONE && i < MOST_AROUND; i++) {
		const struct gt_model_os_call *call = &model->os_calls.at[at];

		if (call->start + call->dur > t)
			return at;
		at = call->around;
	}
	return GT_NONE;
}

int64_t gt_model_os_call_until(const struct gt_model *model, uint32_t thread, uint32_t os_call,
			       int64_t t)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	const struct gt_model_os_call *call = NULL;
	uint32_t next = os_call_from(model, thread, t);
	int64_t until = next < track->os_call.first + track->os_call.count
				? model->os_calls.at[next].start
				: INT64_MAX;

	if (os_call != GT_NONE)
		call = &model->os_calls.at[os_call];
	return call && call->start + call->dur < until ? call->start + call->dur : until;
}
