/* SPDX-License-Identifier: Apache-2.0
 *
 * See fields.h.
 */
#include "analysis/ranks/fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void gt_rank_put_step(struct gt_pack *out, uint64_t number, uint64_t before)
{
	gt_pack_put_signed(out, (int64_t)(number - before));
}

uint64_t gt_rank_take_step(struct gt_pack_in *in, uint64_t before)
{
	return before + (uint64_t)gt_pack_take_signed(in);
}

uint32_t gt_rank_write_name(struct gt_rank_writer *w, uint32_t name)
{
	const char *text = gt_model_name(w->model, name);
	uint32_t number;

	if (!w->number[name]) {
		number = gt_names_put(&w->names, text, strlen(text));
		if (*text && number == GT_NAME_NONE)
			w->body.failed = true;
		w->number[name] = number + 1;
	}
	return w->number[name] - 1;
}

/* The number in the model of a name of the message. */
static uint32_t local_name(struct gt_rank_reader *r, uint64_t name)
{
	uint32_t number;

	if (name >= r->count) {
		r->in.bad = true;
		return GT_NAME_NONE;
	}
	if (!r->local[name]) {
		number = gt_names_put(&r->sent->model.names, r->text[name], r->length[name]);
		r->failed |= r->length[name] && number == GT_NAME_NONE;
		r->local[name] = number + 1;
	}
	return r->local[name] - 1;
}

uint32_t gt_rank_read_name(struct gt_rank_reader *r)
{
	return local_name(r, gt_pack_take(&r->in));
}

static void put_text(struct gt_rank_writer *w, const char *text)
{
	gt_pack_put_text(&w->body, text, strlen(text));
}

/* False: it is longer. */
static bool take_text(struct gt_rank_reader *r, char *ret_text, size_t size)
{
	size_t length;
	const char *text = gt_pack_take_text(&r->in, &length);

	if (length >= size)
		return false;
	memcpy(ret_text, text, length);
	ret_text[length] = 0;
	return true;
}

static void put_network(struct gt_pack *out, const struct gt_model_network *network)
{
	gt_pack_put(out, network->operations);
	gt_pack_put(out, network->transfers);
	gt_pack_put(out, network->sent);
	gt_pack_put(out, network->received);
	for (size_t i = 0; i < GT_NCCL_WAIT_COUNT_; i++)
		gt_pack_put(out, network->wait[i]);
}

static void take_network(struct gt_pack_in *in, struct gt_model_network *network)
{
	network->operations = gt_pack_take(in);
	network->transfers = gt_pack_take(in);
	network->sent = gt_pack_take(in);
	network->received = gt_pack_take(in);
	for (size_t i = 0; i < GT_NCCL_WAIT_COUNT_; i++)
		network->wait[i] = gt_pack_take(in);
}

enum { HAS_RANK = 1, HAS_BASE = 2, IS_TWIN = 4 };

void gt_rank_write_head(struct gt_rank_writer *w, const struct gt_rank_excerpt *excerpt)
{
	const struct gt_model *model = w->model;
	const struct gt_header *header = &model->reading.header;
	struct gt_clock_source source;

	gt_clock_source_header(header, &source);
	put_text(w, model->path);
	gt_pack_put(&w->body, (header->has_rank ? HAS_RANK : 0) |
				      (header->has_base ? HAS_BASE : 0) |
				      (model->is_twin ? IS_TWIN : 0));
	gt_pack_put_signed(&w->body, model->rank);
	gt_pack_put_signed(&w->body, model->pid);
	put_text(w, model->twin);
	gt_pack_put_signed(&w->body, header->rank);
	gt_pack_put_signed(&w->body, header->world_size);
	gt_pack_put_signed(&w->body, header->base_ns);
	gt_pack_put_signed(&w->body, model->first);
	gt_pack_put_signed(&w->body, model->last);
	put_text(w, source.host);
	put_text(w, source.boot);
	gt_pack_put_signed(&w->body, source.monotonic);
	gt_pack_put_signed(&w->body, source.realtime);
	gt_pack_put_signed(&w->body, source.own_error);
	gt_pack_put(&w->body, model->merged.file);
	put_text(w, model->merged.clock);
	put_text(w, excerpt->throttled);
	put_text(w, excerpt->gpus);
	gt_pack_put_signed(&w->body, excerpt->starts);
	put_network(&w->body, &excerpt->network);
}

