/* SPDX-License-Identifier: Apache-2.0
 *
 * See ranks.h. The name of a file has its rank, the first block of a JSON the number of all.
 */
#include "cli/run/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/run/say.h"
#include "core/config.h"
#include "core/guest/text.h"
#include "core/identity.h"
#include "core/window/rank_list.h"
#include "trace/file_name.h"
#include "trace/first_block.h"

#define WORLD "\"world_size\": "

/* --ranks, or NULL. */
static const char *asked_for(void)
{
	return gt_identity_env(gt_options[GT_CONFIG_RANKS].env);
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static size_t count_different(const struct gt_traces *traces)
{
	int64_t *ranks = calloc(traces->count + 1, sizeof(*ranks));
	size_t count = 0, different = 0;

	for (size_t i = 0; ranks && i < traces->count; i++) {
		struct gt_file_name name;

		gt_file_name_parse(traces->path[i], &name);
		if (name.has_rank)
			ranks[count++] = name.rank;
	}
	if (count)
		qsort(ranks, count, sizeof(*ranks), by_number);
	for (size_t i = 0; i < count; i++)
		different += !i || ranks[i] != ranks[i - 1];
	free(ranks);
	return different;
}

/* Of the job of the first trace; 0: it does not tell (a .pftrace, or one that was packed). */
static uint64_t find_world(const struct gt_traces *traces)
{
	struct gt_first_block *block = malloc(sizeof(*block));
	const char *found = NULL, *end;
	uint64_t world = 0;

	if (block && !gt_first_block_read(block, traces->path[0]))
		found = gt_first_block_find(block, block->text, WORLD);
	if (found && gt_text_parse_u64(found + sizeof(WORLD) - 1, &end, &world))
		world = 0;
	free(block);
	return world;
}

size_t gt_ranks_count(const struct gt_traces *traces, char *ret_text, size_t size)
{
	size_t ranks = count_different(traces);
	uint64_t world = ranks ? find_world(traces) : 0;

	*ret_text = 0;
	if (traces->count < 2 || !ranks)
		return ranks;
	if (world > ranks)
		snprintf(ret_text, size, " of %zu of %" PRIu64 " ranks", ranks, world);
	else if (ranks > 1)
		snprintf(ret_text, size, " of %s%zu ranks", world == ranks ? "all " : "", ranks);
	else
		snprintf(ret_text, size, " of one rank");
	return ranks;
}

void gt_ranks_own(const struct gt_metadata *process, const struct gt_traces *traces, char *ret_text,
		  size_t size)
{
	struct gt_file_name name;

	*ret_text = 0;
	gt_file_name_parse(traces->path[0], &name);
	if (process->has_rank && process->world_size > 1 && name.has_rank &&
	    name.rank == process->rank)
		snprintf(ret_text, size,
			 " (rank %" PRId32 " of %" PRId32 "; the others%s write into the same "
			 "folder)",
			 process->rank, process->world_size, asked_for() ? " of --ranks" : "");
}

bool gt_ranks_say_left_out(const struct gt_traces_wanted *wanted)
{
	const char *list = asked_for();
	int64_t rank = wanted->process->has_rank ? wanted->process->rank : 0;

	if (!list || gt_rank_list_has(list, rank))
		return false;
	if (wanted->process->has_rank)
		gt_say("rank %" PRId64 " ran untraced, by --ranks=%s; those ranks write into %s",
		       rank, list, wanted->folder->path);
	else
		gt_say("no trace: no process that used CUDA had a rank of --ranks=%s", list);
	return true;
}
