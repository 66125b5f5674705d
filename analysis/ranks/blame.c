/* SPDX-License-Identifier: Apache-2.0
 *
 * See late.h. Who came late to a collective may have been kept by one before it: then the blame is
 * that collective's last member's, or that of a slow network, and so on backwards.
 */
#include "analysis/ranks/late.h"

#include <errno.h>
#include <stdlib.h>

#define FARTHEST 64 /* collectives that are gone back */

/* The lateness of a round's last member. */
struct lateness {
	int64_t late, inherited, by[GT_LATE_COUNT_]; /* ns */
};

/* The wait for one collective, while it is shared out. */
struct sharing {
	const struct gt_rounds *rounds;
	const struct lateness *of; /* each round */
	struct gt_lates *lates;
	size_t round;
	int64_t late, cost; /* ns in all */
	size_t first;       /* of its blames */
};

static struct gt_late_blame *get_blame(struct sharing *sharing, uint32_t model)
{
	struct gt_lates *lates = sharing->lates;

	for (size_t i = sharing->first; i < lates->blames.count; i++)
		if (lates->blames.at[i].model == model)
			return &lates->blames.at[i];
	if (!gt_vec_push(&lates->blames,
			 ((struct gt_late_blame){.round = sharing->round, .model = model})))
		return NULL;
	return &lates->blames.at[lates->blames.count - 1];
}

/* @late of it are @model's; *@rest: what nobody has yet. GT_LATE_COUNT_: the cause is not known. */
static int give(struct sharing *sharing, uint32_t model, int cause, int64_t late, int64_t *rest)
{
	struct gt_late_blame *blame;

	if (late > *rest)
		late = *rest;
	if (late <= 0)
		return 0;
	blame = get_blame(sharing, model);
	if (!blame)
		return -ENOMEM;
	*rest -= late;
	blame->late += late;
	blame->cost += (int64_t)((double)sharing->cost * (double)late / (double)sharing->late);
	if (cause < GT_LATE_COUNT_)
		blame->by[cause] += late;
	return 0;
}

static uint32_t last_of(const struct gt_rounds *rounds, const struct gt_round *round)
{
	return rounds->members.at[round->first + round->last].model;
}

/* What the last member of a round did itself. */
static int give_own(struct sharing *sharing, size_t round, int64_t *rest)
{
	const struct lateness *lateness = &sharing->of[round];
	uint32_t model = last_of(sharing->rounds, &sharing->rounds->all.at[round]);
	int64_t own = lateness->late - lateness->inherited;
	int rc = 0;

	for (int c = 0; !rc && c < GT_LATE_COUNT_; c++) {
		own -= lateness->by[c];
		rc = give(sharing, model, c, lateness->by[c], rest);
	}
	return rc ? rc : give(sharing, model, GT_LATE_COUNT_, own, rest);
}

/* What an earlier collective had taken longer. */
static int give_network(struct sharing *sharing, size_t r, int64_t *rest)
{
	const struct gt_network *network = &sharing->lates->network;
	const struct gt_round *round = &sharing->rounds->all.at[r];
	int rc = 0;

	for (uint32_t i = 0; !rc && network->slow[r] && i < round->count; i++) {
		uint32_t model = sharing->rounds->members.at[round->first + i].model;

		if (network->is_slow[model])
			rc = give(sharing, model, GT_LATE_NETWORK,
				  network->excess[r] / network->slow[r], rest);
	}
	return rc;
}

/* What the last member had inherited. */
static int go_back(struct sharing *sharing, int64_t *rest)
{
	int64_t unexplained = 0;
	size_t r = sharing->round;
	int rc = 0;

	for (int i = 0; !rc && *rest > 0 && i < FARTHEST; i++) {
		const struct gt_round *round = &sharing->rounds->all.at[r];
		size_t before = sharing->lates->before[round->first + round->last];

		if (!before)
			break;
		r = before - 1;
		rc = give_network(sharing, r, rest);
		if (!rc)
			rc = give_own(sharing, r, rest);
		if (*rest > sharing->of[r].inherited) {
			unexplained += *rest - sharing->of[r].inherited;
			*rest = sharing->of[r].inherited;
		}
	}
	*rest += unexplained;
	return rc;
}