static void take_header(struct gt_rank_reader *r, uint64_t flags, struct gt_model *model)
{
	struct gt_header *header = &model->reading.header;

	header->has_rank = flags & HAS_RANK;
	header->has_base = flags & HAS_BASE;
	header->rank = gt_pack_take_signed(&r->in);
	header->world_size = gt_pack_take_signed(&r->in);
	header->base_ns = gt_pack_take_signed(&r->in);
	model->first = gt_pack_take_signed(&r->in);
	model->last = gt_pack_take_signed(&r->in);
}

int gt_rank_read_head(struct gt_rank_reader *r)
{
	struct gt_model *model = &r->sent->model;
	struct gt_rank_excerpt *excerpt = &r->sent->excerpt;
	struct gt_clock_source *source = &r->sent->source;
	size_t length;
	const char *path = gt_pack_take_text(&r->in, &length);
	uint64_t flags;
	int64_t rank;
	bool fits;

	model->path = model->own_path = strndup(path, length);
	if (!model->path)
		return -ENOMEM;
	flags = gt_pack_take(&r->in);
	rank = gt_pack_take_signed(&r->in);
	model->pid = gt_pack_take_signed(&r->in);
	model->rank = (int)rank;
	model->is_twin = flags & IS_TWIN;
	fits = rank >= INT32_MIN && rank <= INT32_MAX;
	fits &= take_text(r, model->twin, sizeof(model->twin));
	take_header(r, flags, model);
	gt_clock_source_header(&model->reading.header, source);
	fits &= take_text(r, source->host, sizeof(source->host));
	fits &= take_text(r, source->boot, sizeof(source->boot));
	source->monotonic = gt_pack_take_signed(&r->in);
	source->realtime = gt_pack_take_signed(&r->in);
	source->own_error = gt_pack_take_signed(&r->in);
	model->merged.file = gt_pack_take(&r->in);
	fits &= take_text(r, model->merged.clock, sizeof(model->merged.clock));
	fits &= take_text(r, excerpt->throttled, sizeof(excerpt->throttled));
	fits &= take_text(r, excerpt->gpus, sizeof(excerpt->gpus));
	excerpt->starts = gt_pack_take_signed(&r->in);
	take_network(&r->in, &excerpt->network);
	memcpy(excerpt->host, source->host, sizeof(excerpt->host));
	return fits && !r->in.bad ? 0 : -EBADMSG;
}

static void put_mark(struct gt_pack *out, const struct gt_rank_mark *mark,
		     struct gt_rank_mark *last)
{
	gt_rank_put_step(out, mark->busy, last->busy);
	gt_rank_put_step(out, mark->data, last->data);
	gt_rank_put_step(out, mark->ops, last->ops);
	*last = *mark;
}

static void take_mark(struct gt_pack_in *in, struct gt_rank_mark *last)
{
	last->busy = gt_rank_take_step(in, last->busy);
	last->data = gt_rank_take_step(in, last->data);
	last->ops = gt_rank_take_step(in, last->ops);
}

/* What kernels and calls have both. */
static void put_meeting(struct gt_rank_writer *w, const struct gt_rank_meeting *meeting,
			uint8_t comm, struct gt_rank_fields *last)
{
	struct gt_op op = gt_meeting_op(w->model, meeting->op);

	gt_rank_put_step(&w->body, (uint64_t)op.start, (uint64_t)last->start);
	gt_pack_put_signed(&w->body, op.dur);
	gt_pack_put(&w->body, gt_rank_write_name(w, op.name));
	gt_pack_put(&w->body, (uint64_t)comm << 1 | meeting->passes);
	gt_pack_put(&w->body,
		    meeting->step == GT_NONE ? 0 : gt_rank_write_name(w, meeting->step) + 1ull);
	put_mark(&w->body, &meeting->came, &last->came);
	put_mark(&w->body, &meeting->left, &last->left);
	last->start = op.start;
}

static uint32_t take_step(struct gt_rank_reader *r)
{
	uint64_t name = gt_pack_take(&r->in);

	return name ? local_name(r, name - 1) : GT_NONE;
}

/* No clock has such an end: no member of anything. */
static int64_t checked(const struct gt_op *op, int64_t dur)
{
	int64_t end;

	return __builtin_add_overflow(op->start, dur, &end) ? -1 : dur;
}

