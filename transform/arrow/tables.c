/* SPDX-License-Identifier: Apache-2.0
 *
 * See tables.h.
 */
#include "transform/arrow/tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/schema/health.h"
#include "trace/communication.h"
#include "trace/file/header.h"
#include "transform/arrow/values.h"

#define COLUMNS(columns) columns, sizeof(columns) / sizeof((columns)[0])
#define TEXT_BYTES       8192

/* ---- what several tables have ---- */

static void put_name(const struct gt_model *model, uint32_t name, struct gt_arrow_batch *batch)
{
	if (name == GT_NAME_NONE)
		gt_arrow_put_none(batch);
	else
		gt_arrow_put_text(batch, gt_model_name(model, name));
}

static void put_step(const struct gt_model *model, uint32_t step, struct gt_arrow_batch *batch)
{
	put_name(model, step == GT_NONE ? GT_NAME_NONE : model->ranges.at[step].name, batch);
}

static void put_stack(const struct gt_model *model, uint32_t stack, struct gt_arrow_batch *batch)
{
	char text[TEXT_BYTES];

	if (stack < model->stacks.count &&
	    gt_key_stack(model, stack, false, " < ", text, sizeof(text)))
		gt_arrow_put_text(batch, text);
	else
		gt_arrow_put_none(batch);
}

static void put_thread(const struct gt_model *model, uint32_t thread, struct gt_arrow_batch *batch)
{
	const struct gt_thread_track *track = &model->threads.at[model->threads.at[thread].owner];

	gt_arrow_put_int(batch, track->tid);
	put_name(model, track->name, batch);
}

/* ---- GPU work ---- */

static const struct gt_arrow_column kernel_columns[] = {
	GT_ARROW_SPAN,
	{"device", GT_ARROW_INT_OR_NONE},
	{"stream", GT_ARROW_INT},
	{"correlation", GT_ARROW_INT_OR_NONE},
	{"name", GT_ARROW_TEXT},
	{"kind", GT_ARROW_TEXT},
	{"launched", GT_ARROW_INT_OR_NONE},
	{"step", GT_ARROW_TEXT_OR_NONE},
	{"line", GT_ARROW_TEXT_OR_NONE},
	{"stack", GT_ARROW_TEXT_OR_NONE},
	{"collective", GT_ARROW_TEXT_OR_NONE},
	{"bytes", GT_ARROW_INT_OR_NONE},
};

static const struct gt_arrow_column copy_columns[] = {
	GT_ARROW_SPAN,
	{"device", GT_ARROW_INT_OR_NONE},
	{"stream", GT_ARROW_INT},
	{"correlation", GT_ARROW_INT_OR_NONE},
	{"name", GT_ARROW_TEXT},
	{"kind", GT_ARROW_TEXT},
	{"launched", GT_ARROW_INT_OR_NONE},
	{"step", GT_ARROW_TEXT_OR_NONE},
	{"line", GT_ARROW_TEXT_OR_NONE},
	{"stack", GT_ARROW_TEXT_OR_NONE},
	{"bytes", GT_ARROW_INT_OR_NONE},
};

static size_t count_ops(const struct gt_arrow_job *job, size_t process)
{
	return gt_arrow_model(job, process)->ops.count;
}

static void put_line(const struct gt_model *model, const struct gt_op *op,
		     struct gt_arrow_batch *batch)
{
	char text[TEXT_BYTES];

	gt_key_of_op(model, op, GT_KEY_LINE, text, sizeof(text));
	if (strcmp(text, GT_KEY_UNKNOWN) != 0)
		gt_arrow_put_text(batch, text);
	else
		gt_arrow_put_none(batch);
}

static void put_op(const struct gt_arrow_job *job, size_t process, const struct gt_op *op,
		   struct gt_arrow_batch *batch)
{
	static const char *const kinds[GT_OP_KIND_COUNT_] = {"kernel", "copy", "set", "graph"};
	const struct gt_model *model = gt_arrow_model(job, process);
	const struct gt_call *call = gt_model_call_of(model, op);

