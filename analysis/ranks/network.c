/* SPDX-License-Identifier: Apache-2.0
 *
 * See network.h. A collective is as slow as the slowest of its members, so a process is at most as
 * slow as the fastest set of members that it belongs to. Its network is slow if, of each kind of
 * collective that several sets have, all sets that it belongs to are slower than the middle one.
 */
#include "analysis/ranks/network.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "trace/communication.h"
#include "trace/meetings.h"

#define SLOWER 1.25 /* than the middle set */
#define LEAST  3    /* collectives of a set */

/* The collectives of one kind with the same members. */
struct network_set {
	uint32_t kind;
	int64_t middle, error; /* ns: of the transfers; of the members' clocks, worst */
	size_t round, group;   /* one of them; its place in the groups */
};

/* Those of one name, size and number of members. */
struct network_kind {
	size_t first, count; /* sets, by middle */
	int64_t middle;      /* ns, of the sets; of two the lower one */
};

enum { TAG_KIND, TAG_ROUND, TAG_USUAL }; /* ns that other sets take; 0: not known */

struct network_search {
	const struct gt_job *job;
	const struct gt_rounds *rounds;
	struct gt_groups kinds, sets;
	uint32_t *set_of; /* of each round, in sets */
	GT_VEC(struct network_set) all;
	GT_VEC(struct network_kind) each;
	bool *is_slower, *is_not; /* each process, by a kind */
	size_t *seen;             /* sets of one kind that a process belongs to */
	int64_t *fastest;         /* of them, ns */
	int64_t *error;           /* that set's */
};

static int64_t transfer_of(const struct gt_round *round)
{
	return round->end > round->arrived ? round->end - round->arrived : 0;
}

static const struct gt_round_member *members_of(const struct network_search *search, size_t round)
{
	return &search->rounds->members.at[search->rounds->all.at[round].first];
}

static uint64_t hash_members(const struct gt_round_member *member, uint32_t count)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */

	for (uint32_t i = 0; i < count; i++)
		hash = (hash ^ member[i].model) * 1099511628211u;
	return hash;
}

static int add_round(struct network_search *search, size_t r)
{
	const struct gt_round *round = &search->rounds->all.at[r];
	const struct gt_round_member *member = members_of(search, r);
	const struct gt_model *model = &search->job->models[member->model];
	struct gt_op op = gt_meeting_op(model, member->op);
	struct gt_group *kind, *set;
	char key[320];

	snprintf(key, sizeof(key), "%s\n%" PRId64 "\n%u",
		 gt_communication_collective(gt_model_name(model, op.name)).name, op.bytes,
		 round->count);
	kind = gt_groups_get(&search->kinds, key);
	if (!kind)
		return -ENOMEM;
	snprintf(key, sizeof(key), "%zu\n%" PRIx64, (size_t)(kind - search->kinds.list.at),
		 hash_members(member, round->count));
	set = gt_groups_get(&search->sets, key);
	if (!set || !gt_dist_add(&set->value, transfer_of(round)))
		return -ENOMEM;
	set->tag[TAG_KIND] = kind - search->kinds.list.at;
	set->tag[TAG_ROUND] = (int64_t)r;
	search->set_of[r] = (uint32_t)(set - search->sets.list.at);
	return 0;
}

/* Of the clocks of the members, the worst; below 0: not known. */
static int64_t error_of(const struct network_search *search, size_t round)
{
	const struct gt_round_member *member = members_of(search, round);
	int64_t worst = 0;

	for (uint32_t i = 0; i < search->rounds->all.at[round].count; i++) {
		int64_t error = search->job->clocks.of[member[i].model].error;

		if (error < 0)
			return error;
		worst = error > worst ? error : worst;
	}
	return worst;
}

static int by_kind(const void *a, const void *b)
{
	const struct network_set *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->middle != y->middle)
		return x->middle < y->middle ? -1 : 1;
	return (x->round > y->round) - (x->round < y->round);
}

/* Those whose transfers say something, in order, and the kinds that they make. */
static int list_sets(struct network_search *search)
{
	for (size_t i = 0; i < search->sets.list.count; i++) {
		struct gt_group *group = &search->sets.list.at[i];
		size_t round = (size_t)group->tag[TAG_ROUND];
		struct network_set set = {(uint32_t)group->tag[TAG_KIND],
					  gt_dist_middle(&group->value), error_of(search, round),
					  round, i};

		if (group->value.count >= LEAST && set.error >= 0 &&
		    !gt_vec_push(&search->all, set))
			return -ENOMEM;
	}
	if (search->all.count)
		qsort(search->all.at, search->all.count, sizeof(*search->all.at), by_kind);
	for (size_t i = 0, end; i < search->all.count; i = end) {
		struct network_kind kind = {.first = i};

		for (end = i;
		     end < search->all.count && search->all.at[end].kind == search->all.at[i].kind;)
			end++;
		kind.count = end - i;
		kind.middle = search->all.at[i + (kind.count - 1) / 2].middle;
		if (kind.count < 2)
			continue;
		if (!gt_vec_push(&search->each, kind))
			return -ENOMEM;
		for (size_t k = i; k < end; k++)
			search->sets.list.at[search->all.at[k].group].tag[TAG_USUAL] = kind.middle;
	}
	return 0;
}

