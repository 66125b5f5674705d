/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "trace/load/model_os.h"

#include <errno.h>
#include <stdlib.h>

int gt_build_os_call(struct gt_model *model, const struct gt_model_os_call *call,
		     const struct gt_os_facts *facts, uint32_t file)
{
	struct gt_model_os_call taken = *call;

	taken.bytes = GT_NO_BYTES;
	if (facts->has_bytes)
		taken.bytes = gt_build_bounded(facts->result, 0, GT_BUILD_LARGEST_COPY, GT_NO_BYTES,
					       &model->odd.no_bytes);
	taken.file = file;
	taken.around = GT_NONE;
	taken.error = facts->error;
	taken.kind = facts->kind < GT_OS_KIND_COUNT_ ? facts->kind : GT_OS_KIND_UNKNOWN;
	gt_build_extent(model, taken.start, taken.dur);
	return gt_vec_push(&model->os_calls, taken) ? 0 : -ENOMEM;
}

int gt_build_os_call_of(struct gt_builder *b, const struct gt_trace_event *record,
			const struct gt_model_os_call *call)
{
	struct gt_os_facts facts = {.has_bytes = gt_record_has(record, GT_ARG_BYTES)};
	struct gt_span kind, error, file;
	uint32_t name = GT_NAME_NONE;
	int64_t number;

	if (facts.has_bytes)
		facts.result = gt_record_int(record, GT_ARG_BYTES, -1);
	if (gt_span_member(&record->args, "descriptor kind", &kind) && kind.kind == GT_SPAN_STRING)
		facts.kind = (uint8_t)gt_os_kind_find(kind.text, kind.len);
	if (gt_span_member(&record->args, "errno", &error) && gt_span_int(&error, &number) &&
	    number > 0 && number <= UINT16_MAX)
		facts.error = (uint16_t)number;
	if (gt_span_member(&record->args, "file", &file))
		name = gt_build_text(b, &file);
	return gt_build_os_call(b->model, call, &facts, name);
}

static int by_thread(const void *a, const void *b)
{
	const struct gt_model_os_call *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : (x->dur > y->dur ? -1 : x->dur < y->dur);
}

/* A slice is written when it is over: one that lies in another stands before it in the file. */
static void sort(struct gt_model *model)
{
	qsort(model->os_calls.at, model->os_calls.count, sizeof(*model->os_calls.at), by_thread);
}

static int64_t end_of(const struct gt_model *model, uint32_t i)
{
	return model->os_calls.at[i].start + model->os_calls.at[i].dur;
}

static void nest(struct gt_model *model)
{
	for (uint32_t i = 0; i < model->os_calls.count; i++) {
		struct gt_model_os_call *call = &model->os_calls.at[i];
		struct gt_thread_track *track = &model->threads.at[call->thread];
		uint32_t at = i - 1;

		if (!track->os_call.count++) {
			track->os_call.first = i;
			continue;
		}
		/* what is passed on the way ends before this one begins: never passed again */
		while (at != GT_NONE && end_of(model, at) <= call->start)
			at = model->os_calls.at[at].around;
		call->around = at;
	}
}

enum { UNKNOWN, NO, YES };

/* Each name and each stack is looked at once. */
static bool loads_data(const struct gt_model *model, uint32_t stack, uint8_t *names,
		       uint8_t *stacks)
{
	const struct gt_frames *frames = &model->stacks.at[stack];

	if (stacks[stack] != UNKNOWN)
		return stacks[stack] == YES;
	stacks[stack] = NO;
	for (uint32_t i = 0; stacks[stack] == NO && i < frames->count; i++) {
		uint8_t *name = &names[frames->frame[i]];

		if (*name == UNKNOWN)
			*name = gt_model_is_data(gt_model_name(model, frames->frame[i])) ? YES : NO;
		stacks[stack] = *name;
	}
	return stacks[stack] == YES;
}

static int mark_data(struct gt_model *model)
{
	uint8_t *names = calloc(model->names.text.count + 1, 1);
	uint8_t *stacks = calloc(model->stacks.count + 1, 1);
	bool failed = !names || !stacks;

	for (size_t i = 0; !failed && i < model->os_calls.count; i++) {
		struct gt_model_os_call *call = &model->os_calls.at[i];

		call->is_data = call->stack < model->stacks.count &&
				loads_data(model, call->stack, names, stacks);
	}
	free(names);
	free(stacks);
	return failed ? -ENOMEM : 0;
}

int gt_build_os_calls(struct gt_model *model)
{
	if (!model->os_calls.count)
		return 0;
	sort(model);
	nest(model);
	return mark_data(model);
}