	gt_arrow_put_span(job, process, op->start, op->dur, batch);
	gt_arrow_put_known(batch, op->device, op->device != GT_NO_DEVICE);
	gt_arrow_put_int(batch, op->stream);
	gt_arrow_put_known(batch, op->correlation, op->correlation >= 0);
	gt_arrow_put_text(batch, gt_model_name(model, op->name));
	gt_arrow_put_text(batch, kinds[op->kind]);
	gt_arrow_put_known(batch, call ? gt_arrow_moment(job, process, call->start) : 0,
			   call != NULL);
	put_step(model, gt_model_step_of(model, op), batch);
	put_line(model, op, batch);
	put_stack(model, op->stack != GT_NONE ? op->stack : call ? call->stack : GT_NONE, batch);
}

static int put_kernel(const struct gt_arrow_job *job, size_t process, size_t unit,
		      struct gt_arrow_batch *batch)
{
	const struct gt_model *model = gt_arrow_model(job, process);
	const struct gt_op *op = gt_model_op_at(model, unit);

	if (op->kind != GT_OP_KERNEL && op->kind != GT_OP_GRAPH)
		return 0;
	put_op(job, process, op, batch);
	if (op->comm)
		gt_arrow_put_text(batch,
				  gt_communication_collective(gt_model_name(model, op->name)).name);
	else
		gt_arrow_put_none(batch);
	gt_arrow_put_known(batch, op->bytes, op->comm && op->bytes > 0);
	return 0;
}

static int put_copy(const struct gt_arrow_job *job, size_t process, size_t unit,
		    struct gt_arrow_batch *batch)
{
	const struct gt_op *op = gt_model_op_at(gt_arrow_model(job, process), unit);

	if (op->kind != GT_OP_COPY && op->kind != GT_OP_SET)
		return 0;
	put_op(job, process, op, batch);
	gt_arrow_put_known(batch, op->bytes, op->bytes >= 0);
	return 0;
}

/* ---- the host ---- */

static const struct gt_arrow_column call_columns[] = {
	GT_ARROW_SPAN,
	{"tid", GT_ARROW_INT},
	{"thread", GT_ARROW_TEXT_OR_NONE},
	{"correlation", GT_ARROW_INT_OR_NONE},
	{"name", GT_ARROW_TEXT},
	{"driver", GT_ARROW_BOOL},
	{"step", GT_ARROW_TEXT_OR_NONE},
	{"stack", GT_ARROW_TEXT_OR_NONE},
};

static size_t count_calls(const struct gt_arrow_job *job, size_t process)
{
	return gt_arrow_model(job, process)->calls.count;
}

static int put_call(const struct gt_arrow_job *job, size_t process, size_t unit,
		    struct gt_arrow_batch *batch)
{
	const struct gt_model *model = gt_arrow_model(job, process);
	const struct gt_call *call = gt_model_call_at(model, unit);

	gt_arrow_put_span(job, process, call->start, call->dur, batch);
	put_thread(model, call->thread, batch);
	gt_arrow_put_known(batch, call->correlation, call->correlation >= 0);
	gt_arrow_put_text(batch, gt_model_name(model, call->name));
	gt_arrow_put_bool(batch, call->driver);
	put_step(model, gt_model_step_at(model, call->start), batch);
	put_stack(model, call->stack, batch);
	return 0;
}

static const struct gt_arrow_column range_columns[] = {
	GT_ARROW_SPAN,
	{"tid", GT_ARROW_INT},
	{"thread", GT_ARROW_TEXT_OR_NONE},
	{"name", GT_ARROW_TEXT},
	{"domain", GT_ARROW_TEXT_OR_NONE},
	{"kind", GT_ARROW_TEXT},
	{"is_step", GT_ARROW_BOOL},
};

static size_t count_ranges(const struct gt_arrow_job *job, size_t process)
{
	return gt_arrow_model(job, process)->ranges.count;
}

static int put_range(const struct gt_arrow_job *job, size_t process, size_t unit,
		     struct gt_arrow_batch *batch)
{
	static const char *const kinds[GT_RANGE_KIND_COUNT_] = {"nvtx", "operator", "python",
								"overhead"};
	const struct gt_model *model = gt_arrow_model(job, process);
	const struct gt_model_range *range = &model->ranges.at[unit];