static int take_meeting(struct gt_rank_reader *r, struct gt_op *ret_op, struct gt_rank_fields *last)
{
	struct gt_rank_excerpt *excerpt = &r->sent->excerpt;
	struct gt_rank_meeting meeting = {.op = (uint32_t)excerpt->meetings.count, .step = GT_NONE};
	uint64_t bits;

	last->start = (int64_t)gt_rank_take_step(&r->in, (uint64_t)last->start);
	*ret_op = (struct gt_op){.start = last->start,
				 .call = GT_NONE,
				 .stack = GT_NONE,
				 .stream = -1,
				 .device = GT_NO_DEVICE,
				 .kind = GT_OP_KERNEL};
	ret_op->dur = checked(ret_op, gt_pack_take_signed(&r->in));
	ret_op->name = gt_rank_read_name(r);
	bits = gt_pack_take_most(&r->in, UINT8_MAX << 1 | 1);
	ret_op->comm = (uint8_t)(bits >> 1);
	meeting.passes = bits & 1;
	meeting.step = take_step(r);
	take_mark(&r->in, &last->came);
	take_mark(&r->in, &last->left);
	meeting.came = last->came;
	meeting.left = last->left;
	if (r->in.bad || !ret_op->comm ||
	    ret_op->comm >= GT_COMM_GROUPS + r->sent->model.groups.count)
		return -EBADMSG;
	return gt_vec_push(&excerpt->meetings, meeting) ? 0 : -ENOMEM;
}

void gt_rank_write_kernel(struct gt_rank_writer *w, const struct gt_rank_meeting *meeting,
			  struct gt_rank_fields *last)
{
	const struct gt_op *op = gt_model_op_at(w->model, meeting->op);

	put_meeting(w, meeting, op->comm, last);
	gt_rank_put_step(&w->body, (uint64_t)op->correlation, (uint64_t)last->correlation);
	gt_pack_put_signed(&w->body, op->bytes);
	last->correlation = op->correlation;
}

int gt_rank_read_kernel(struct gt_rank_reader *r, struct gt_rank_fields *last)
{
	struct gt_op op;
	int rc = take_meeting(r, &op, last);

	if (rc)
		return rc;
	op.correlation = (int64_t)gt_rank_take_step(&r->in, (uint64_t)last->correlation);
	op.bytes = gt_pack_take_signed(&r->in);
	last->correlation = op.correlation;
	return gt_model_add_op(&r->sent->model, &op);
}

void gt_rank_write_call(struct gt_rank_writer *w, const struct gt_rank_meeting *meeting,
			struct gt_rank_fields *last)
{
	const struct gt_model *model = w->model;
	const struct gt_model_mpi_call *call = &model->mpi_calls.at[meeting->op - model->ops.count];

	put_meeting(w, meeting, call->comm, last);
	gt_rank_put_step(&w->body, call->sequence, last->sequence);
	gt_pack_put_signed(&w->body, call->sent);
	gt_pack_put_signed(&w->body, call->received);
	gt_pack_put(&w->body, call->function);
	last->sequence = call->sequence;
}

int gt_rank_read_call(struct gt_rank_reader *r, struct gt_rank_fields *last)
{
	struct gt_model_mpi_call call = {0};
	struct gt_op op;
	int rc = take_meeting(r, &op, last);

	if (rc)
		return rc;
	call.start = op.start;
	call.dur = op.dur;
	call.name = op.name;
	call.comm = op.comm;
	call.sequence = last->sequence = gt_rank_take_step(&r->in, last->sequence);
	call.sent = gt_pack_take_signed(&r->in);
	call.received = gt_pack_take_signed(&r->in);
	call.function = (uint8_t)gt_pack_take_most(&r->in, GT_MPI_FUNCTION_COUNT_ - 1);
	return gt_vec_push(&r->sent->model.mpi_calls, call) ? 0 : -ENOMEM;
}

void gt_rank_write_times(struct gt_rank_writer *w, const struct gt_rank_time *times, size_t count)
{
	gt_pack_put(&w->body, count);
	for (size_t i = 0; i < count; i++) {
		gt_pack_put(&w->body, gt_rank_write_name(w, times[i].name));
		gt_pack_put_signed(&w->body, times[i].time);
	}
}

int gt_rank_read_times(struct gt_rank_reader *r, struct gt_rank_times *ret_times)
{
	for (size_t count = gt_pack_take_count(&r->in); count; count--) {
		uint32_t name = gt_rank_read_name(r);
		int64_t time = gt_pack_take_signed(&r->in);

		if (!gt_vec_push(ret_times, ((struct gt_rank_time){name, time})))
			return -ENOMEM;
	}
	return 0;
}
