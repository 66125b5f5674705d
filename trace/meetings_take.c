/* SPDX-License-Identifier: Apache-2.0
 *
 * The collectives of a model, and their places, see meetings.h.
 */
#include "trace/meetings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "trace/communication.h"

#define FAR ((int64_t)3 << 60) /* ns: no time of a clock; two may be subtracted */

struct gt_op gt_meeting_op(const struct gt_model *model, uint32_t number)
{
	const struct gt_model_mpi_call *call;

	if (!gt_meeting_is_mpi(model, number))
		return gt_model_op(model, number);
	call = &model->mpi_calls.at[number - model->ops.count];
	return (struct gt_op){.start = call->start,
			      .dur = call->dur,
			      .correlation = -1,
			      .bytes = call->sent > call->received ? call->sent : call->received,
			      .name = call->name,
			      .call = GT_NONE,
			      .stack = GT_NONE,
			      .stream = -1,
			      .device = GT_NO_DEVICE,
			      .kind = GT_OP_KERNEL,
			      .comm = call->comm};
}

static uint64_t key_of(const struct gt_model *model, const struct gt_op *op)
{
	const char *name = gt_model_name(model, op->name);
	uint64_t key = gt_hash_pair(gt_hash_bytes(name, strlen(name)), (uint64_t)op->bytes);

	if (op->comm < GT_COMM_GROUPS)
		return key;
	name = gt_model_name(model, model->groups.at[op->comm - GT_COMM_GROUPS]);
	return gt_hash_pair(key, gt_hash_bytes(name, strlen(name)));
}

static uint64_t place_in(const struct gt_model *model, uint8_t comm, uint64_t sequence)
{
	const char *group = gt_model_name(model, model->groups.at[comm - GT_COMM_GROUPS]);

	return gt_hash_pair(gt_hash_bytes(group, strlen(group)), sequence);
}

static uint64_t place_of_message(const struct gt_model *model, uint8_t comm,
				 const struct gt_message *message)
{
	return place_in(model, comm,
			gt_hash_pair((uint64_t)message->from << 32 | message->to, message->number));
}

static uint64_t place_of(const struct gt_model *model, const struct gt_op *op)
{
	size_t low = 0, high = model->places.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->places.at[middle].correlation < op->correlation)
			low = middle + 1;
		else
			high = middle;
	}
	if (op->comm < GT_COMM_GROUPS || low == model->places.count ||
	    model->places.at[low].correlation != op->correlation)
		return 0;
	if (!model->places.at[low].sequence)
		return 0;
	return place_in(model, op->comm, model->places.at[low].sequence);
}

/* False: there is none. */
static bool find_messages(const struct gt_model *model, const struct gt_op *op,
			  struct gt_meeting *meeting)
{
	size_t low = 0, high = model->messages.count;
	const struct gt_message_place *found;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (model->messages.at[middle].correlation < op->correlation)
			low = middle + 1;
		else
			high = middle;
	}
	if (op->comm < GT_COMM_GROUPS || low == model->messages.count ||
	    model->messages.at[low].correlation != op->correlation)
		return false;
	found = &model->messages.at[low];
	if (found->sent.number)
		meeting->place = place_of_message(model, op->comm, &found->sent);
	if (found->received.number)
		*(found->sent.number ? &meeting->other : &meeting->place) =
			place_of_message(model, op->comm, &found->received);
	meeting->is_message = meeting->place != 0;
	return meeting->is_message;
}

static bool waits_for_all(const struct gt_model *model, uint32_t number, const struct gt_op *op,
			  const void *data)
{
	(void)number;
	(void)data;
	return gt_communication_collective(gt_model_name(model, op->name)).together;
}

static int by_key(const void *a, const void *b, void *data)
{
	const struct gt_meetings *meetings = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t of_x = meetings->all.at[x].key, of_y = meetings->all.at[y].key;

	return of_x != of_y ? (of_x > of_y) - (of_x < of_y) : (x > y) - (x < y);
}