	gt_arrow_put_span(job, process, range->start, range->dur, batch);
	put_thread(model, range->thread, batch);
	gt_arrow_put_text(batch, gt_model_name(model, range->name));
	put_name(model, range->domain, batch);
	gt_arrow_put_text(batch, kinds[range->kind]);
	gt_arrow_put_bool(batch, gt_model_is_step(model, range));
	return 0;
}

static const struct gt_arrow_column os_call_columns[] = {
	GT_ARROW_SPAN,
	{"tid", GT_ARROW_INT},
	{"thread", GT_ARROW_TEXT_OR_NONE},
	{"name", GT_ARROW_TEXT},
	{"bytes", GT_ARROW_INT_OR_NONE},
	{"errno", GT_ARROW_INT_OR_NONE},
	{"file", GT_ARROW_TEXT_OR_NONE},
	{"stack", GT_ARROW_TEXT_OR_NONE},
};

static size_t count_os_calls(const struct gt_arrow_job *job, size_t process)
{
	return gt_arrow_model(job, process)->os_calls.count;
}

static int put_os_call(const struct gt_arrow_job *job, size_t process, size_t unit,
		       struct gt_arrow_batch *batch)
{
	const struct gt_model *model = gt_arrow_model(job, process);
	const struct gt_model_os_call *call = &model->os_calls.at[unit];

	gt_arrow_put_span(job, process, call->start, call->dur, batch);
	put_thread(model, call->thread, batch);
	gt_arrow_put_text(batch, gt_model_name(model, call->name));
	gt_arrow_put_known(batch, call->bytes, call->bytes >= 0);
	gt_arrow_put_known(batch, call->error, call->error != 0);
	put_name(model, call->file, batch);
	put_stack(model, call->stack, batch);
	return 0;
}

/* ---- counters ---- */

static const struct gt_arrow_column counter_columns[] = {
	{"time", GT_ARROW_INT},  {"process", GT_ARROW_INT}, {"device", GT_ARROW_INT_OR_NONE},
	{"name", GT_ARROW_TEXT}, {"value", GT_ARROW_REAL},
};

static size_t count_counters(const struct gt_arrow_job *job, size_t process)
{
	const struct gt_model *model = gt_arrow_model(job, process);

	return model->memory.count + model->health.count;
}

static const char *health_name(uint8_t reading, char *out, size_t size)
{
	snprintf(out, size, "%s %s", gt_health_names[reading].counter,
		 gt_health_names[reading].series);
	return out;
}

static int put_counter(const struct gt_arrow_job *job, size_t process, size_t unit,
		       struct gt_arrow_batch *batch)
{
	const struct gt_model *model = gt_arrow_model(job, process);
	char name[64];
	bool is_memory = unit < model->memory.count;
	const struct gt_memory_point *point = is_memory ? &model->memory.at[unit] : NULL;
	const struct gt_health_point *health =
		is_memory ? NULL : &model->health.at[unit - model->memory.count];

	gt_arrow_put_int(batch, gt_arrow_moment(job, process, point ? point->ts : health->ts));
	gt_arrow_put_int(batch, (int64_t)process);
	gt_arrow_put_known(batch, point ? point->device : health->device,
			   point ? point->device != UINT32_MAX : health->device != GT_NO_DEVICE);
	gt_arrow_put_text(batch, !point ? health_name(health->reading, name, sizeof(name))
				 : point->of_allocator ? "memory in blocks of the allocator"
						       : "memory in use");
	gt_arrow_put_real(batch, point ? (double)point->bytes : health->value);
	return 0;
}

/* ---- what the analysis says ---- */

int gt_arrow_job_index(struct gt_arrow_job *job)
{
	size_t at = 0, count = job->job.count;

	job->gaps_from = calloc(count + 1, sizeof(*job->gaps_from));
	if (!job->gaps_from)
		return -ENOMEM;
	for (size_t f = 0; f < count; f++) { /* they are in the order of the job */
		job->gaps_from[f] = at;
		while (at < job->gaps.list.count &&
		       gt_gaps_get(&job->gaps, at).model == gt_arrow_model(job, f))
			at++;
	}
	job->gaps_from[count] = at;
	return 0;
}

