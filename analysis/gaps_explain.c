/* SPDX-License-Identifier: Apache-2.0
 *
 * What the host did during one gap (see gaps.h). The thread that matters is the one that started
 * the operation which ended the gap. Its CUDA calls come first, then its ranges, then what its call
 * stacks before and after say. Pure.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gaps.h"
#include "core/elf/libc_path.h"
#include "trace/cuda_call.h"
#include "trace/frame.h"
#include "trace/user_code.h"

#define MAX_OPEN    1024 /* ranges around one moment that are looked at */
#define NAME_WIDTH  60
#define THREAD_TEXT 256
#define SHORT_QUEUE                                                                                \
	20000 /* ns between two queued operations, or from a launch to its work: GPU scheduling */

struct explain {
	const struct gt_gap *gap;
	const struct gt_model *model;
	const struct gt_call *call; /* that started the next operation */
	gt_gap_piece piece;
	void *data;
	char where[4096];
	char inside[1024]; /* of a time between calls */
	uint32_t os_call;  /* in which all of a time is, GT_NONE */
	int64_t told;      /* up to here the time is a host function's */
};

/* Whether the frame's module is known, and what @is says of it. */
static bool check_module(const struct gt_frame *frame, bool (*is)(const char *path))
{
	char module[4096];

	if (!frame->module_len || frame->module_len >= sizeof(module))
		return false;
	memcpy(module, frame->module, frame->module_len);
	module[frame->module_len] = 0;
	return is(module);
}

/* share/python: what it adds to a Python program is no work of the program's. */
static bool is_tracers(const struct gt_frame *frame)
{
	return frame->file_len && memmem(frame->file, frame->file_len, "/_gputrace/", 11);
}

static bool is_machinery(const char *text)
{
	struct gt_frame frame;

	gt_frame_parse(text, &frame);
	return is_tracers(&frame) || check_module(&frame, gt_frame_is_machinery);
}

/* The frame @depth below the root. */
static const char *frame_at(const struct gt_model *model, const struct gt_frames *frames,
			    uint32_t depth)
{
	return gt_model_name(model, frames->frame[frames->count - 1 - depth]);
}

/* The depth of the innermost frame of the user's code among those between two depths; @to: there is
 * none, or nobody asked whose they are. Frames that --user-code names come first. */
static uint32_t users_depth(const struct gt_model *model, const struct gt_frames *frames,
			    uint32_t from, uint32_t to)
{
	uint32_t best = to;
	uint8_t best_rank = 0;

	for (uint32_t n = to; model->ranks && n > from; n--) {
		uint32_t name = frames->frame[frames->count - n];
		uint8_t rank = gt_user_code_rank_of(model, name) & ~GT_FRAME_LINE;

		if (rank > best_rank) {
			best = n - 1;
			best_rank = rank;
		}
	}
	return best;
}

static bool is_users(const struct gt_model *model, const struct gt_frames *frames, uint32_t depth)
{
	uint32_t name = frames->frame[frames->count - 1 - depth];

	return gt_user_code_rank_of(model, name) & GT_FRAME_USER;
}

/* The innermost telling frame of the first @depth ones; the innermost of all where none tells; else
 * NULL. */
static const char *telling(const struct gt_model *model, const struct gt_frames *frames,
			   uint32_t depth)
{
	uint32_t users = users_depth(model, frames, 0, depth);

	if (users < depth)
		return frame_at(model, frames, users);
	for (uint32_t n = depth; n; n--)
		if (!is_machinery(frame_at(model, frames, n - 1)))
			return frame_at(model, frames, n - 1);
	return depth ? frame_at(model, frames, depth - 1) : NULL;
}

/* The nearest telling frame of a stack, "" when there is none. */
static void print_nearest(const struct gt_model *model, uint32_t stack, char *out, size_t size)
{
	const struct gt_frames *frames =
		stack < model->stacks.count ? &model->stacks.at[stack] : NULL;
	const char *text = frames ? telling(model, frames, frames->count) : NULL;

	*out = 0;
	if (text)
		gt_frame_print(text, out, size);
}

static bool is_python(const struct gt_frame *frame)
{
	return frame->file_len &&
	       (*frame->file == '<' ||
		(frame->file_len > 3 && !memcmp(frame->file + frame->file_len - 3, ".py", 3)));
}

