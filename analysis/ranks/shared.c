/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks that ran on one GPU, see tables.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/ranks/tables.h"

enum { TAG_FIRST, TAG_OTHER, TAG_COUNT }; /* a process + 1; one of another rank + 1; ranks */

/* Processes of a rank stand one after the other. */
static void add(const struct gt_ranks *ranks, size_t f, struct gt_group *gpu)
{
	const struct gt_model *models = ranks->job->models;
	int64_t last = gpu->tag[TAG_OTHER] ? gpu->tag[TAG_OTHER] : gpu->tag[TAG_FIRST];

	if (last && models[last - 1].rank == models[f].rank)
		return;
	gpu->tag[last ? TAG_OTHER : TAG_FIRST] = (int64_t)f + 1;
	gpu->tag[TAG_COUNT]++;
}

static int find(const struct gt_ranks *ranks, struct gt_groups *gpus)
{
	for (size_t f = 0; f < ranks->job->count; f++) {
		char text[sizeof(ranks->excerpts->gpus)], *rest = NULL;

		if (!ranks->job->models[f].reading.header.has_rank)
			continue;
		memcpy(text, ranks->excerpts[f].gpus, sizeof(text));
		for (char *uuid = strtok_r(text, " ", &rest); uuid;
		     uuid = strtok_r(NULL, " ", &rest)) {
			struct gt_group *gpu = gt_groups_get(gpus, uuid);

			if (!gpu)
				return -1;
			add(ranks, f, gpu);
		}
	}
	return 0;
}

struct gt_ranks_shared gt_ranks_shared_gpu(const struct gt_ranks *ranks)
{
	struct gt_ranks_shared shared = {0};
	struct gt_groups gpus = {0};

	if (!gt_groups_init(&gpus) && !find(ranks, &gpus))
		for (size_t i = 0; i < gpus.list.count; i++) {
			const struct gt_group *gpu = &gpus.list.at[i];

			if (gpu->tag[TAG_COUNT] < 2 || shared.gpus++)
				continue;
			snprintf(shared.uuid, sizeof(shared.uuid), "%s", gt_group_name(&gpus, gpu));
			shared.one = (size_t)gpu->tag[TAG_FIRST] - 1;
			shared.other = (size_t)gpu->tag[TAG_OTHER] - 1;
			shared.count = (size_t)gpu->tag[TAG_COUNT];
		}
	gt_groups_fini(&gpus);
	return shared;
}