static const struct gt_arrow_column gap_columns[] = {
	GT_ARROW_SPAN,
	{"device", GT_ARROW_INT_OR_NONE},
	{"cause", GT_ARROW_TEXT},
	{"place", GT_ARROW_TEXT_OR_NONE},
	{"gap_start", GT_ARROW_INT},
	{"gap_dur", GT_ARROW_INT},
};

struct piece_sink {
	const struct gt_arrow_job *job;
	size_t process;
	struct gt_arrow_batch *batch;
};

static size_t count_gaps(const struct gt_arrow_job *job, size_t process)
{
	return job->gaps_from[process + 1] - job->gaps_from[process];
}

static int put_piece(const struct gt_gap *gap, const struct gt_piece *piece, void *data)
{
	const struct piece_sink *sink = data;
	struct gt_arrow_batch *batch = sink->batch;

	gt_arrow_put_span(sink->job, sink->process, piece->start, piece->ns, batch);
	gt_arrow_put_known(batch, gap->device, gap->device != GT_NO_DEVICE);
	gt_arrow_put_text(batch, gt_cause_names[piece->cause]);
	if (piece->where && *piece->where)
		gt_arrow_put_text(batch, piece->where);
	else
		gt_arrow_put_none(batch);
	gt_arrow_put_int(batch, gt_arrow_moment(sink->job, sink->process, gap->start));
	gt_arrow_put_int(batch, gap->end - gap->start);
	return 0;
}

static int put_gap(const struct gt_arrow_job *job, size_t process, size_t unit,
		   struct gt_arrow_batch *batch)
{
	struct piece_sink sink = {job, process, batch};

	return gt_gaps_explain(gt_gaps_at(&job->gaps, job->gaps_from[process] + unit), put_piece,
			       &sink);
}

static const struct gt_arrow_column collective_columns[] = {
	{"round", GT_ARROW_INT},         {"process", GT_ARROW_INT},       {"arrived", GT_ARROW_INT},
	{"stop", GT_ARROW_INT},          {"dur", GT_ARROW_INT},           {"waited", GT_ARROW_INT},
	{"is_last", GT_ARROW_BOOL},      {"members", GT_ARROW_INT},       {"name", GT_ARROW_TEXT},
	{"bytes", GT_ARROW_INT_OR_NONE}, {"step", GT_ARROW_TEXT_OR_NONE},
};

static size_t count_members(const struct gt_arrow_job *job, size_t process)
{
	(void)process;
	return job->ranks.rounds.all.count;
}

static void put_member(const struct gt_arrow_job *job, size_t process, size_t unit,
		       const struct gt_round_member *member, struct gt_arrow_batch *batch)
{
	const struct gt_round *round = &job->ranks.rounds.all.at[unit];
	const struct gt_model *model = gt_arrow_model(job, process);
	const struct gt_op *op = gt_model_op_at(model, member->op);

	gt_arrow_put_int(batch, (int64_t)unit);
	gt_arrow_put_int(batch, (int64_t)process);
	gt_arrow_put_int(batch, member->start);
	gt_arrow_put_int(batch, member->end);
	gt_arrow_put_int(batch, op->dur);
	gt_arrow_put_int(batch, gt_round_wait(round, member));
	gt_arrow_put_bool(batch, member - &job->ranks.rounds.members.at[round->first] ==
					 (ptrdiff_t)round->last);
	gt_arrow_put_int(batch, round->count);
	gt_arrow_put_text(batch, gt_communication_collective(gt_model_name(model, op->name)).name);
	gt_arrow_put_known(batch, op->bytes, op->bytes > 0);
	put_step(model, gt_model_step_of(model, op), batch);
}

static int put_round(const struct gt_arrow_job *job, size_t process, size_t unit,
		     struct gt_arrow_batch *batch)
{
	const struct gt_round *round = &job->ranks.rounds.all.at[unit];
	const struct gt_round_member *members = &job->ranks.rounds.members.at[round->first];

	uint32_t low = 0, high = round->count;

	while (low < high) { /* they are by process, each once */
		uint32_t middle = low + (high - low) / 2;

		if (members[middle].model < process)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < round->count && members[low].model == process)
		put_member(job, process, unit, &members[low], batch);
	return 0;
}

