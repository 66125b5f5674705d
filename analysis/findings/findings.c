/* SPDX-License-Identifier: Apache-2.0
 *
 * See findings.h: the rules one after the other, and their tables.
 */
#include "analysis/findings/findings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/rule.h"

const char *const gt_finding_states[GT_FINDING_STATE_COUNT_] = {
	[GT_FINDING_FOUND] = "found",
	[GT_FINDING_UNDECIDED] = "not decidable",
	[GT_FINDING_CLEAR] = "clear",
};

static const struct {
	struct gt_rule rule;
	int (*apply)(const struct gt_survey *survey, struct gt_finding *finding);
} rules[] = {
#define GT_RULE(id, least, title, advice) {{#id, title, advice, least}, gt_rule_##id},
#include "analysis/findings/rules.def"
#undef GT_RULE
};

#define UNKNOWN_MOST 10 /* % of wall in gaps before work whose call is not in the trace */

#define RULES        (sizeof(rules) / sizeof(rules[0]))

void gt_rule_say(struct gt_finding *finding, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vsnprintf(finding->evidence, sizeof(finding->evidence), format, list);
	va_end(list);
}

bool gt_rule_lacks_calls(const struct gt_survey *survey, struct gt_finding *finding)
{
	finding->of_calls = true;
	if (survey->calls)
		return false;
	finding->state = GT_FINDING_UNDECIDED;
	finding->needs = "the CUDA calls of the program";
	return true;
}

/* What the GPU waited for was launched by calls that are not in the trace. */
static void doubt(const struct gt_survey *survey, struct gt_finding *finding)
{
	int64_t unknown = survey->by_cause[GT_CAUSE_UNKNOWN];

	if (finding->state != GT_FINDING_CLEAR || !finding->of_calls ||
	    gt_survey_percent(unknown, survey->gaps.wall) < UNKNOWN_MOST)
		return;
	finding->state = GT_FINDING_UNDECIDED;
	finding->needs = "the CUDA calls of all GPU work";
}

static int lacks_work(struct gt_finding *finding)
{
	finding->state = GT_FINDING_UNDECIDED;
	finding->needs = "GPU work";
	return 0;
}

static int by_saving(const void *a, const void *b)
{
	const struct gt_finding *x = a, *y = b;

	if (x->state != y->state)
		return x->state < y->state ? -1 : 1;
	if (x->saves != y->saves && x->state == GT_FINDING_FOUND)
		return x->saves > y->saves ? -1 : 1;
	return x->rule < y->rule ? -1 : x->rule > y->rule;
}

int gt_findings_find(const struct gt_job *job, const struct gt_filter *filter,
		     struct gt_findings *ret_findings)
{
	struct gt_survey survey;
	int rc = gt_survey_make(job, filter, &survey);

	*ret_findings = (struct gt_findings){0};
	for (size_t i = 0; !rc && i < RULES; i++) {
		struct gt_finding *finding;

		if (!gt_vec_push(&ret_findings->list,
				 ((struct gt_finding){.rule = &rules[i].rule,
						      .state = GT_FINDING_CLEAR,
						      .wall = survey.gaps.wall}))) {
			rc = -ENOMEM;
			break;
		}
		finding = &ret_findings->list.at[ret_findings->list.count - 1];
		rc = survey.ops ? rules[i].apply(&survey, finding) : lacks_work(finding);
		doubt(&survey, finding);
	}
	if (!rc)
		qsort(ret_findings->list.at, ret_findings->list.count,
		      sizeof(*ret_findings->list.at), by_saving);
	gt_survey_fini(&survey);
	return rc;
}

static void free_places(struct gt_finding *finding)
{
	for (size_t i = 0; i < finding->place_count; i++)
		free(finding->places[i].where);
}

size_t gt_findings_cut(struct gt_findings *findings, size_t top)
{
	size_t found = gt_findings_count(findings, GT_FINDING_FOUND);
	size_t more = found > top ? found - top : 0;

	for (size_t i = top; i < top + more; i++)
		free_places(&findings->list.at[i]);
	for (size_t i = found; more && i < findings->list.count; i++)
		findings->list.at[i - more] = findings->list.at[i];
	findings->list.count -= more;
	return more;
}

void gt_findings_fini(struct gt_findings *findings)
{
	for (size_t i = 0; i < findings->list.count; i++)
		free_places(&findings->list.at[i]);
	gt_vec_free(&findings->list);
}

size_t gt_findings_count(const struct gt_findings *findings, enum gt_finding_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < findings->list.count; i++)
		count += findings->list.at[i].state == state;
	return count;
}

static const struct gt_column columns[] = {
	{"state", "State", "state", GT_COLUMN_TEXT},
	{"rule", "Rule", "rule", GT_COLUMN_TEXT},
	{"title", "Finding", "finding", GT_COLUMN_TEXT},
	{"saves", "Saves At Most (ns)", "saves at most", GT_COLUMN_TIME},
	{"share", "Saves At Most (% of wall)", "of wall", GT_COLUMN_PERCENT},
	{"evidence", "Evidence", "evidence", GT_COLUMN_TEXT},
	{"advice", "What To Do", NULL, GT_COLUMN_TEXT},
	{"needs", "Needs", NULL, GT_COLUMN_TEXT},
};

void gt_findings_table(const struct gt_findings *findings, struct gt_table *ret_table)
{
	gt_table_init(ret_table, "findings", "Findings", columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < findings->list.count; i++) {
		const struct gt_finding *finding = &findings->list.at[i];

		gt_table_text(ret_table, gt_finding_states[finding->state]);
		gt_table_text(ret_table, finding->rule->id);
		gt_table_text(ret_table, finding->rule->title);
		if (finding->state == GT_FINDING_UNDECIDED) {
			gt_table_absent(ret_table, "-");
			gt_table_absent(ret_table, "-");
		} else {
			gt_table_number(ret_table, (double)finding->saves);
			gt_table_number(ret_table,
					gt_survey_percent(finding->saves, finding->wall));
		}
		gt_table_text(ret_table, finding->evidence);
		gt_table_text(ret_table, finding->rule->advice);
		gt_table_text(ret_table, finding->needs ? finding->needs : "");
	}
}

static const struct gt_column place_columns[] = {
	{"rule", "Rule", "rule", GT_COLUMN_TEXT},
	{"count", "Count", "count", GT_COLUMN_COUNT},
	{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},
	{"name", "Where", "where", GT_COLUMN_CODE},
};

void gt_findings_places(const struct gt_findings *findings, struct gt_table *ret_table)
{
	gt_table_init(ret_table, "finding_places", "Places of the findings", place_columns,
		      sizeof(place_columns) / sizeof(place_columns[0]));
	for (size_t i = 0; i < findings->list.count; i++) {
		const struct gt_finding *finding = &findings->list.at[i];

		for (size_t k = 0; finding->state == GT_FINDING_FOUND && k < finding->place_count;
		     k++) {
			gt_table_text(ret_table, finding->rule->id);
			gt_table_number(ret_table, (double)finding->places[k].count);
			gt_table_number(ret_table, (double)finding->places[k].ns);
			gt_table_text(ret_table, finding->places[k].where);
		}
	}
}
