/* SPDX-License-Identifier: Apache-2.0
 *
 * The processes of a job for another machine: their collectives and excerpts as bytes, and a job
 * made of such bytes, whose ranks compare as those of one that was read here. What comes in bytes
 * is never trusted. One thread per gathering.
 */
#ifndef GT_ANALYSIS_RANKS_MESSAGE_H
#define GT_ANALYSIS_RANKS_MESSAGE_H

#include "analysis/ranks/excerpt.h"
#include "analysis/reduce/pack.h"
#include "trace/clocks.h"

/* A process of another machine. */
struct gt_rank_sent {
	struct gt_model model; /* its collectives, their names and groups, and what names it */
	struct gt_rank_excerpt excerpt;
	struct gt_clock_source source; /* without collectives */
};

/* All that came. */
struct gt_rank_sents {
	GT_VEC(struct gt_rank_sent) all;
};

/* Appends the models of @job, which have excerpts. */
void gt_rank_message_write(const struct gt_job *job, const struct gt_rank_excerpt *excerpts,
			   struct gt_pack *out);

/* Adds those of a message. -EBADMSG: it is none, -ENOMEM; free with gt_rank_sents_fini in either
 * case. */
int gt_rank_message_read(const void *bytes, size_t size, struct gt_rank_sents *sents);
void gt_rank_sents_fini(struct gt_rank_sents *sents);

/* Moves all of them into @ret_job, which is empty, in its order, and finds its clocks: the models
 * hold nothing but collectives. 0 or -ENOMEM; free both with gt_rank_excerpts_fini and gt_job_fini
 * in either case. */
int gt_rank_sents_move(struct gt_rank_sents *sents, struct gt_job *ret_job,
		       struct gt_rank_excerpt **ret_excerpts);

#endif
