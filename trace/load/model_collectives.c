/* SPDX-License-Identifier: Apache-2.0
 *
 * What the arguments of a collective's kernel tell. See model_build.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/load/model_build.h"

int64_t gt_build_message(const struct gt_trace_event *record)
{
	static const struct {
		const char *name;
		int64_t bytes;
	} types[] = {
		{"Byte", 1},
		{"Char", 1},
		{"Bool", 1},
		{"Short", 2},
		{"Int", 4},
		{"Long", 8},
		{"Half", 2},
		{"BFloat16", 2},
		{"Float", 4},
		{"Double", 8},
		{"ComplexHalf", 4},
		{"ComplexFloat", 8},
		{"ComplexDouble", 16},
		{"UInt16", 2},
		{"UInt32", 4},
		{"UInt64", 8},
		{"Float8_e5m2", 1},
		{"Float8_e4m3fn", 1},
		{"Float8_e5m2fnuz", 1},
		{"Float8_e4m3fnuz", 1},
	};
	int64_t in = gt_record_int(record, GT_ARG_COLLECTIVE_IN, 0);
	int64_t out = gt_record_int(record, GT_ARG_COLLECTIVE_OUT, 0);
	int64_t sent = gt_record_int(record, GT_ARG_COLLECTIVE_SENT, 0);
	int64_t received = gt_record_int(record, GT_ARG_COLLECTIVE_RECEIVED, 0);
	int64_t count = in > out ? in : out;

	if (sent > 0 && received > 0)
		return (sent > received ? sent : received) <= GT_BUILD_LARGEST_COPY
			       ? (sent > received ? sent : received)
			       : 0;

	if (!gt_record_has(record, GT_ARG_COLLECTIVE_TYPE) || count <= 0)
		return 0;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (gt_span_is(&record->arg[GT_ARG_COLLECTIVE_TYPE], types[i].name,
			       strlen(types[i].name)))
			return count <= GT_BUILD_LARGEST_COPY / types[i].bytes
				       ? count * types[i].bytes
				       : 0;
	return 0;
}

uint8_t gt_build_group(struct gt_model *model, const struct gt_trace_event *record)
{
	struct gt_span name = record->arg[GT_ARG_COLLECTIVE_GROUP];
	struct gt_span ranks = record->arg[GT_ARG_COLLECTIVE_RANKS];
	char name_text[513], ranks_text[1025];

	if (!gt_record_has(record, GT_ARG_COLLECTIVE_GROUP))
		return 1;
	if (!gt_record_has(record, GT_ARG_COLLECTIVE_RANKS))
		ranks.len = 0;
	snprintf(name_text, sizeof(name_text), "%.*s", (int)(name.len < 512 ? name.len : 512),
		 name.text);
	snprintf(ranks_text, sizeof(ranks_text), "%.*s", (int)(ranks.len < 1024 ? ranks.len : 1024),
		 ranks.text);
	return gt_build_group_of(model, name_text, ranks_text,
				 gt_record_int(record, GT_ARG_COLLECTIVE_SIZE, 0));
}

uint8_t gt_build_group_of(struct gt_model *model, const char *name, const char *ranks, int64_t size)
{
	char text[2048];
	int n = snprintf(text, sizeof(text), "%s %s", name, ranks);
	uint32_t group = gt_names_put(&model->names, text, (size_t)n);

	for (size_t i = 0; i < model->groups.count; i++)
		if (model->groups.at[i] == group)
			return (uint8_t)(i + GT_COMM_GROUPS);
	if (group == GT_NAME_NONE || model->groups.count > UINT8_MAX - GT_COMM_GROUPS ||
	    !gt_vec_push(&model->groups, group))
		return 1;
	model->group_size[model->groups.count - 1] =
		size > 0 && size <= UINT32_MAX ? (uint32_t)size : 0;
	return (uint8_t)(model->groups.count - 1 + GT_COMM_GROUPS);
}

int gt_build_place(struct gt_model *model, int64_t correlation, uint64_t sequence)
{
	struct gt_collective_place place = {correlation, sequence};

	if (correlation < 0 || !sequence)
		return 0;
	return gt_vec_push(&model->places, place) ? 0 : -ENOMEM;
}

static struct gt_message message_of(uint32_t from, uint32_t to, uint32_t number)
{
	struct gt_message message = {from, to, number};

	return from && to ? message : (struct gt_message){0};
}

int gt_build_messages(struct gt_model *model, int64_t correlation,
		      const struct gt_library_call *call)
{
	struct gt_message_place place = {
		.correlation = correlation,
		.sent = message_of(call->rank, call->to, call->to_number),
		.received = message_of(call->from, call->rank, call->from_number),
	};

	if (correlation < 0 || (!place.sent.number && !place.received.number))
		return 0;
	return gt_vec_push(&model->messages, place) ? 0 : -ENOMEM;
}

static uint32_t number_of(const struct gt_trace_event *record, enum gt_arg arg)
{
	int64_t number = gt_record_int(record, arg, 0);

	return number > 0 && number < UINT32_MAX ? (uint32_t)number : 0;
}

/* 0: there is none. */
static uint32_t plus_one(const struct gt_trace_event *record, enum gt_arg arg)
{
	int64_t number = gt_record_int(record, arg, -1);

	return number >= 0 && number < INT32_MAX ? (uint32_t)number + 1 : 0;
}

