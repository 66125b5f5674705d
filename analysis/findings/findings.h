/* SPDX-License-Identifier: Apache-2.0
 *
 * What could be faster in a job, by rules (rules.def, docs/ANALYZE.md): each with its evidence, the
 * places in the program, the most that a change could save, and what to do; or what a trace lacks
 * to tell. Pure over constant models; one thread per set.
 */
#ifndef GT_ANALYSIS_FINDINGS_FINDINGS_H
#define GT_ANALYSIS_FINDINGS_FINDINGS_H

#include "analysis/key.h"
#include "analysis/table/table.h"
#include "trace/job.h"

/* The answer of a rule, in the order of tables. */
enum gt_finding_state {
	GT_FINDING_FOUND,
	GT_FINDING_UNDECIDED, /* the traces lack what it needs: finding.needs */
	GT_FINDING_CLEAR,     /* not there, or too little */
	GT_FINDING_STATE_COUNT_
};

/* Names for tables: "found", "not decidable", "clear". */
extern const char *const gt_finding_states[GT_FINDING_STATE_COUNT_];

/* A rule: its row in rules.def. */
struct gt_rule {
	const char *id;     /* "slow_loader" */
	const char *title;  /* one line for people */
	const char *advice; /* what to do, a sentence or two */
	double least;       /* % of wall that it must be able to save to be a finding */
};

/* A place in the program: a source line or operator, a kernel, a rank. */
struct gt_finding_place {
	char *where;
	uint64_t count; /* operations, calls or gaps there */
	int64_t ns;     /* their time; of gaps that of the GPU */
};

#define GT_FINDING_PLACES 5

/* What one rule found. */
struct gt_finding {
	const struct gt_rule *rule;
	enum gt_finding_state state;
	char evidence[640]; /* numbers, for people; "" when there is nothing to say */
	bool of_calls;      /* it is about the calls that launched work */
	const char *needs;  /* UNDECIDED: what a trace would have to hold; else NULL */
	int64_t saves;      /* GPU time that a change could save at most, ns; 0: none by itself */
	int64_t wall;       /* what that is a part of: sum over devices, gt_gaps.wall */
	struct gt_finding_place places[GT_FINDING_PLACES]; /* largest first */
	size_t place_count;                                /* of these */
	size_t place_total;                                /* of all that there are */
};

/* One finding a rule: found ones first, the largest saving first of them. */
struct gt_findings {
	GT_VEC(struct gt_finding) list;
};

/* Applies all rules to a job with its filter. 0 or -ENOMEM; free with gt_findings_fini in either
 * case. Savings of several findings overlap: they must not be added up. */
int gt_findings_find(const struct gt_job *job, const struct gt_filter *filter,
		     struct gt_findings *ret_findings);
void gt_findings_fini(struct gt_findings *findings);

/* Keeps the first @top of what was found, and all that is clear or undecided. Returns how many it
 * left out. */
size_t gt_findings_cut(struct gt_findings *findings, size_t top);

/* How many were found. */
size_t gt_findings_count(const struct gt_findings *findings, enum gt_finding_state state);

/* One row a rule ("findings"), and one a place of those that were found ("finding_places"). */
void gt_findings_table(const struct gt_findings *findings, struct gt_table *ret_table);
void gt_findings_places(const struct gt_findings *findings, struct gt_table *ret_table);

#endif
