/* SPDX-License-Identifier: Apache-2.0
 *
 * How much calls compute (struct gt_model_work), while a model is loaded.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/schema/math_call.h"
#include "trace/load/model_build.h"
#include "trace/load/work.h"

int gt_build_work(struct gt_model *model, int64_t correlation, const struct gt_math_call *call)
{
	struct gt_model_work work = {.at = correlation,
				     .thread = GT_NONE,
				     .number = call->number,
				     .flops = call->flops > INT64_MAX ? 0 : call->flops,
				     .bytes = call->bytes > INT64_MAX ? 0 : call->bytes,
				     .type = (uint8_t)gt_work_type_of(call->compute, call->a),
				     .overflow = call->overflow || call->flops > INT64_MAX};

	if (correlation < 0 || (!work.flops && !work.overflow))
		return 0;
	return gt_vec_push(&model->library_work, work) ? 0 : -ENOMEM;
}

int gt_build_failed_call(struct gt_model *model, uint32_t number)
{
	return !number || gt_vec_push(&model->failed_calls, number) ? 0 : -ENOMEM;
}

/* From 2^53 on a text. */
static uint64_t count_of(const struct gt_trace_event *record, enum gt_arg arg)
{
	const struct gt_span *span = &record->arg[arg];
	int64_t value = gt_record_int(record, arg, 0);
	uint64_t large = 0;

	if (span->kind != GT_SPAN_STRING)
		return value > 0 ? (uint64_t)value : 0;
	for (size_t i = 0; i < span->len && span->text[i] >= '0' && span->text[i] <= '9'; i++)
		large = large * 10 + (uint64_t)(span->text[i] - '0');
	return large;
}

int gt_build_work_of(struct gt_model *model, const struct gt_trace_event *record)
{
	const struct gt_span *compute = &record->arg[GT_ARG_COMPUTE];
	const struct gt_span *a = &record->arg[GT_ARG_TYPE_A];
	struct gt_math_call call = {0};

	if (!gt_record_has(record, GT_ARG_FLOPS))
		return 0;
	call.number = (uint32_t)count_of(record, GT_ARG_CALL_NUMBER);
	call.flops = count_of(record, GT_ARG_FLOPS);
	call.bytes = count_of(record, GT_ARG_OPERANDS);
	call.overflow = gt_span_is(&record->arg[GT_ARG_FLOPS], "overflow", 8);
	if (gt_record_has(record, GT_ARG_COMPUTE))
		call.compute = gt_math_find_compute(compute->text, compute->len);
	if (gt_record_has(record, GT_ARG_TYPE_A))
		call.a = gt_math_find_type(a->text, a->len);
	return gt_build_work(model, gt_record_int(record, GT_ARG_CORRELATION, -1), &call);
}

int gt_build_operator_work(struct gt_model *model, const struct gt_model_range *range,
			   const char *dims, size_t dims_length, const char *types,
			   size_t types_length)
{
	struct gt_model_work work = {.at = range->start,
				     .dur = range->dur,
				     .thread = range->thread,
				     .name = range->name};

	if (!gt_work_of_operator(gt_model_name(model, range->name), dims, dims_length, types,
				 types_length, &work))
		return 0;
	return gt_vec_push(&model->op_work, work) ? 0 : -ENOMEM;
}

int gt_build_operator_work_of(struct gt_model *model, const struct gt_model_range *range,
			      const struct gt_trace_event *record)
{
	const struct gt_span *dims = &record->arg[GT_ARG_INPUT_DIMS];
	const struct gt_span *types = &record->arg[GT_ARG_INPUT_TYPES];

	if (record->ph != 'X' || !gt_record_has(record, GT_ARG_INPUT_DIMS))
		return 0;
	return gt_build_operator_work(
		model, range, dims->text, dims->len,
		gt_record_has(record, GT_ARG_INPUT_TYPES) ? types->text : NULL, types->len);
}

static int by_place(const void *a, const void *b)
{
	const struct gt_model_work *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void drop_failed(struct gt_model *model)
{
	const uint32_t *failed = model->failed_calls.at;
	size_t count = model->failed_calls.count, kept = 0;

	if (!count)
		return;
	qsort(model->failed_calls.at, count, sizeof(*failed), by_value);
	for (size_t i = 0; i < model->library_work.count; i++) {
		const struct gt_model_work *work = &model->library_work.at[i];

		if (!bsearch(&work->number, failed, count, sizeof(*failed), by_value))
			model->library_work.at[kept++] = *work;
	}
	model->library_work.count = kept;
}

/* One for each call: kernels of one call have the same number, and stand for it by the first. */
void gt_build_works(struct gt_model *model)
{
	drop_failed(model);
	if (model->library_work.count)
		qsort(model->library_work.at, model->library_work.count,
		      sizeof(*model->library_work.at), by_place);
	if (model->op_work.count)
		qsort(model->op_work.at, model->op_work.count, sizeof(*model->op_work.at),
		      by_place);
}
