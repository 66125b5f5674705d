/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of the causes of gaps, each made once and not for each gap: to parse a name of C++ or the
 * frames of a stack takes microseconds. One thread.
 */
#ifndef GT_ANALYSIS_GAPS_TEXTS_H
#define GT_ANALYSIS_GAPS_TEXTS_H

#include "trace/cuda_call.h"
#include "trace/model.h"

/* What a text of a piece says. */
enum gt_gaps_text {
	GT_GAPS_TEXT_CALL,    /* a call: its traits */
	GT_GAPS_TEXT_BETWEEN, /* between calls: thread, both stacks, name of the call */
	GT_GAPS_TEXT_RANGE,   /* in a range: thread and name; or 0, 1: in a step */
	GT_GAPS_TEXT_THREAD,  /* a thread */
	GT_GAPS_TEXT_BEHIND,  /* queued: names of both operations */
	GT_GAPS_TEXT_WAITED,  /* queued: name of the operation */
};

/* All that it is made of: enum gt_gaps_text, then numbers of the model's. */
struct gt_gaps_key {
	uint32_t what, of[4];
};

#define GT_GAPS_TEXTS  4096 /* a power of two: places for half as many, most traces need a few */

#define GT_GAPS_RECENT 256 /* a power of two */

/* Of the model whose gaps are explained. A zeroed struct is empty. */
struct gt_gaps_texts {
	const struct gt_model *model;
	char **names, **places; /* by name, by stack; NULL: not yet asked for */
	uint8_t *calls;         /* by name: enum gt_cuda_call + 1; 0: not yet asked for */
	struct gt_gaps_kept {
		struct gt_gaps_key key;
		char *text;
	} * kept; /* open addressing, at most half full */
	size_t kept_count;
	struct gt_gaps_recent { /* some of the kept ones, found without a hash */
		struct gt_gaps_key key;
		const char *text; /* NULL: none */
	} recent[GT_GAPS_RECENT];
};

/* A name of @model with at most GT_GAPS_NAME columns, "" without memory. Valid, as the other, until
 * another model is asked about. */
const char *gt_gaps_name(struct gt_gaps_texts *texts, const struct gt_model *model, uint32_t name);

/* What gt_cuda_call_of says of a name of @model's. */
enum gt_cuda_call gt_gaps_call(struct gt_gaps_texts *texts, const struct gt_model *model,
			       uint32_t name);

/* What gt_gaps_place says of a stack of @model's. */
const char *gt_gaps_stack(struct gt_gaps_texts *texts, const struct gt_model *model,
			  uint32_t stack);

/* The text that was kept for @key; NULL: none. Valid, and no other one's, as above. */
const char *gt_gaps_kept(struct gt_gaps_texts *texts, const struct gt_model *model,
			 const struct gt_gaps_key *key);

/* Keeps @text, which has none yet, and returns it; NULL: there is no room. */
const char *gt_gaps_keep(struct gt_gaps_texts *texts, const struct gt_model *model,
			 const struct gt_gaps_key *key, const char *text);
void gt_gaps_texts_fini(struct gt_gaps_texts *texts);

#endif
