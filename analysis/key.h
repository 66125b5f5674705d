/* SPDX-License-Identifier: Apache-2.0
 *
 * What a GPU operation can be counted under (`--by`) and what it can be chosen by (`--filter`): its
 * kernel, the stack, line or function that launched it, the operator, step or NVTX range around the
 * launch, its stream, device or rank. Pure over constant models; a filter is for one thread.
 */
#ifndef GT_ANALYSIS_KEY_H
#define GT_ANALYSIS_KEY_H

#include "readers/keymap.h"
#include "trace/job.h"
#include "trace/model.h"

/* What GPU time is summed up by (stats --by). */
enum gt_key {
	GT_KEY_KERNEL,
	GT_KEY_STACK,
	GT_KEY_LINE,
	GT_KEY_FUNCTION,
	GT_KEY_MODULE,
	GT_KEY_OP,
	GT_KEY_STEP,
	GT_KEY_STREAM,
	GT_KEY_DEVICE,
	GT_KEY_RANK,
	GT_KEY_NVTX,
	GT_KEY_COUNT_
};

/* What GPU time that no line, function, module or stack can be told for stands under. */
#define GT_KEY_UNKNOWN "unknown (no call stack)"

/* As written behind --by=, indexed by enum gt_key. */
extern const char *const gt_key_names[GT_KEY_COUNT_];

/* The text of @key for an operation, into @out (terminated, cut at @size). */
void gt_key_of_op(const struct gt_model *model, const struct gt_op *op, enum gt_key key, char *out,
		  size_t size);

/* "rank 0" and @what, " GPU 1" or another place in it; with its process id where that does not tell
 * a process of the job from another. */
void gt_key_of_place(const struct gt_model *model, const char *what, char *out, size_t size);

/* gt_key_of_place of a device. */
void gt_key_of_device(const struct gt_model *model, uint32_t device, char *out, size_t size);

/* The name of a range, behind its domain and a colon when it has one. */
void gt_key_of_range(const struct gt_model *model, const struct gt_model_range *range, char *out,
		     size_t size);

/* The launching frame of a stack of the model, a name number: of the best rank
 * (trace/user_code.h) the nearest. GT_NAME_NONE: it has none. */
uint32_t gt_key_launching(const struct gt_model *model, uint32_t stack);

/* The same of the Python functions around a call, for operations without a stack. */
uint32_t gt_key_launching_range(const struct gt_model *model, const struct gt_call *call);

/* The text of LINE, FUNCTION or MODULE for the frame @name. False: it has none, since it @launches
 * nothing itself and is a library's or, for LINE, has no source line. */
bool gt_key_of_frame(const struct gt_model *model, uint32_t name, bool launches, enum gt_key key,
		     char *out, size_t size);

/* A call stack in one line, root first when @root_first, frames between @gap. Returns its length,
 * 0 when nothing is known. */
size_t gt_key_stack(const struct gt_model *model, uint32_t stack, bool root_first, const char *gap,
		    char *out, size_t size);

/* Which Python functions around a moment a text names. */
enum gt_key_functions {
	GT_FUNCTIONS_ALL,
	GT_FUNCTIONS_TO_USERS, /* up to the innermost of the user's code */
	GT_FUNCTIONS_OF_USERS, /* of these only the user's, if there are any */
};

/* The ranges around a moment on a host thread and its additional tracks, outermost first, as if
 * they were a stack: Python functions if there are any, else NVTX ranges and operators. Returns the
 * length written. */
size_t gt_key_ranges(const struct gt_model *model, uint32_t thread, int64_t t,
		     enum gt_key_functions which, const char *gap, char *out, size_t size);

/* The training step (ProfilerStep#N) that an operation belongs to by its call: index in ranges, or
 * GT_NONE. */
uint32_t gt_key_step(const struct gt_model *model, const struct gt_op *op);

/* What a term of a filter compares. */
enum gt_filter_kind {
	GT_FILTER_KERNEL,
	GT_FILTER_API,
	GT_FILTER_NVTX,
	GT_FILTER_STEP,
	GT_FILTER_STREAM,
	GT_FILTER_DEVICE,
	GT_FILTER_TIME,
};

/* Names of the model that was looked at last, and whether they pass. */
struct gt_filter_seen {
	const struct gt_model *model;
	struct gt_keymap names;
	int64_t *ends; /* by number of an NVTX range: when the last one that passes ends, of those
			* of its row that begin no later; NULL: not asked for yet */
};

/* One --filter=KEY=VALUE. */
struct gt_filter_term {
	enum gt_filter_kind kind;
	const char *glob;
	int64_t from, to; /* the number, or the window in ns behind the job's first slice */
	struct gt_filter_seen *seen; /* owned */
};

/* All terms of a command line: of one kind any must pass, of several kinds each. */
struct gt_filter {
	GT_VEC(struct gt_filter_term) terms;
	char wrong[128]; /* in the text that gt_filter_add refused; empty: nothing of it was
			  * known */
};

/*
 * Adds "kernel=GLOB", "api=GLOB", "nvtx=GLOB", "step=GLOB", "stream=N", "device=N" or
 * "time=FROM..TO" (numbers with ns, us, ms or s; either end may be missing). @text must live as
 * long as the filter. -EINVAL: none of these, or a number or window that cannot be: filter->wrong.
 */
int gt_filter_add(struct gt_filter *filter, const char *text);
void gt_filter_fini(struct gt_filter *filter);

/* The calls of a model that pass: all terms that concern calls let them, and where a term chooses
 * GPU work (kernel, stream, device) they launched some that passes. The filter and the model must
 * not change meanwhile. */
struct gt_filter_calls {
	const struct gt_filter *filter;
	const struct gt_model *model;
	bool *launched; /* by number of the call; NULL: no term chooses GPU work */
};

/* Finds the calls of @model that pass. 0 or -ENOMEM; free with gt_filter_calls_fini. */
int gt_filter_calls_init(struct gt_filter_calls *ret_calls, const struct gt_filter *filter,
			 const struct gt_model *model); /* -ENOMEM */
void gt_filter_calls_fini(struct gt_filter_calls *calls);
/* Whether the call passes. */
bool gt_filter_call(const struct gt_filter_calls *calls, const struct gt_call *call);

/* Whether all terms that concern GPU operations or ranges let one pass. */
bool gt_filter_op(const struct gt_filter *filter, const struct gt_model *model,
		  const struct gt_op *op);
bool gt_filter_mpi_call(const struct gt_filter *filter, const struct gt_model *model,
			const struct gt_model_mpi_call *call);

/* See gt_filter_range. */
bool gt_filter_os_call(const struct gt_filter *filter, const struct gt_model *model,
		       const struct gt_model_os_call *call);
bool gt_filter_range(const struct gt_filter *filter, const struct gt_model *model,
		     const struct gt_model_range *range);

/* Whether the terms for times and steps let a training step pass. */
bool gt_filter_step(const struct gt_filter *filter, const struct gt_model *model,
		    const struct gt_model_range *step);

/* Whether a term names steps. */
bool gt_filter_chooses_steps(const struct gt_filter *filter);

/* Whether a term chooses among the operations of a time. */
bool gt_filter_chooses_work(const struct gt_filter *filter);

/* What of a model's time the terms for times and steps leave: from the first to the last slice of
 * the trace where there are none. */
void gt_filter_window(const struct gt_filter *filter, const struct gt_model *model,
		      int64_t *ret_from, int64_t *ret_until);

/* Whether an operation, or a call or range that the terms concern, passes at all. */
bool gt_filter_any(const struct gt_filter *filter, const struct gt_model *model);

#endif