void gt_gaps_place(const struct gt_model *model, uint32_t stack, char *out, size_t size,
		   bool *ret_is_data)
{
	const struct gt_frames *frames;
	const char *native = NULL, *python = NULL, *users = NULL;

	*out = 0;
	*ret_is_data = false;
	if (stack >= model->stacks.count || !model->stacks.at[stack].count)
		return;
	frames = &model->stacks.at[stack];
	for (uint32_t i = 0; i < frames->count; i++) {
		const char *text = gt_model_name(model, frames->frame[i]);
		struct gt_frame frame;

		gt_frame_parse(text, &frame);
		if (is_tracers(&frame))
			continue;
		*ret_is_data |= gt_model_is_data(text);
		if (!python && is_python(&frame))
			python = text;
		else if (!native && !check_module(&frame, gt_path_is_libc))
			native = text;
	}
	if (model->ranks &&
	    gt_user_code_rank_of(model, gt_key_launching(model, stack)) & GT_FRAME_USER)
		users = gt_model_name(model, gt_key_launching(model, stack));
	if (!python)
		python = native ? native : gt_model_name(model, frames->frame[0]);
	gt_frame_print(users ? users : python, out, size);
}

static void print_call(const struct gt_model *model, const struct gt_call *call, char *out,
		       size_t size)
{
	char frame[2048];

	print_nearest(model, call->stack, frame, sizeof(frame));
	snprintf(out, size, "%s%s%s", gt_model_name(model, call->name), *frame ? " from " : "",
		 frame);
}

/* With the kernel that waited for it, where the call launched the one that ended the gap. */
static void print_loading(struct explain *e, const struct gt_call *call)
{
	const struct gt_op *op = &e->model->ops.at[e->gap->op];
	char from[2048], name[256];

	if (call != e->call || op->kind != GT_OP_KERNEL) {
		print_call(e->model, call, e->where, sizeof(e->where));
		return;
	}
	print_nearest(e->model, call->stack, from, sizeof(from));
	gt_frame_shorten(gt_model_name(e->model, op->name), NAME_WIDTH, name, sizeof(name));
	snprintf(e->where, sizeof(e->where), "%s of %s%s%s", gt_model_name(e->model, call->name),
		 name, *from ? " from " : "", from);
}

/* A part of the gap in which the stream waited for no function. */
static int report_part(struct explain *e, enum gt_cause cause, int64_t start, int64_t ns)
{
	struct gt_piece piece = {.cause = cause,
				 .where = e->where,
				 .start = start,
				 .ns = ns,
				 .thread = *e->inside ? e->call->thread : GT_NONE,
				 .inside = e->inside,
				 .os_call = e->os_call};

	return e->piece(e->gap, &piece, e->data);
}

static int report_function(struct explain *e, const struct gt_host_wait *wait, int64_t start)
{
	char where[4096] = "(the call is not in the trace)";
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
		print_call(e->model, &e->model->calls.at[wait->call], where, sizeof(where));
	return e->piece(e->gap, &piece, e->data);
}

/* While the stream of the next operation waited for a host function, that is the cause: whatever
 * else the host did then, no work could have begun. The time of a function is one piece, and left
 * out of those behind it. */
static int report(struct explain *e, enum gt_cause cause, int64_t start, int64_t ns)
{
	const struct gt_op *op = &e->model->ops.at[e->gap->op];
	int64_t end = start + ns;
	int rc = 0;

	while (!rc && start < end) {
		const struct gt_host_wait *wait = gt_model_wait_from(e->model, op, start);
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
	const char *name = gt_model_name(e->model, call->name);
	static const enum gt_cause causes[] = {[GT_CUDA_CALL_OTHER] = GT_CAUSE_API,
					       [GT_CUDA_CALL_ENQUEUES] = GT_CAUSE_LAUNCH,
					       [GT_CUDA_CALL_BLOCKS] = GT_CAUSE_SYNC};

	if (gt_model_loads(e->model, call)) {
		print_loading(e, call);
		return report(e, GT_CAUSE_LOADING, start, ns);
	}
	print_call(e->model, call, e->where, sizeof(e->where));
	return report(e, causes[gt_cuda_call_of(name)], start, ns);
}

/* First range of a kind on the thread that begins behind @t. */
static int64_t next_start(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			  int64_t t)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	uint32_t low = track->range[kind].first, end = low + track->range[kind].count, high = end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->ranges.at[middle].start <= t)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end ? model->ranges.at[low].start : INT64_MAX;
}

/* The innermost range around @t of the kinds that tell about the host's work; *ret_until: how long
 * that answer holds. */