static bool is_slower(int64_t transfer, int64_t middle, int64_t error)
{
	return (double)transfer > (double)middle * SLOWER && transfer - middle > 2 * error;
}

/* What one kind says of each process. */
static void ask_kind(struct network_search *search, const struct network_kind *kind)
{
	size_t count = search->job->count;

	memset(search->seen, 0, count * sizeof(*search->seen));
	for (size_t i = 0; i < kind->count; i++) {
		const struct network_set *set = &search->all.at[kind->first + i];
		const struct gt_round_member *member = members_of(search, set->round);

		for (uint32_t k = 0; k < search->rounds->all.at[set->round].count; k++) {
			uint32_t f = member[k].model;

			if (search->seen[f]++)
				continue; /* the fastest comes first */
			search->fastest[f] = set->middle;
			search->error[f] = set->error;
		}
	}
	for (size_t f = 0; f < count; f++) {
		if (!search->seen[f] || search->seen[f] == kind->count)
			continue;
		if (is_slower(search->fastest[f], kind->middle, search->error[f]))
			search->is_slower[f] = true;
		else
			search->is_not[f] = true;
	}
}

/* The slow members of a collective answer for what it took longer than elsewhere. */
static void blame(const struct network_search *search, struct gt_network *network)
{
	for (size_t r = 0; r < search->rounds->all.count; r++) {
		const struct gt_round *round = &search->rounds->all.at[r];
		const struct gt_round_member *member = members_of(search, r);
		int64_t usual = search->sets.list.at[search->set_of[r]].tag[TAG_USUAL];
		int64_t excess = transfer_of(round) - usual;

		if (!usual || excess <= 0)
			continue;
		for (uint32_t k = 0; k < round->count; k++)
			network->slow[r] += network->is_slow[member[k].model];
		if (network->slow[r])
			network->excess[r] = excess;
	}
}

static int begin_search(struct network_search *search, struct gt_network *network)
{
	size_t rounds = search->rounds->all.count + 1, models = search->job->count + 1;

	network->excess = calloc(rounds, sizeof(*network->excess));
	network->slow = calloc(rounds, sizeof(*network->slow));
	network->is_slow = calloc(models, sizeof(*network->is_slow));
	search->set_of = calloc(rounds, sizeof(*search->set_of));
	search->is_slower = calloc(models, sizeof(*search->is_slower));
	search->is_not = calloc(models, sizeof(*search->is_not));
	search->seen = calloc(models, sizeof(*search->seen));
	search->fastest = calloc(models, sizeof(*search->fastest));
	search->error = calloc(models, sizeof(*search->error));
	if (!network->excess || !network->slow || !network->is_slow || !search->set_of ||
	    !search->is_slower || !search->is_not || !search->seen || !search->fastest ||
	    !search->error)
		return -ENOMEM;
	return gt_groups_init(&search->kinds) || gt_groups_init(&search->sets) ? -ENOMEM : 0;
}

static void end_search(struct network_search *search)
{
	gt_groups_fini(&search->kinds);
	gt_groups_fini(&search->sets);
	gt_vec_free(&search->all);
	gt_vec_free(&search->each);
	free(search->set_of);
	free(search->is_slower);
	free(search->is_not);
	free(search->seen);
	free(search->fastest);
	free(search->error);
}

int gt_network_find(const struct gt_job *job, const struct gt_rounds *rounds,
		    struct gt_network *ret_network)
{
	struct network_search search = {.job = job, .rounds = rounds};
	int rc;

	*ret_network = (struct gt_network){0};
	rc = begin_search(&search, ret_network);
	for (size_t r = 0; !rc && r < rounds->all.count; r++)
		rc = add_round(&search, r);
	if (!rc)
		rc = list_sets(&search);
	for (size_t i = 0; !rc && i < search.each.count; i++)
		ask_kind(&search, &search.each.at[i]);
	for (size_t f = 0; !rc && f < job->count; f++)
		ret_network->is_slow[f] = search.is_slower[f] && !search.is_not[f];
	if (!rc)
		blame(&search, ret_network);
	end_search(&search);
	return rc;
}

void gt_network_fini(struct gt_network *network)
{
	free(network->excess);
	free(network->slow);
	free(network->is_slow);
	*network = (struct gt_network){0};
}
