/* SPDX-License-Identifier: Apache-2.0
 *
 * Rule about ranks: does one make the others wait in collectives?
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/findings/rule.h"
#include "analysis/ranks/peers.h"

/* Cells of a row of gt_ranks_peers. */
enum { RANK, COUNT, COMM, WAIT, SHARE, LAST, COST, WIDTH };

#define MOSTLY 50 /* % of the collectives that the rank is last in */

static bool has_collectives(const struct gt_survey *survey)
{
	for (size_t f = 0; f < survey->job->count; f++) {
		const struct gt_model *model = &survey->job->models[f];

		for (size_t i = 0; i < model->ops.count; i++)
			if (gt_model_op_traits(model, i)->comm &&
			    gt_filter_op(survey->filter, model, gt_model_op_at(model, i)))
				return true;
	}
	return false;
}

static const struct gt_cell *row_at(const struct gt_table *peers, size_t row)
{
	return &peers->cells.at[row * WIDTH];
}

static int judge(const struct gt_survey *survey, const struct gt_table *peers,
		 const struct gt_peer_doubts *doubts, struct gt_finding *finding)
{
	const struct gt_cell *late = row_at(peers, 0);
	struct gt_groups places;
	int64_t wait = 0;
	int rc = gt_groups_init(&places);
	char time[32], clocks[320];
	bool is_unsure = gt_ranks_unrelated(doubts->unrelated, clocks, sizeof(clocks));

	for (size_t row = 0; row < peers->rows; row++) {
		wait += (int64_t)row_at(peers, row)[WAIT].number;
		if (row_at(peers, row)[LAST].number > late[LAST].number)
			late = row_at(peers, row);
	}
	gt_survey_judge(survey, wait, finding);
	if (late[LAST].number * 100 < late[COUNT].number * MOSTLY)
		finding->state = GT_FINDING_CLEAR;
	gt_rule_say(finding,
		    "%s came last to %.0f of %.0f collectives; together the ranks waited %s for "
		    "the last one.%s%s",
		    late[RANK].text, late[LAST].number, late[COUNT].number,
		    gt_table_time((double)wait, time, sizeof(time)), is_unsure ? " " : "",
		    is_unsure ? clocks : "");
	if (!rc && !gt_groups_get(&places, late[RANK].text))
		rc = -ENOMEM;
	gt_survey_places(&places, finding);
	if (finding->place_count) {
		finding->places[0].count = (uint64_t)late[LAST].number;
		finding->places[0].ns = (int64_t)late[COST].number;
	}
	gt_groups_fini(&places);
	return rc;
}

int gt_rule_late_rank(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct gt_table peers = {0};
	struct gt_peer_doubts doubts = {0};
	int rc = gt_ranks_peers(survey->job, survey->filter, NULL, &peers, &doubts);

	if (!rc && peers.rows) {
		rc = judge(survey, &peers, &doubts, finding);
	} else if (!rc && has_collectives(survey)) {
		finding->state = GT_FINDING_UNDECIDED;
		finding->needs = doubts.differ
					 ? "ranks that have the same collectives in the same order"
					 : "the traces of the other ranks";
	}
	gt_table_fini(&peers);
	return rc;
}
