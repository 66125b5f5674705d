/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host did during one gap (see gaps.h). The thread that matters is the one that started
 * the operation which ended the gap. Its CUDA calls come first, then its ranges, then what its call
 * stacks before and after say. Pure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/gaps/texts.h"
#include "analysis/gaps/place.h"
#include "trace/frame.h"
#include "trace/user_code.h"

#define MOST_INSIDE 1000 /* bytes of the place that samples are counted under */
#define TEXT        4096 /* bytes of a place */
#define INSIDE      1024
#define MAX_OPEN    1024 /* ranges around one moment that are looked at */
#define SHORT_QUEUE                                                                                \
	20000 /* ns between two queued operations, or from a launch to its work: GPU scheduling */

/* What is written for one gap and not kept. Apart: it is large, and nothing until it is written. */
struct explain_room {
	char text[TEXT];
	char inside_text[INSIDE];
};

struct explain {
	const struct gt_gap *gap;
	const struct gt_model *model;
	const struct gt_op *op;     /* that ends the gap */
	const struct gt_call *call; /* that started it */
	gt_gap_piece piece;
	void *data;
	const char *where;
	bool is_kept;
	const char *inside;       /* of a time between calls, else "" */
	char *text, *inside_text; /* in the room */
	uint32_t os_call;         /* in which all of a time is, GT_NONE */
	int64_t told;             /* up to here the time is a host function's */
};

/* Makes the text of that key the place, if it is known. */
static bool has_text(struct explain *e, const struct gt_gaps_key *key)
{
	const char *text = gt_gaps_kept(e->gap->texts, e->model, key);

	if (!text)
		return false;
	e->where = text;
	e->is_kept = true;
	return true;
}

/* Makes e->text the place. @key: to know it next time, or NULL. */
static void use_text(struct explain *e, const struct gt_gaps_key *key)
{
	const char *kept = key ? gt_gaps_keep(e->gap->texts, e->model, key, e->text) : NULL;

	e->where = kept ? kept : e->text;
	e->is_kept = kept != NULL;
}

static void print_call(const struct gt_model *model, const struct gt_call *call, char *out,
		       size_t size)
{
	char frame[2048];

	gt_gaps_nearest(model, call->stack, frame, sizeof(frame));
	snprintf(out, size, "%s%s%s", gt_model_name(model, call->name), *frame ? " from " : "",
		 frame);
}

static void place_call(struct explain *e, const struct gt_call *call)
{
	const struct gt_gaps_key key = {GT_GAPS_TEXT_CALL,
					{e->model->calls.at[call->index].traits}};

	if (has_text(e, &key))
		return;
	print_call(e->model, call, e->text, TEXT);
	use_text(e, &key);
}

/* With the kernel that waited for it, where the call launched the one that ended the gap. */
static void print_loading(struct explain *e, const struct gt_call *call)
{
	const struct gt_op *op = e->op;
	char from[2048];

	if (!e->call || call->index != e->call->index || op->kind != GT_OP_KERNEL) {
		place_call(e, call);
		return;
	}
	gt_gaps_nearest(e->model, call->stack, from, sizeof(from));
	snprintf(e->text, TEXT, "%s of %s%s%s", gt_model_name(e->model, call->name),
		 gt_gaps_name(e->gap->texts, e->model, op->name), *from ? " from " : "", from);
	use_text(e, NULL);
}

/* A part of the gap in which the stream waited for no function. */
static int report_part(struct explain *e, enum gt_cause cause, int64_t start, int64_t ns)
{
	struct gt_piece piece = {.cause = cause,
				 .where = e->where,
				 .is_kept = e->is_kept,
				 .start = start,
				 .ns = ns,
				 .thread = *e->inside ? e->call->thread : GT_NONE,
				 .inside = e->inside,
				 .os_call = e->os_call};

	return e->piece(e->gap, &piece, e->data);
}