int gt_build_place_of(struct gt_model *model, const struct gt_trace_event *record)
{
	const struct gt_span *group = &record->arg[GT_ARG_COLLECTIVE_GROUP];
	int64_t sequence = gt_record_int(record, GT_ARG_COLLECTIVE_PLACE, 0);
	int64_t correlation = gt_record_int(record, GT_ARG_CORRELATION, -1);
	struct gt_library_call call = {0};

	if (!gt_record_has(record, GT_ARG_COLLECTIVE_GROUP))
		return 0;
	gt_library_set_text(&call, GT_LIBRARY_GROUP, group->text, group->len);
	if (!call.communicator)
		return 0;
	if (sequence > 0)
		return gt_build_place(model, correlation, (uint64_t)sequence);
	call.rank = plus_one(record, GT_ARG_MESSAGE_RANK);
	call.to = plus_one(record, GT_ARG_MESSAGE_TO);
	call.from = plus_one(record, GT_ARG_MESSAGE_FROM);
	call.to_number = number_of(record, GT_ARG_MESSAGE_SENT);
	call.from_number = number_of(record, GT_ARG_MESSAGE_RECEIVED);
	return gt_build_messages(model, correlation, &call);
}

static int by_correlation(const void *a, const void *b)
{
	const struct gt_collective_place *x = a, *y = b;

	if (x->correlation != y->correlation)
		return x->correlation < y->correlation ? -1 : 1;
	return (x->sequence > y->sequence) - (x->sequence < y->sequence);
}

static int by_launch(const void *a, const void *b)
{
	const struct gt_message_place *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* What several kernels of one launch do not have in common is not clear. */
static void keep_common(struct gt_message *message, const struct gt_message *other)
{
	if (message->from != other->from || message->to != other->to ||
	    message->number != other->number)
		*message = (struct gt_message){0};
}

static void sort_messages(struct gt_model *model)
{
	struct gt_message_place *at = model->messages.at;
	size_t kept = 0;

	if (!model->messages.count)
		return;
	qsort(at, model->messages.count, sizeof(*at), by_launch);
	for (size_t i = 1; i < model->messages.count; i++) {
		if (at[i].correlation != at[kept].correlation) {
			at[++kept] = at[i];
			continue;
		}
		keep_common(&at[kept].sent, &at[i].sent);
		keep_common(&at[kept].received, &at[i].received);
	}
	model->messages.count = kept + 1;
}

void gt_build_places(struct gt_model *model)
{
	struct gt_collective_place *at = model->places.at;
	size_t kept = 0;

	sort_messages(model);
	if (!model->places.count)
		return;
	qsort(at, model->places.count, sizeof(*at), by_correlation);
	for (size_t i = 1; i < model->places.count; i++) {
		if (at[i].correlation != at[kept].correlation)
			at[++kept] = at[i];
		else if (at[i].sequence != at[kept].sequence)
			at[kept].sequence = 0;
	}
	model->places.count = kept + 1;
}