static int by_place(const void *a, const void *b, void *data)
{
	const struct gt_meetings *meetings = data;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t of_x = gt_meeting_place(meetings, x), of_y = gt_meeting_place(meetings, y);

	return of_x != of_y ? (of_x > of_y) - (of_x < of_y) : (x > y) - (x < y);
}

static int sort_all(struct gt_meetings *meetings)
{
	size_t count = meetings->all.count;

	meetings->by_key = malloc((count + 1) * sizeof(*meetings->by_key));
	meetings->by_place = malloc((2 * count + 1) * sizeof(*meetings->by_place));
	if (!meetings->by_key || !meetings->by_place)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		meetings->by_key[i] = i;
	for (uint32_t i = 0; i < 2 * count; i++)
		if (gt_meeting_place(meetings, i))
			meetings->by_place[meetings->place_count++] = i;
	qsort_r(meetings->by_key, count, sizeof(*meetings->by_key), by_key, meetings);
	qsort_r(meetings->by_place, meetings->place_count, sizeof(*meetings->by_place), by_place,
		meetings);
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct gt_meeting *x = a, *y = b;

	return x->start != y->start ? (x->start > y->start) - (x->start < y->start)
				    : (x->op > y->op) - (x->op < y->op);
}

/* False: no clock has such a time. */
static bool take_times(const struct gt_op *op, int64_t base, struct gt_meeting *meeting)
{
	return op->dur >= 0 && !__builtin_add_overflow(op->start, base, &meeting->start) &&
	       !__builtin_add_overflow(meeting->start, op->dur, &meeting->end) &&
	       meeting->start > -FAR && meeting->end < FAR;
}

/* Nobody need wait for a message without a byte, but in a barrier, which has none. */
static bool is_empty(const struct gt_model_mpi_call *call, const struct gt_op *op)
{
	return !op->bytes && gt_mpi_class_of(call->function) != GT_MPI_CLASS_BARRIER;
}

static uint64_t place_of_mpi(const struct gt_model *model, const struct gt_model_mpi_call *call)
{
	return call->sequence && call->comm >= GT_COMM_GROUPS
		       ? place_in(model, call->comm, call->sequence)
		       : 0;
}

int gt_meetings_take(const struct gt_model *model, gt_meeting_test *is_in, const void *data,
		     bool with_mpi, struct gt_meetings *ret_meetings)
{
	const struct gt_header *header = &model->reading.header;
	int64_t base = header->has_base ? header->base_ns : 0;
	size_t count = model->ops.count + (with_mpi ? model->mpi_calls.count : 0);

	*ret_meetings = (struct gt_meetings){0};
	is_in = is_in ? is_in : waits_for_all;
	for (size_t i = 0; i < count; i++) {
		const struct gt_model_mpi_call *call =
			i < model->ops.count ? NULL : &model->mpi_calls.at[i - model->ops.count];
		struct gt_meeting meeting = {.op = (uint32_t)i};
		struct gt_op op;

		if (!call && !gt_model_op_traits(model, i)->comm)
			continue;
		op = gt_meeting_op(model, (uint32_t)i);
		if (!op.comm || (call && is_empty(call, &op)) ||
		    !is_in(model, (uint32_t)i, &op, data) || !take_times(&op, base, &meeting))
			continue;
		meeting.key = key_of(model, &op);
		if (!call && find_messages(model, &op, &meeting))
			/* who else moves as many bytes is no counterpart */
			meeting.key = gt_hash_pair(meeting.key, meeting.place);
		else
			meeting.place = call ? place_of_mpi(model, call) : place_of(model, &op);
		if (!gt_vec_push(&ret_meetings->all, meeting))
			return -ENOMEM;
	}
	if (with_mpi && ret_meetings->all.count)
		qsort(ret_meetings->all.at, ret_meetings->all.count, sizeof(*ret_meetings->all.at),
		      by_start);
	return sort_all(ret_meetings);
}

void gt_meetings_fini(struct gt_meetings *meetings)
{
	gt_vec_free(&meetings->all);
	free(meetings->by_key);
	free(meetings->by_place);
	meetings->by_key = meetings->by_place = NULL;
}
