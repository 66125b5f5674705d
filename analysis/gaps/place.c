/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the program that call stacks name (see place.h). Pure.
 */
#include "analysis/gaps/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/key.h"
#include "core/elf/libc_path.h"
#include "core/schema/os_call.h"
#include "trace/frame.h"
#include "trace/user_code.h"

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

void gt_gaps_nearest(const struct gt_model *model, uint32_t stack, char *out, size_t size)
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
		gt_frame_shorten(frame_at(model, frames, depth), GT_GAPS_NAME, out, size);
	else
		gt_frame_print(frame_at(model, frames, depth), out, size);
}

/* Between two stacks of the same thread the host was in the function that they have in common, or
 * in what it called between them. */
static void place_between(const struct gt_model *model, uint32_t thread, uint32_t last_stack,
			  uint32_t next_stack, char *out, size_t size)
{
	const struct gt_frames *last = &model->stacks.at[last_stack],
			       *next = &model->stacks.at[next_stack];
	uint32_t depth = common_depth(model, last, next);
	const char *common = telling(model, next, depth);
	char in[1024], from[1024], to[1024], name[GT_GAPS_THREAD];
	bool both;

	*in = 0;
	if (common &&
	    !is_machinery(common)) /* what starts main tells less than the thread's name */
		gt_frame_print(common, in, sizeof(in));
	print_below(model, last, depth, from, sizeof(from));
	print_below(model, next, depth, to, sizeof(to));
	both = *from && !strcmp(from, to);
	if (both)
		*to = 0;
	snprintf(out, size, "%s%s%s%s%s%s",
		 *in ? in : gt_gaps_thread(model, thread, name, sizeof(name)),
		 *from || *to ? "," : "",
		 both    ? " between calls in "
		 : *from ? " after a call in "
			 : "",
		 from, *to ? " up to a call in " : "", to);
}

/* The stack of the thread's first call behind @before, else that of @call. */
static uint32_t next_stack(const struct gt_model *model, const struct gt_call *call,
			   uint32_t before)
{
	const struct gt_thread_track *track = &model->threads.at[call->thread];
	uint32_t next = before == GT_NONE ? track->call.first : before + 1;
	uint32_t stack = next < track->call.first + track->call.count
				 ? gt_model_call_traits(model, next)->stack
				 : GT_NONE;

	return stack < model->stacks.count && model->stacks.at[stack].count ? stack : call->stack;
}

void gt_gaps_place_between(const struct gt_model *model, const struct gt_call *call, int64_t t,
			   char *out, size_t size)
{
	uint32_t before = gt_model_call_before(model, call->thread, t, call->index);
	uint32_t last = before == GT_NONE ? GT_NONE : gt_model_call_traits(model, before)->stack;
	uint32_t next = next_stack(model, call, before);
	char thread[GT_GAPS_THREAD], frame[1024];

	gt_gaps_nearest(model, next, frame, sizeof(frame));
	if (last < model->stacks.count && *frame)
		place_between(model, call->thread, last, next, out, size);
	else
		snprintf(out, size, "%s, up to %s",
			 gt_gaps_thread(model, call->thread, thread, sizeof(thread)),
			 *frame ? frame : gt_model_name(model, call->name));
}

struct gt_gaps_key gt_gaps_between_key(const struct gt_model *model, const struct gt_call *call,
				       int64_t t)
{
	uint32_t before = gt_model_call_before(model, call->thread, t, call->index);
	uint32_t last = before == GT_NONE ? GT_NONE : gt_model_call_traits(model, before)->stack;

	return (struct gt_gaps_key){
		GT_GAPS_TEXT_BETWEEN,
		{call->thread, last, next_stack(model, call, before), call->name}};
}

/* Of a descriptor without a path, by its kind. Of an epoll descriptor the call's name says it. */
static const char *const things[GT_OS_KIND_COUNT_] = {
	[GT_OS_KIND_FILE] = "a file",       [GT_OS_KIND_FOLDER] = "a folder",
	[GT_OS_KIND_PIPE] = "a pipe",       [GT_OS_KIND_SOCKET] = "a socket",
	[GT_OS_KIND_DEVICE] = "a device",   [GT_OS_KIND_EVENTFD] = "an eventfd",
	[GT_OS_KIND_TIMERFD] = "a timerfd",
};

const char *gt_gaps_thread(const struct gt_model *model, uint32_t thread, char *out, size_t size)
{
	const struct gt_thread_track *track = &model->threads.at[thread];
	const char *name = track->name ? gt_model_name(model, track->name) : "";

	if (!*name)
		snprintf(out, size, "thread %" PRId64, track->tid);
	else
		snprintf(out, size, "%s%s", strstr(name, "thread ") ? "" : "thread ", name);
	return out;
}

void gt_gaps_os_call(const struct gt_model *model, uint32_t os_call, bool path, char *out,
		     size_t size)
{
	const struct gt_model_os_call *call = &model->os_calls.at[os_call];
	const char *of = things[call->kind];
	char thread[GT_GAPS_THREAD], place[2048];
	bool is_data;

	if (call->file != GT_NAME_NONE)
		of = path ? gt_model_name(model, call->file) : "files";
	gt_gaps_place(model, call->stack, place, sizeof(place), &is_data);
	snprintf(out, size, "%s: %s()%s%s%s%s",
		 gt_gaps_thread(model, call->thread, thread, sizeof(thread)),
		 gt_model_name(model, call->name), of ? " of " : "", of ? of : "",
		 *place ? " from " : "", place);
}