static uint32_t range_around(const struct explain *e, int64_t t, int64_t *ret_until)
{
	static const enum gt_range_kind kinds[] = {GT_RANGE_PYTHON, GT_RANGE_NVTX, GT_RANGE_OP};
	uint32_t found = GT_NONE;

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		uint32_t range = gt_model_range_at(e->model, e->call->thread, kinds[k], t);
		int64_t next = next_start(e->model, e->call->thread, kinds[k], t);
		const struct gt_model_range *at =
			range == GT_NONE ? NULL : &e->model->ranges.at[range];

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

/*
 * How many frames, from the root on, the host was in all the time between two stacks of its thread.
 *
 * A frame's text names the function and the place of its call (return address or line). From the
 * root on, frames of equal places are the same activation, as far as anybody can tell. At the first
 * frame of another place there are two cases. The function is the same: it went on from one place
 * to the other, so its callee had returned, and the time is its own (it is counted in). It is
 * another one: the frame above it called both, and the time is the caller's. Where all places are
 * equal, the very same call was made again: the innermost frame made it and contains the loop, or
 * was called by what does. Recursion needs no care: each activation is a frame. Frames without a
 * symbol are functions of their own at each place: the time goes to the caller.
 */
static uint32_t common_depth(const struct gt_model *model, const struct gt_frames *a,
			     const struct gt_frames *b)
{
	uint32_t n = 0, least = a->count < b->count ? a->count : b->count;

	while (n < least && !strcmp(frame_at(model, a, n), frame_at(model, b, n)))
		n++;
	return n < least && gt_frame_same_function(frame_at(model, a, n), frame_at(model, b, n))
		       ? n + 1
		       : n;
}

/* The user's frame that was called from the first @depth ones, else the one without machinery; ""
 * where there is none. */
static void print_below(const struct gt_model *model, const struct gt_frames *frames,
			uint32_t depth, char *out, size_t size)
{
	uint32_t users = depth;

	*out = 0;
	while (model->ranks && users < frames->count && !is_users(model, frames, users))
		users++;
	if (users < frames->count)
		depth = users;
	while (depth < frames->count && is_machinery(frame_at(model, frames, depth)))
		depth++;
	if (depth == frames->count)
		return;
	if (model->ranks && !is_users(model, frames, depth)) /* its name is enough */
		gt_frame_shorten(frame_at(model, frames, depth), NAME_WIDTH, out, size);
	else
		gt_frame_print(frame_at(model, frames, depth), out, size);
}

/* Between two stacks of the same thread the host was in the function that they have in common, or
 * in what it called between them. */
static void place_between(struct explain *e, const struct gt_frames *last,
			  const struct gt_frames *next)
{
	uint32_t depth = common_depth(e->model, last, next);
	const char *common = telling(e->model, next, depth);
	char in[1024], from[1024], to[1024], thread[THREAD_TEXT];
	bool both;

	*in = 0;
	if (common &&
	    !is_machinery(common)) /* what starts main tells less than the thread's name */
		gt_frame_print(common, in, sizeof(in));
	print_below(e->model, last, depth, from, sizeof(from));
	print_below(e->model, next, depth, to, sizeof(to));
	both = *from && !strcmp(from, to);
	if (both)
		*to = 0;
	snprintf(e->where, sizeof(e->where), "%s%s%s%s%s%s",
		 *in ? in : gt_gaps_thread(e->model, e->call->thread, thread, sizeof(thread)),
		 *from || *to ? "," : "",
		 both    ? " between calls in "
		 : *from ? " after a call in "
			 : "",
		 from, *to ? " up to a call in " : "", to);
}

/* The stack of the thread's first call behind @before, else that of the call that ended the gap. */
static uint32_t next_stack(const struct explain *e, uint32_t before)
{
	const struct gt_thread_track *track = &e->model->threads.at[e->call->thread];
	uint32_t next = before == GT_NONE ? track->call.first : before + 1;
	uint32_t stack = next < track->call.first + track->call.count
				 ? e->model->calls.at[next].stack
				 : GT_NONE;

	return stack < e->model->stacks.count && e->model->stacks.at[stack].count ? stack
										  : e->call->stack;
}

/* What the stacks of the calls before and after @t say where there are no ranges. */
static void place_by_stacks(struct explain *e, int64_t t)
{
	const struct gt_model *model = e->model;
	uint32_t before = gt_model_call_before(model, e->call->thread, t);
	uint32_t last = before == GT_NONE ? GT_NONE : model->calls.at[before].stack;
	uint32_t next = next_stack(e, before);
	char thread[THREAD_TEXT], frame[1024];

	print_nearest(model, next, frame, sizeof(frame));
	if (last < model->stacks.count && *frame)
		place_between(e, &model->stacks.at[last], &model->stacks.at[next]);
	else
		snprintf(e->where, sizeof(e->where), "%s, up to %s",
			 gt_gaps_thread(e->model, e->call->thread, thread, sizeof(thread)),
			 *frame ? frame : gt_model_name(model, e->call->name));
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

/* A step is everything: what the stacks say is better, and all steps are one. */
static enum gt_cause place_by_range(struct explain *e, uint32_t range, int64_t t)
{
	const struct gt_model_range *users = &e->model->ranges.at[users_range(e, range, t)];
	const char *name = gt_model_name(e->model, users->name);
	bool has_stack = e->call->stack < e->model->stacks.count &&
			 e->model->stacks.at[e->call->stack].count;
	bool is_librarys =
		e->model->ranks && users->kind == GT_RANGE_NVTX && !is_users_range(e->model, users);
	char thread[THREAD_TEXT];

	if (has_stack && (is_step(name) || is_librarys)) {
		place_by_stacks(e, t);
		return GT_CAUSE_HOST;
	}
	snprintf(e->where, sizeof(e->where), "%s: %s",
		 gt_gaps_thread(e->model, e->call->thread, thread, sizeof(thread)),
		 is_step(name) ? "ProfilerStep" : name);
	snprintf(e->inside, sizeof(e->inside), "%.1000s", e->where);
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

	*e->where = 0;
	e->os_call = os_call;
	rc = report(e, is_data ? GT_CAUSE_DATA : GT_CAUSE_BLOCKED, start, end - start);
	e->os_call = GT_NONE;
	return rc;
}

/* [start, end) lies between two calls of the thread. */
static int report_host(struct explain *e, int64_t start, int64_t end)
{
	char thread[THREAD_TEXT];
	int rc = 0;

	while (!rc && start < end) {
		uint32_t os_call = gt_model_os_call_at(e->model, e->call->thread, start);
		int64_t until = gt_model_os_call_until(e->model, e->call->thread, os_call, start);
		uint32_t range;
		enum gt_cause cause = GT_CAUSE_HOST;

		*e->inside = 0;
		until = until < end ? until : end;
		if (os_call != GT_NONE) {
			rc = report_os_call(e, os_call, start, until);
			start = until;
			continue;
		}
		range = range_around(e, start, &until);
		snprintf(e->inside, sizeof(e->inside), "%s",
			 gt_gaps_thread(e->model, e->call->thread, thread, sizeof(thread)));
		if (range == GT_NONE)
			place_by_stacks(e, start);
		else
			cause = place_by_range(e, range, start);
		if (until <= start)
			until = end;
		rc = report(e, cause, start, until - start);
		start = until;
	}
	*e->inside = 0;
	return rc;
}

/* The host's time from @start until the call that ended the gap. */
static int walk_host(struct explain *e, int64_t start, int64_t end)
{
	const struct gt_thread_track *track = &e->model->threads.at[e->call->thread];
	uint32_t i = gt_model_call_before(e->model, e->call->thread, start);
	int rc = 0;

	i = i == GT_NONE ? track->call.first : i - e->model->calls.at[i].back;
	for (; !rc && i < track->call.first + track->call.count && start < end; i++) {
		const struct gt_call *call = &e->model->calls.at[i];
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
	const struct gt_op *op = &e->model->ops.at[gap->op],
			   *before = &e->model->ops.at[gap->before];
	bool behind = e->call->start + e->call->dur <= gap->start; /* then @before held it up */
	char name[1024], other[1024];

	gt_frame_shorten(gt_model_name(e->model, op->name), NAME_WIDTH, name, sizeof(name));
	gt_frame_shorten(gt_model_name(e->model, before->name), NAME_WIDTH, other, sizeof(other));
	if (behind)
		snprintf(e->where, sizeof(e->where), "(%s waited behind %s)", name, other);
	else
		snprintf(e->where, sizeof(e->where), "(%s waited after its launch)", name);
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
	struct explain e = {.gap = gap,
			    .model = gap->model,
			    .piece = piece,
			    .data = data,
			    .told = gap->start,
			    .os_call = GT_NONE};
	int64_t from;
	int rc;

	e.call = gt_model_call_of(gap->model, &gap->model->ops.at[gap->op]);
	if (!e.call) {
		snprintf(e.where, sizeof(e.where), "(the call is not in the trace)");
		return report(&e, GT_CAUSE_UNKNOWN, gap->start, gap->end - gap->start);
	}
	if (e.call->start <= gap->start)
		return report_queued(&e);
	from = e.call->start < gap->end ? e.call->start : gap->end;
	rc = walk_host(&e, gap->start, from);
	return rc ? rc : report_launch(&e, from);
}