static int report_function(struct explain *e, const struct gt_host_wait *wait, int64_t start)
{
	char where[TEXT] = "(the call is not in the trace)";
	int64_t end = wait->end < e->gap->end ? wait->end : e->gap->end;
	struct gt_piece piece = {.cause = GT_CAUSE_FUNCTION,
				 .where = where,
				 .start = start,
				 .ns = end - start,
				 .thread = GT_NONE,
				 .inside = "",
				 .os_call = GT_NONE};

	e->told = end;
	if (wait->call != GT_NONE)
		print_call(e->model, gt_model_call_at(e->model, wait->call), where, sizeof(where));
	return e->piece(e->gap, &piece, e->data);
}

/* While the stream of the next operation waited for a host function, that is the cause: whatever
 * else the host did then, no work could have begun. The time of a function is one piece, and left
 * out of those behind it. */
static int report(struct explain *e, enum gt_cause cause, int64_t start, int64_t ns)
{
	int64_t end = start + ns;
	int rc = 0;

	while (!rc && start < end) {
		const struct gt_host_wait *wait = gt_model_wait_from(e->model, e->op, start);
		int64_t from = wait && wait->start < end ? wait->start : end;

		if (start < e->told) {
			start = e->told < end ? e->told : end;
		} else if (from > start) {
			rc = report_part(e, cause, start, from - start);
			start = from;
		} else {
			rc = report_function(e, wait, start);
		}
	}
	return rc;
}

static int report_call(struct explain *e, const struct gt_call *call, int64_t start, int64_t ns)
{
	static const enum gt_cause causes[] = {[GT_CUDA_CALL_OTHER] = GT_CAUSE_API,
					       [GT_CUDA_CALL_ENQUEUES] = GT_CAUSE_LAUNCH,
					       [GT_CUDA_CALL_BLOCKS] = GT_CAUSE_SYNC};

	if (gt_model_loads(e->model, call)) {
		print_loading(e, call);
		return report(e, GT_CAUSE_LOADING, start, ns);
	}
	place_call(e, call);
	return report(e, causes[gt_gaps_call(e->gap->texts, e->model, call->name)], start, ns);
}

/* The innermost range around @t of the kinds that tell about the host's work; *ret_until: how long
 * that answer holds. */
static uint32_t range_around(const struct explain *e, int64_t t, int64_t *ret_until)
{
	static const enum gt_range_kind kinds[] = {GT_RANGE_PYTHON, GT_RANGE_NVTX, GT_RANGE_OP};
	const struct gt_thread_track *track = &e->model->threads.at[e->call->thread];
	uint32_t found = GT_NONE;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		const struct gt_model_range *at;
		uint32_t range;
		int64_t next;

		if (!track->range[kinds[k]].count)
			continue;
		range = gt_model_range_at(e->model, e->call->thread, kinds[k], t);
		next = gt_model_next_range(e->model, e->call->thread, kinds[k], t);
		at = range == GT_NONE ? NULL : &e->model->ranges.at[range];
		if (next < *ret_until)
			*ret_until = next;
		if (!at)
			continue;
		if (at->start + at->dur < *ret_until)
			*ret_until = at->start + at->dur;
		if (found == GT_NONE || at->start > e->model->ranges.at[found].start)
			found = range;
	}
	return found;
}

static bool is_step(const char *name)
{
	return !strncmp(name, "ProfilerStep#", 13);
}

/* A function or range of the user's. */
static bool is_users_range(const struct gt_model *model, const struct gt_model_range *range)
{
	if (range->kind == GT_RANGE_NVTX)
		return gt_user_code_has_domain(gt_model_name(model, range->domain));
	return range->kind != GT_RANGE_PYTHON ||
	       gt_user_code_rank_of(model, range->name) & GT_FRAME_USER;
}

/* The user's range of the same kind that a library's runs in, else that one. */
static uint32_t users_range(const struct explain *e, uint32_t range, int64_t t)
{
	const struct gt_model *model = e->model;
	uint32_t around = range;

	if (!model->ranks)
		return range;
	for (int i = 0; around != GT_NONE && i < MAX_OPEN; i++) {
		if (is_users_range(model, &model->ranges.at[around]))
			return around;
		around = gt_model_range_around(model, around, t);
	}
	return range;
}

