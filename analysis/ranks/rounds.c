/* SPDX-License-Identifier: Apache-2.0
 *
 * See rounds.h. Each process in turn opens rounds for what no process before it has, and pairs with
 * those behind it.
 */
#include "analysis/ranks/rounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/communication.h"
#include "trace/meetings.h"

#define NO_ROUND UINT32_MAX
#define SLACK    1000000 /* ns that clocks may be apart where their error is not known */

/* The collectives of one process, and the round of each. */
struct party {
	struct gt_meetings meetings;
	uint32_t *round;
	bool has_messages;
	bool is_peer; /* it has some, and no process before it with some has its rank */
};

struct finding {
	const struct gt_job *job;
	const struct gt_filter *filter;
	const struct gt_rank_excerpt *excerpts; /* instead of the filter, or NULL */
	struct party *parties;
	uint32_t rounds;
};

static bool passes(const struct gt_model *model, uint32_t number, const struct gt_op *op,
		   const void *data)
{
	(void)number;
	return gt_filter_op(data, model, op);
}

static bool has_passed(const struct gt_model *model, uint32_t number, const struct gt_op *op,
		       const void *data)
{
	(void)model;
	(void)op;
	return gt_rank_meeting_of(data, number)->passes;
}

static int take_party(const struct finding *find, size_t f, bool by_mpi, struct party *party)
{
	const struct gt_model *model = &find->job->models[f];

	return find->excerpts
		       ? gt_meetings_take(model, has_passed, &find->excerpts[f], by_mpi,
					  &party->meetings)
		       : gt_meetings_take(model, passes, find->filter, by_mpi, &party->meetings);
}

/* Of several processes of a rank one is compared. */
static void leave_out(struct party *party, size_t f, struct gt_rounds *rounds)
{
	if (!rounds->repeated++)
		rounds->repeats = f;
	rounds->is_repeat[f] = true;
	gt_meetings_fini(&party->meetings);
	party->meetings = (struct gt_meetings){0};
}

/* The number of the start by torchrun; 0: not known. */
static int64_t start_of(const struct finding *find, size_t f)
{
	int64_t starts = 0;

	if (find->excerpts)
		return find->excerpts[f].starts;
	gt_header_int(&find->job->models[f].reading.header, "metadata", "starts", &starts);
	return starts;
}

static int64_t last_end(const struct gt_meetings *meetings)
{
	int64_t end = INT64_MIN;

	for (size_t i = 0; i < meetings->all.count; i++)
		if (meetings->all.at[i].end > end)
			end = meetings->all.at[i].end;
	return end;
}

/* Was the rank of @f, which is that of @other, started once more? A window of a process was not. */
static bool is_restart(const struct finding *find, size_t f, size_t other)
{
	const struct gt_model *a = &find->job->models[f], *b = &find->job->models[other];
	const struct gt_meetings *later = &find->parties[f].meetings;

	if (start_of(find, f) && start_of(find, other))
		return start_of(find, f) > start_of(find, other);
	return a->pid != b->pid && a->reading.header.has_base == b->reading.header.has_base &&
	       later->all.at[0].start > last_end(&find->parties[other].meetings);
}

/* Of the processes of one rank with collectives, @first to @end - 1, the first one of the last
 * start stays. They are in the order of their ranks; a file that tells none may be any rank. */
static void choose(struct finding *find, size_t first, size_t end, struct gt_rounds *rounds)
{
	size_t chosen = end;

	for (size_t f = first; f < end; f++) {
		struct party *party = &find->parties[f];

		if (!party->meetings.all.count)
			continue;
		if (chosen == end) {
			chosen = f;
		} else if (is_restart(find, f, chosen)) {
			rounds->restarted++;
			leave_out(&find->parties[chosen], chosen, rounds);
			chosen = f;
		} else {
			rounds->restarted += is_restart(find, chosen, f);
			leave_out(party, f, rounds);
		}
	}
}

/* Behind the processes that have the rank of @first. */
static size_t rank_end(const struct gt_job *job, size_t first)
{
	const struct gt_model *models = job->models;
	size_t end = first + 1;

	while (end < job->count && models[first].reading.header.has_rank &&
	       models[end].reading.header.has_rank && models[end].rank == models[first].rank)
		end++;
	return end;
}