/* What the others waited for the last one. */
static int share_wait(struct sharing *sharing, const struct gt_round *round)
{
	struct gt_lates *lates = sharing->lates;
	uint32_t last = last_of(sharing->rounds, round);
	int64_t rest = sharing->of[sharing->round].late, left = sharing->cost;
	struct gt_late_blame *blame;
	int rc;

	lates->of[last].last++;
	sharing->late = rest;
	rc = give_own(sharing, sharing->round, &rest);
	if (!rc)
		rc = go_back(sharing, &rest);
	if (!rc) /* what nobody explains */
		rc = give(sharing, last, GT_LATE_COUNT_, rest, &rest);
	for (size_t i = sharing->first; i < lates->blames.count; i++)
		left -= lates->blames.at[i].cost;
	blame = rc ? NULL : get_blame(sharing, last);
	if (blame)
		blame->cost += left; /* of rounding; all of it where two came last */
	return blame ? 0 : -ENOMEM;
}

/* What they waited for a slow network: each for those of the others. */
static int share_transfer(struct sharing *sharing, const struct gt_round *round)
{
	struct gt_lates *lates = sharing->lates;
	const struct gt_network *network = &lates->network;
	uint32_t slow = network->slow[sharing->round];
	int64_t part = slow ? network->excess[sharing->round] / slow : 0;

	for (uint32_t i = 0; part && i < round->count; i++) {
		uint32_t model = sharing->rounds->members.at[round->first + i].model;
		struct gt_late_blame *blame;

		lates->of[model].waited += part * (slow - network->is_slow[model]);
		if (!network->is_slow[model])
			continue;
		blame = get_blame(sharing, model);
		if (!blame)
			return -ENOMEM;
		blame->late += part;
		blame->by[GT_LATE_NETWORK] += part;
		blame->cost += part * (round->count - 1);
	}
	return 0;
}

static int add_round(struct sharing *sharing)
{
	const struct gt_round *round = &sharing->rounds->all.at[sharing->round];
	struct gt_lates *lates = sharing->lates;
	int rc = 0;

	sharing->cost = 0;
	sharing->first = lates->blames.count;
	for (uint32_t i = 0; i < round->count; i++) {
		const struct gt_round_member *member =
			&sharing->rounds->members.at[round->first + i];
		int64_t wait = gt_round_wait(round, member);

		lates->of[member->model].count++;
		lates->of[member->model].waited += wait;
		sharing->cost += wait;
	}
	if (round->arrived != round->earliest)
		rc = share_wait(sharing, round);
	return rc ? rc : share_transfer(sharing, round);
}

static void sum_up(struct gt_lates *lates)
{
	for (size_t i = 0; i < lates->blames.count; i++) {
		const struct gt_late_blame *blame = &lates->blames.at[i];
		struct gt_late *late = &lates->of[blame->model];

		late->late += blame->late;
		late->cost += blame->cost;
		for (int c = 0; c < GT_LATE_COUNT_; c++)
			late->by[c] += blame->by[c];
	}
}

int gt_lates_blame(const struct gt_rounds *rounds, struct gt_lates *lates)
{
	struct lateness *of = calloc(rounds->all.count + 1, sizeof(*of));
	struct sharing sharing = {.rounds = rounds, .of = of, .lates = lates};
	int rc = of ? 0 : -ENOMEM;

	for (size_t r = 0; of && r < rounds->all.count; r++)
		of[r].late =
			gt_late_of(rounds, lates, &rounds->all.at[r], of[r].by, &of[r].inherited);
	for (size_t r = 0; !rc && r < rounds->all.count; r++) {
		sharing.round = r;
		rc = add_round(&sharing);
	}
	sum_up(lates);
	free(of);
	return rc;
}