static const struct gt_arrow_column blame_columns[] = {
	{"round", GT_ARROW_INT}, {"process", GT_ARROW_INT}, {"late", GT_ARROW_INT},
	{"cost", GT_ARROW_INT},  {"gpu", GT_ARROW_INT},     {"work", GT_ARROW_INT},
	{"data", GT_ARROW_INT},  {"host", GT_ARROW_INT},    {"network", GT_ARROW_INT},
};

static size_t count_blames(const struct gt_arrow_job *job, size_t process)
{
	(void)process;
	return job->ranks.lates.blames.count;
}

static int put_blame(const struct gt_arrow_job *job, size_t process, size_t unit,
		     struct gt_arrow_batch *batch)
{
	const struct gt_late_blame *blame = &job->ranks.lates.blames.at[unit];

	if (blame->model != process)
		return 0;
	gt_arrow_put_int(batch, (int64_t)blame->round);
	gt_arrow_put_int(batch, (int64_t)process);
	gt_arrow_put_int(batch, blame->late);
	gt_arrow_put_int(batch, blame->cost);
	for (int c = 0; c < GT_LATE_COUNT_; c++)
		gt_arrow_put_int(batch, blame->by[c]);
	return 0;
}

static const struct gt_arrow_column process_columns[] = {
	{"process", GT_ARROW_INT},       {"label", GT_ARROW_TEXT},
	{"host", GT_ARROW_TEXT_OR_NONE}, {"pid", GT_ARROW_INT_OR_NONE},
	{"path", GT_ARROW_TEXT},         {"start", GT_ARROW_INT},
	{"stop", GT_ARROW_INT},          {"clock_error", GT_ARROW_INT_OR_NONE},
	{"critical_path", GT_ARROW_INT}, {"critical_busy", GT_ARROW_INT},
	{"is_whole", GT_ARROW_BOOL},
};

static size_t count_one(const struct gt_arrow_job *job, size_t process)
{
	(void)job;
	(void)process;
	return 1;
}

static int put_process(const struct gt_arrow_job *job, size_t process, size_t unit,
		       struct gt_arrow_batch *batch)
{
	const struct gt_model *model = gt_arrow_model(job, process);
	const struct gt_late *late = &job->ranks.lates.of[process];
	int64_t error = job->job.clocks.of[process].error;
	char text[512];

	(void)unit;
	gt_arrow_put_int(batch, (int64_t)process);
	gt_key_of_place(model, "", text, sizeof(text));
	gt_arrow_put_text(batch, text);
	*text = 0;
	gt_header_text(&model->reading.header, "metadata", "hostname", text, sizeof(text));
	if (*text)
		gt_arrow_put_text(batch, text);
	else
		gt_arrow_put_none(batch);
	gt_arrow_put_known(batch, model->pid, model->pid >= 0);
	gt_arrow_put_text(batch, model->path);
	gt_arrow_put_int(batch, gt_arrow_moment(job, process, model->first));
	gt_arrow_put_int(batch, gt_arrow_moment(job, process, model->last));
	gt_arrow_put_known(batch, error, error >= 0);
	gt_arrow_put_int(batch, late->path);
	gt_arrow_put_int(batch, late->path_busy);
	gt_arrow_put_bool(batch, model->reading.closed);
	return 0;
}

const struct gt_arrow_table gt_arrow_tables[] = {
	{"processes", COLUMNS(process_columns), count_one, put_process},
	{"kernels", COLUMNS(kernel_columns), count_ops, put_kernel},
	{"copies", COLUMNS(copy_columns), count_ops, put_copy},
	{"calls", COLUMNS(call_columns), count_calls, put_call},
	{"ranges", COLUMNS(range_columns), count_ranges, put_range},
	{"os_calls", COLUMNS(os_call_columns), count_os_calls, put_os_call},
	{"unified_memory", gt_arrow_page_columns, GT_ARROW_PAGE_COLUMNS, gt_arrow_count_pages,
	 gt_arrow_put_page},
	{"counters", COLUMNS(counter_columns), count_counters, put_counter},
	{"gaps", COLUMNS(gap_columns), count_gaps, put_gap},
	{"collectives", COLUMNS(collective_columns), count_members, put_round},
	{"blames", COLUMNS(blame_columns), count_blames, put_blame},
	{NULL, NULL, 0, NULL, NULL},
};
