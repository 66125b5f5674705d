/* SPDX-License-Identifier: Apache-2.0
 *
 * See window.h. When the job began is known only to who knows the clocks of all: the first process
 * takes excerpts, relates the clocks by them, and tells each process its origins.
 */
#include "cli/reduce/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/ranks/message.h"
#include "cli/reduce/link.h"
#include "trace/job_compare.h"

/* What came, share after share. */
struct gathering {
	struct gt_rank_sents sents;
	GT_VEC(size_t) ends; /* of each share in sents */
};

/* A model in the order in which they came, and where it is in the job. */
struct arrival {
	const char *path;
	int64_t origin;
};

bool gt_window_is_asked(const struct gt_cmdline *args)
{
	size_t position = 0;
	const char *text;

	while ((text = gt_cmdline_next(args, "filter", &position)))
		if (!strncmp(text, "time=", 5))
			return true;
	return false;
}

static int take_message(const void *bytes, size_t size, void *data)
{
	struct gathering *all = data;
	int rc = gt_rank_message_read(bytes, size, &all->sents);

	if (!rc && !gt_vec_push(&all->ends, all->sents.all.count))
		rc = -ENOMEM;
	return rc;
}

static int by_path(const void *a, const void *b)
{
	const struct arrival *x = a, *y = b;

	return (x->path > y->path) - (x->path < y->path);
}

/* The texts of the paths stay where they are when the models are moved. */
static int find_origins(struct gathering *all, const char **paths, struct arrival *ret_origins)
{
	struct gt_rank_excerpt *excerpts = NULL;
	struct gt_job job = {0};
	int rc;

	for (size_t i = 0; i < all->sents.all.count; i++)
		paths[i] = all->sents.all.at[i].model.path;
	rc = gt_rank_sents_move(&all->sents, &job, &excerpts);
	if (!rc) {
		gt_job_set_origins(&job);
		for (size_t f = 0; f < job.count; f++)
			ret_origins[f] = (struct arrival){job.models[f].path, job.models[f].origin};
		if (job.count)
			qsort(ret_origins, job.count, sizeof(*ret_origins), by_path);
	}
	gt_rank_excerpts_fini(excerpts, job.count);
	gt_job_fini(&job);
	return rc;
}

static int take_origins(const void *bytes, size_t size, struct gt_job *job)
{
	struct gt_pack_in in = {bytes, (const uint8_t *)bytes + size, false};

	for (size_t f = 0; f < job->count; f++)
		job->models[f].origin = gt_pack_take_signed(&in);
	return in.bad || in.at != in.end ? -EBADMSG : 0;
}

/* To each share its own, in its order; to none anything if @rc. */
static int send_origins(const struct gathering *all, const char *const *paths,
			const struct arrival *origins, size_t count, int rc, struct gt_job *job)
{
	size_t at = 0;

	for (size_t share = 0; share < gt_link_size(); share++) {
		size_t end = rc ? 0 : all->ends.at[share];
		struct gt_pack out = {0};

		for (; at < end; at++) {
			const struct arrival key = {paths[at], 0}, *found;

			found = bsearch(&key, origins, count, sizeof(key), by_path);
			gt_pack_put_signed(&out, found ? found->origin : 0);
		}
		if (share)
			gt_link_send(share, out.bytes.at, out.failed ? 0 : out.bytes.count);
		else if (!rc)
			rc = out.failed ? -ENOMEM
					: take_origins(out.bytes.at, out.bytes.count, job);
		gt_pack_fini(&out);
	}
	return rc;
}

static int lead(struct gathering *all, int rc, struct gt_job *job)
{
	size_t count = all->sents.all.count;
	const char **paths = calloc(count + 1, sizeof(*paths));
	struct arrival *origins = calloc(count + 1, sizeof(*origins));

	if (!rc && (!paths || !origins))
		rc = -ENOMEM;
	if (!rc)
		rc = find_origins(all, paths, origins);
	rc = send_origins(all, paths, origins, count, rc, job);
	free(paths);
	free(origins);
	return rc;
}

static int follow(struct gt_job *job)
{
	size_t size;
	void *bytes = gt_link_receive(0, &size);
	int rc = bytes ? take_origins(bytes, size, job) : -ENOMEM;

	free(bytes);
	return rc;
}

int gt_window_place(struct gt_job *job)
{
	const struct gt_filter nothing = {0};
	struct gt_rank_excerpt *excerpts = NULL;
	struct gathering all = {0};
	struct gt_pack message = {0};
	int rc = gt_rank_excerpts_take(job, &nothing, &excerpts);

	if (!rc)
		gt_rank_message_write(job, excerpts, &message);
	gt_rank_excerpts_fini(excerpts, job->count);
	rc = gt_shares_gather(&message, rc, take_message, &all) ? -EBADMSG : 0;
	gt_pack_fini(&message);
	rc = gt_link_rank() ? follow(job) : lead(&all, rc, job);
	gt_rank_sents_fini(&all.sents);
	gt_vec_free(&all.ends);
	return rc ? GT_EXIT_FAILED : GT_EXIT_OK;
}