/* [start, ...) by the calls around it. */
static void place_between(struct explain *e, int64_t start)
{
	const struct gt_gaps_key key = gt_gaps_between_key(e->model, e->call, start);

	if (has_text(e, &key))
		return;
	gt_gaps_place_between(e->model, e->call, start, e->text, TEXT);
	use_text(e, &key);
}

static const char *thread_text(struct explain *e)
{
	const struct gt_gaps_key key = {GT_GAPS_TEXT_THREAD, {e->call->thread}};
	const char *text = gt_gaps_kept(e->gap->texts, e->model, &key);
	char thread[GT_GAPS_THREAD];

	if (text)
		return text;
	gt_gaps_thread(e->model, e->call->thread, thread, sizeof(thread));
	text = gt_gaps_keep(e->gap->texts, e->model, &key, thread);
	if (!text)
		snprintf(e->inside_text, INSIDE, "%s", thread);
	return text ? text : e->inside_text;
}

/* A step is everything: what the stacks say is better, and all steps are one. */
static enum gt_cause place_by_range(struct explain *e, uint32_t range, int64_t t)
{
	const struct gt_model_range *users = &e->model->ranges.at[users_range(e, range, t)];
	const char *name = gt_model_name(e->model, users->name);
	bool has_stack = e->call->stack < e->model->stacks.count &&
			 e->model->stacks.at[e->call->stack].count;
	bool is_librarys =
		e->model->ranks && users->kind == GT_RANGE_NVTX && !is_users_range(e->model, users);
	const struct gt_gaps_key key = {
		GT_GAPS_TEXT_RANGE,
		{e->call->thread, is_step(name) ? 0 : users->name, is_step(name)}};

	if (has_stack && (is_step(name) || is_librarys)) {
		place_between(e, t);
		return GT_CAUSE_HOST;
	}
	if (!has_text(e, &key)) {
		snprintf(e->text, TEXT, "%s: %s", e->inside, is_step(name) ? "ProfilerStep" : name);
		use_text(e, &key);
	}
	if (strlen(e->where) > MOST_INSIDE)
		snprintf(e->inside_text, INSIDE, "%.*s", MOST_INSIDE, e->where);
	e->inside = strlen(e->where) > MOST_INSIDE ? e->inside_text : e->where;
	return e->model->ranges.at[range].data ? GT_CAUSE_DATA : GT_CAUSE_HOST;
}

/* The thread is in a call of the operating system from @start to @end. */
static int report_os_call(struct explain *e, uint32_t os_call, int64_t start, int64_t end)
{
	int64_t until = end;
	uint32_t range = range_around(e, start, &until);
	bool is_data = e->model->os_calls.at[os_call].is_data ||
		       (range != GT_NONE && e->model->ranges.at[range].data);
	int rc;

	*e->text = 0;
	use_text(e, NULL);
	e->os_call = os_call;
	rc = report(e, is_data ? GT_CAUSE_DATA : GT_CAUSE_BLOCKED, start, end - start);
	e->os_call = GT_NONE;
	return rc;
}

/* [start, end) lies between two calls of the thread. */
static int report_host(struct explain *e, int64_t start, int64_t end)
{
	int rc = 0;

	while (!rc && start < end) {
		uint32_t os_call = gt_model_os_call_at(e->model, e->call->thread, start);
		int64_t until = gt_model_os_call_until(e->model, e->call->thread, os_call, start);
		uint32_t range;
		enum gt_cause cause = GT_CAUSE_HOST;

		e->inside = "";
		until = until < end ? until : end;
		if (os_call != GT_NONE) {
			rc = report_os_call(e, os_call, start, until);
			start = until;
			continue;
		}
		range = range_around(e, start, &until);
		e->inside = thread_text(e);
		if (range == GT_NONE)
			place_between(e, start);
		else
			cause = place_by_range(e, range, start);
		if (until <= start)
			until = end;
		rc = report(e, cause, start, until - start);
		start = until;
	}
	e->inside = "";
	return rc;
}