/* Where kernels meet, what the hosts agree on by MPI is beside it. */
static bool meet_by_mpi(const struct gt_job *job)
{
	bool has_mpi = false;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; i < model->ops.count; i++)
			if (gt_model_op_traits(model, i)->comm)
				return false;
		has_mpi |= model->mpi_calls.count > 0;
	}
	return has_mpi;
}

static int begin(struct party *party, struct gt_rounds *rounds)
{
	party->is_peer = party->meetings.all.count > 0;
	for (size_t i = 0; i < party->meetings.all.count; i++)
		party->has_messages |= party->meetings.all.at[i].is_message;
	rounds->processes += party->is_peer;
	party->round = malloc((party->meetings.all.count + 1) * sizeof(*party->round));
	if (!party->round)
		return -ENOMEM;
	memset(party->round, 0xff, party->meetings.all.count * sizeof(*party->round));
	return 0;
}

static int take(struct finding *find, struct gt_rounds *rounds)
{
	bool by_mpi = meet_by_mpi(find->job);
	int rc = 0;

	for (size_t f = 0, end; !rc && f < find->job->count; f = end) {
		end = rank_end(find->job, f);
		for (size_t i = f; !rc && i < end; i++)
			rc = take_party(find, i, by_mpi, &find->parties[i]);
		if (!rc)
			choose(find, f, end, rounds);
		for (size_t i = f; !rc && i < end; i++)
			rc = begin(&find->parties[i], rounds);
	}
	return rc;
}

/* Opens rounds for what is in none yet; false: nothing. */
static bool open_rounds(struct finding *find, struct party *party)
{
	uint32_t before = find->rounds;

	for (size_t i = 0; i < party->meetings.all.count; i++)
		if (party->round[i] == NO_ROUND)
			party->round[i] = find->rounds++;
	return find->rounds > before;
}

/* A kernel that sends to one and receives from another is between two that have no message in
 * common. */
static bool is_chain(const struct party *party, const struct party *peer, const struct gt_met *met)
{
	return party->meetings.all.at[met->a].is_message &&
	       peer->meetings.all.at[met->b].is_message;
}

static int join(struct party *party, struct party *peer, uint32_t first, struct gt_rounds *rounds)
{
	struct gt_met_pairs pairs;
	int rc = gt_meetings_pair(&party->meetings, &peer->meetings, &pairs);

	rounds->unclear += !rc && !pairs.all.count &&
			   gt_meetings_common(&party->meetings, &peer->meetings) > 0;
	for (size_t i = 0; !rc && i < pairs.all.count; i++) {
		uint32_t round = party->round[pairs.all.at[i].a];

		if ((round >= first || is_chain(party, peer, &pairs.all.at[i])) &&
		    peer->round[pairs.all.at[i].b] == NO_ROUND)
			peer->round[pairs.all.at[i].b] = round;
	}
	gt_vec_free(&pairs.all);
	return rc;
}

static int join_all(struct finding *find, struct gt_rounds *rounds)
{
	int rc = 0;

	for (size_t f = 0; !rc && f < find->job->count; f++) {
		uint32_t first = find->rounds;
		struct party *party = &find->parties[f];

		if (!party->is_peer || (!open_rounds(find, party) && !party->has_messages))
			continue;
		for (size_t g = f + 1; !rc && g < find->job->count; g++)
			if (find->parties[g].is_peer)
				rc = join(party, &find->parties[g], first, rounds);
	}
	return rc;
}

/* All members, those of a round one after the other. */
static int list_members(const struct finding *find, struct gt_rounds *rounds, size_t *place)
{
	size_t total = 0;

	for (size_t f = 0; f < find->job->count; f++)
		for (size_t i = 0; i < find->parties[f].meetings.all.count; i++)
			place[find->parties[f].round[i] + 1]++;
	for (uint32_t r = 0; r < find->rounds; r++)
		place[r + 1] += place[r];
	total = place[find->rounds];
	rounds->members.at = malloc((total + 1) * sizeof(*rounds->members.at));
	if (!rounds->members.at)
		return -ENOMEM;
	rounds->members.count = rounds->members.room = total;
	for (uint32_t f = 0; f < find->job->count; f++) {
		const struct party *party = &find->parties[f];
		const struct gt_clock_map *map = &find->job->clocks.of[f];

		for (size_t i = 0; i < party->meetings.all.count; i++) {
			const struct gt_meeting *meeting = &party->meetings.all.at[i];

			rounds->members.at[place[party->round[i]]++] = (struct gt_round_member){
				f, meeting->op, gt_clock_map_time(map, meeting->start),
				gt_clock_map_time(map, meeting->end)};
		}
	}
	return 0;
}

