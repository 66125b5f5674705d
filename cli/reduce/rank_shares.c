/* SPDX-License-Identifier: Apache-2.0
 *
 * See rank_shares.h.
 */
#include "cli/reduce/rank_shares.h"

#include "analysis/ranks/message.h"

static int take_message(const void *bytes, size_t size, void *data)
{
	return gt_rank_message_read(bytes, size, data);
}

static int write_message(const struct gt_job *job, const struct gt_filter *filter,
			 struct gt_pack *ret_message)
{
	struct gt_rank_excerpt *excerpts;
	int rc = gt_rank_excerpts_take(job, filter, &excerpts);

	if (!rc)
		gt_rank_message_write(job, excerpts, ret_message);
	gt_rank_excerpts_fini(excerpts, job->count);
	return rc;
}

/* The own share is a message like the others, and its traces make room for them. */
int gt_shares_gather_ranks(const struct gt_cmdline *args, const struct gt_filter *filter,
			   struct gt_job *job, struct gt_rank_excerpt **ret_excerpts)
{
	struct gt_rank_sents sents = {0};
	struct gt_pack message = {0};
	int rc;

	*ret_excerpts = NULL;
	if (!gt_shares_are_many(args))
		return GT_EXIT_OK;
	rc = write_message(job, filter, &message);
	gt_job_fini(job);
	rc = gt_shares_gather(&message, rc, take_message, &sents);
	gt_pack_fini(&message);
	if (!rc && gt_rank_sents_move(&sents, job, ret_excerpts))
		rc = gt_shares_no_memory("the collectives of all ranks");
	gt_rank_sents_fini(&sents);
	return rc;
}
