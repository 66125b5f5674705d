/* SPDX-License-Identifier: Apache-2.0
 *
 * What a running process does upon a request (pipeline/verbs.def). Drain thread, which holds the
 * pipeline: a verb must not wait. One that takes longer says GT_VERB_GOES_ON and is called again
 * each time that the thread wakes, until it has an answer; meanwhile no other request is read.
 */
#ifndef GT_PIPELINE_VERBS_H
#define GT_PIPELINE_VERBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pipeline/reply.h"

struct gt_pipeline;

/* A request that is being answered. */
struct gt_verb_call {
	const char *argument; /* "": none */
	bool is_first;        /* false: called again */
	uint64_t now, began;  /* CLOCK_MONOTONIC ns: of this call, of the first one */
	double kernels_per_second;
	struct gt_reply *reply;
};

/* No negative errno. */
#define GT_VERB_GOES_ON 1

/* 0: the reply is complete; a negative errno: it is one line that says why; GT_VERB_GOES_ON. */
typedef int (*gt_verb_fn)(struct gt_pipeline *pipeline, const struct gt_verb_call *call);

/* One function each. */
#define GT_VERB(name, argument)                                                                    \
	int gt_verb_##name(struct gt_pipeline *pipeline, const struct gt_verb_call *call);
#include "pipeline/verbs.def"
#undef GT_VERB

/* Splits "VERB ARGUMENT" and finds the verb. NULL: there is none, or an argument is missing or too
 * much; then @reply says so. *ret_argument points into @text. Pure. */
gt_verb_fn gt_verb_find(const char *text, const char **ret_argument, struct gt_reply *reply);

/* Whether a library behind the sources is asked for its records now: what would ask it, too, must
 * wait. A verb that returns the result waits (GT_VERB_GOES_ON), and gives up if that takes too long
 * (-EBUSY); 0: it need not wait. */
int gt_verb_await_flush(const struct gt_verb_call *call);

/* GPU operations that were recorded so far; without CUPTI launches. */
uint64_t gt_verb_kernels(const struct gt_pipeline *pipeline);

#endif