static int64_t slack_of(const struct finding *find, const struct gt_round_member *member)
{
	int64_t error = find->job->clocks.of[member->model].error;

	return error < 0 ? SLACK : error + SLACK / 10;
}

static bool are_together(const struct finding *find, const struct gt_round_member *member)
{
	const struct gt_model *model = &find->job->models[member->model];

	return gt_communication_collective(
		       gt_model_name(model, gt_meeting_op(model, member->op).name))
		.together;
}

/* The round of @count members from @first on. False: it cannot have been one. */
static bool make_round(const struct finding *find, const struct gt_rounds *rounds, size_t first,
		       size_t count, struct gt_round *ret_round)
{
	const struct gt_round_member *member = &rounds->members.at[first];
	struct gt_round round = {.first = first,
				 .count = (uint32_t)count,
				 .earliest = INT64_MAX,
				 .arrived = INT64_MIN,
				 .end = INT64_MIN,
				 .is_together = are_together(find, member)};
	int64_t left = INT64_MAX, slack = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (member[i].start > round.arrived) {
			round.arrived = member[i].start;
			round.last = i;
		}
		round.earliest =
			member[i].start < round.earliest ? member[i].start : round.earliest;
		round.end = member[i].end > round.end ? member[i].end : round.end;
		left = member[i].end < left ? member[i].end : left;
		slack += slack_of(find, &member[i]);
	}
	*ret_round = round;
	return !round.is_together || left >= round.arrived - slack;
}

static int by_end(const void *a, const void *b)
{
	const struct gt_round *x = a, *y = b;

	return x->end != y->end ? (x->end > y->end) - (x->end < y->end)
				: (x->first > y->first) - (x->first < y->first);
}

/* place[r]: where the members behind round r begin. */
static int list_rounds(const struct finding *find, const size_t *place, struct gt_rounds *rounds)
{
	for (uint32_t r = 0; r < find->rounds; r++) {
		size_t first = r ? place[r - 1] : 0, count = place[r] - first;
		struct gt_round round;

		if (count < 2)
			rounds->unmatched += count;
		else if (!make_round(find, rounds, first, count, &round))
			rounds->impossible++;
		else if (!gt_vec_push(&rounds->all, round))
			return -ENOMEM;
	}
	if (rounds->all.count)
		qsort(rounds->all.at, rounds->all.count, sizeof(*rounds->all.at), by_end);
	return 0;
}

int gt_rounds_find(const struct gt_job *job, const struct gt_filter *filter,
		   const struct gt_rank_excerpt *excerpts, struct gt_rounds *ret_rounds)
{
	struct finding find = {.job = job, .filter = filter, .excerpts = excerpts};
	size_t *place = NULL;
	int rc;

	*ret_rounds = (struct gt_rounds){0};
	find.parties = calloc(job->count + 1, sizeof(*find.parties));
	ret_rounds->is_repeat = calloc(job->count + 1, sizeof(*ret_rounds->is_repeat));
	rc = find.parties && ret_rounds->is_repeat ? take(&find, ret_rounds) : -ENOMEM;
	if (!rc)
		rc = join_all(&find, ret_rounds);
	if (!rc && !(place = calloc((size_t)find.rounds + 2, sizeof(*place))))
		rc = -ENOMEM;
	if (!rc)
		rc = list_members(&find, ret_rounds, place);
	if (!rc)
		rc = list_rounds(&find, place, ret_rounds);
	for (size_t f = 0; find.parties && f < job->count; f++) {
		gt_meetings_fini(&find.parties[f].meetings);
		free(find.parties[f].round);
	}
	free(find.parties);
	free(place);
	return rc;
}

void gt_rounds_fini(struct gt_rounds *rounds)
{
	gt_vec_free(&rounds->all);
	gt_vec_free(&rounds->members);
	free(rounds->is_repeat);
}

int64_t gt_round_wait(const struct gt_round *round, const struct gt_round_member *member)
{
	int64_t wait = round->arrived - member->start, dur = member->end - member->start;

	return wait < 0 ? 0 : wait < dur ? wait : dur;
}