/* The host's time from @start until the call that ended the gap. */
static int walk_host(struct explain *e, int64_t start, int64_t end)
{
	const struct gt_thread_track *track = &e->model->threads.at[e->call->thread];
	uint32_t i = gt_model_call_before(e->model, e->call->thread, start, e->call->index);
	int rc = 0;

	i = i == GT_NONE ? track->call.first : i - e->model->calls.at[i].back;
	for (; !rc && i < track->call.first + track->call.count && start < end; i++) {
		const struct gt_call *call = gt_model_call_at(e->model, i);
		int64_t call_end = call->start + call->dur;

		if (call_end <= start)
			continue;
		if (call->start >= end)
			break;
		if (call->start > start) {
			rc = report_host(e, start, call->start);
			start = call->start;
		}
		if (call_end > end)
			call_end = end;
		if (!rc)
			rc = report_call(e, call, start, call_end - start);
		start = call_end;
	}
	return rc ? rc : report_host(e, start, end);
}

static bool computes(const struct gt_op *op)
{
	return op->kind == GT_OP_KERNEL || op->kind == GT_OP_GRAPH;
}

/* Its call had returned, and it did not begin. */
static int report_wait(struct explain *e, int64_t start)
{
	const struct gt_gap *gap = e->gap;
	const struct gt_op *op = e->op, *before = gt_model_op_at(e->model, gap->before);
	bool behind = e->call->start + e->call->dur <= gap->start; /* then @before held it up */
	const struct gt_gaps_key key = {behind ? GT_GAPS_TEXT_BEHIND : GT_GAPS_TEXT_WAITED,
					{op->name, behind ? before->name : 0}};

	if (!has_text(e, &key)) {
		const char *name = gt_gaps_name(e->gap->texts, e->model, op->name);

		if (behind)
			snprintf(e->text, TEXT, "(%s waited behind %s)", name,
				 gt_gaps_name(e->gap->texts, e->model, before->name));
		else
			snprintf(e->text, TEXT, "(%s waited after its launch)", name);
		use_text(e, &key);
	}
	return report(e,
		      behind && before->kind == GT_OP_COPY && computes(op) ? GT_CAUSE_COPY
									   : GT_CAUSE_QUEUED,
		      start, gap->end - start);
}

/* What remains of the gap is the call's, until the GPU could have begun, and then a wait. */
static int report_launch(struct explain *e, int64_t from)
{
	int64_t left = e->gap->end - from, ns = e->call->start + e->call->dur - from;
	int rc;

	if (ns < 0)
		ns = 0;
	ns = left - ns > SHORT_QUEUE ? ns + SHORT_QUEUE : left;
	rc = report_call(e, e->call, from, ns);
	return rc ? rc : report_wait(e, from + ns);
}

/* The operation was asked for before the gap began. */
static int report_queued(struct explain *e)
{
	const struct gt_gap *gap = e->gap;

	if (e->call->start + e->call->dur > gap->start || gap->end - gap->start <= SHORT_QUEUE)
		return report_launch(e, gap->start);
	return report_wait(e, gap->start);
}

int gt_gaps_explain(const struct gt_gap *gap, gt_gap_piece piece, void *data)
{
	const struct gt_op op = gt_model_op(gap->model, gap->op);
	struct explain_room room;
	struct explain e = {.gap = gap,
			    .model = gap->model,
			    .op = &op,
			    .piece = piece,
			    .data = data,
			    .inside = "",
			    .text = room.text,
			    .inside_text = room.inside_text,
			    .told = gap->start,
			    .os_call = GT_NONE};
	int64_t from;
	int rc;

	e.call = gt_model_call_of(gap->model, &op);
	if (!e.call) {
		snprintf(e.text, TEXT, "(the call is not in the trace)");
		use_text(&e, NULL);
		return report(&e, GT_CAUSE_UNKNOWN, gap->start, gap->end - gap->start);
	}
	if (e.call->start <= gap->start)
		return report_queued(&e);
	from = e.call->start < gap->end ? e.call->start : gap->end;
	rc = walk_host(&e, gap->start, from);
	return rc ? rc : report_launch(&e, from);
}
