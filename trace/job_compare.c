/* SPDX-License-Identifier: Apache-2.0
 *
 * See job_compare.h.
 */
#include "trace/job_compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES (GT_NO_DEVICE + 1)

static int64_t pid_of(const struct gt_model *model)
{
	int64_t pid = -1;

	if (!gt_header_int(&model->reading.header, "metadata", "pid", &pid) && model->threads.count)
		pid = model->threads.at[0].pid;
	return pid;
}

/* @f uses what @first, the one that was seen first + 1, may use, too. */
static void mark_twin(struct gt_model *models, size_t f, size_t *first)
{
	if (!*first)
		*first = f + 1;
	if (*first != f + 1)
		models[f].is_twin = models[*first - 1].is_twin = true;
}

/* Marks the models of one rank that use a device which another one uses, for work or for memory.
 * @user: by device, the one that was seen first + 1. */
static void mark_twins(struct gt_model *models, size_t count, size_t *user)
{
	memset(user, 0, DEVICES * sizeof(*user));
	for (size_t f = 0; f < count; f++) {
		for (size_t i = 0; i < models[f].ops.count; i++)
			mark_twin(models, f, &user[gt_model_op_traits(&models[f], i)->device]);
		for (size_t i = 0; i < models[f].blocks.count; i++)
			if (models[f].blocks.at[i].block.device < DEVICES)
				mark_twin(models, f, &user[models[f].blocks.at[i].block.device]);
	}
}

/* By the clock that all have in common; false: it has none, or no slice, or no time in which others
 * could be. */
static bool first_of(const struct gt_job *job, size_t f, int64_t *ret_first)
{
	const struct gt_model *model = &job->models[f];
	const struct gt_header *header = &model->reading.header;

	if (!header->has_base || model->last <= model->first ||
	    model->first <= INT64_MIN + GT_JOB_NS ||
	    __builtin_add_overflow(model->first, header->base_ns, ret_first))
		return false;
	*ret_first = gt_clock_map_time(&job->clocks.of[f], *ret_first);
	return true;
}

void gt_job_set_origins(struct gt_job *job)
{
	int64_t first = INT64_MAX, last = INT64_MIN, at;

	for (size_t f = 0; f < job->count; f++)
		job->models[f].origin = job->models[f].first;
	for (size_t f = 0; f < job->count; f++) {
		if (!first_of(job, f, &at))
			continue;
		first = at < first ? at : first;
		last = at > last ? at : last;
	}
	if ((double)last - (double)first > (double)GT_JOB_NS)
		return;
	for (size_t f = 0; f < job->count; f++)
		if (first_of(job, f, &at))
			job->models[f].origin = job->models[f].first - (at - first);
}

static int find_clocks(struct gt_job *job)
{
	struct gt_clock_source *sources = calloc(job->count + 1, sizeof(*sources));
	int rc = sources ? 0 : -ENOMEM;
	size_t taken = 0;

	if (!rc && job->count == 1) { /* nobody to meet */
		gt_clock_source_header(&job->models[0].reading.header, &sources[0]);
		gt_clock_source_span(&job->models[0], &sources[0]);
		taken++;
	}
	while (!rc && taken < job->count) {
		rc = gt_clock_source_take(&job->models[taken], &sources[taken]);
		taken++;
	}
	if (!rc)
		rc = gt_clocks_find(sources, taken, &job->clocks);
	while (taken)
		gt_clock_source_fini(&sources[--taken]);
	free(sources);
	return rc;
}

int gt_job_compare(struct gt_job *job)
{
	size_t *user = malloc(DEVICES * sizeof(*user)), end;
	int rc;

	if (!user)
		return -ENOMEM;
	for (size_t f = 0; f < job->count; f = end) {
		for (end = f; end < job->count && job->models[end].rank == job->models[f].rank;
		     end++)
			job->models[end].pid = pid_of(&job->models[end]);
		if (end > f + 1)
			mark_twins(&job->models[f], end - f, user);
	}
	free(user);
	rc = find_clocks(job);
	if (!rc)
		gt_job_set_origins(job);
	return rc;
}
