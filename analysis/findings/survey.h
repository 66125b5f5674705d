/* SPDX-License-Identifier: Apache-2.0
 *
 * What the rules of analysis/findings look at: the gaps of a job with their causes, and helpers
 * that sum up calls and operations by place. Pure over constant models; one thread per survey.
 */
#ifndef GT_ANALYSIS_FINDINGS_SURVEY_H
#define GT_ANALYSIS_FINDINGS_SURVEY_H

#include "analysis/findings/findings.h"
#include "analysis/gaps/gaps.h"
#include "analysis/group.h"
#include "analysis/intervals.h"

/* Of places: tags of a group that gt_survey_add fills. The others are the owner's. */
enum { GT_SURVEY_COUNT = 3, GT_SURVEY_NS };

/* A job, surveyed once for all rules. */
struct gt_survey {
	const struct gt_job *job;
	const struct gt_filter *filter;
	struct gt_gaps gaps;
	struct gt_table causes; /* gt_gaps_table: with what samples tell */
	int64_t by_cause[GT_CAUSE_COUNT_];
	int64_t launch_tiny; /* of the time in launches what is before tiny kernels */
	uint64_t calls;      /* in the traces */
	uint64_t ops;        /* that the filter lets pass */
	int64_t kernels;     /* sum of the durations of kernels but communication, ns */
};

/* Surveys a job. 0 or -ENOMEM; free in either case. */
int gt_survey_make(const struct gt_job *job, const struct gt_filter *filter,
		   struct gt_survey *ret_survey);
void gt_survey_fini(struct gt_survey *survey);

/* Calls of one rule: whose time, and where. Zeroed, then gt_survey_calls_init. */
struct gt_survey_calls {
	struct gt_groups places; /* gt_survey_add */
	int64_t total;           /* ns in them */
	int64_t saves;           /* GPU time, at most: see gt_survey_take */
	uint64_t count;
};

/* Whether a call, outermost of those around it, is one that the rule is about. */
typedef bool (*gt_survey_is)(const struct gt_model *model, const struct gt_call *call, void *data);

/*
 * Sums up the calls for which @is says so. saves: the GPU was idle in a gap that touches them; had
 * the host not been in the calls, the gap would be shorter by at most the time it spent in them.
 * So of each gap the smaller one of its length and the time in calls that touch it, in all no more
 * than the time in calls. -ENOMEM.
 */
int gt_survey_take(const struct gt_survey *survey, gt_survey_is is, void *data,
		   struct gt_survey_calls *ret_calls);
void gt_survey_calls_fini(struct gt_survey_calls *calls);

/* The place of a call: its launching line and operator, as far as the trace has them. */
void gt_survey_place(const struct gt_model *model, const struct gt_call *call, char *out,
		     size_t size);

/* Adds what took @ns, @count times, at the place @where. 0 or -ENOMEM. */
int gt_survey_add(struct gt_groups *places, const char *where, uint64_t count, int64_t ns);

/* Fills @call with the call that launched a kernel that is no communication, and only it, and
 * returns it; NULL: there is none. A graph's launches many. A kernel is tiny if it is shorter. */
const struct gt_call *gt_survey_launch(const struct gt_model *model, const struct gt_op *op,
				       struct gt_call *call);

/* Hands the largest groups over as the places of a finding. */
void gt_survey_places(struct gt_groups *groups, struct gt_finding *finding);

/* @part of @whole in %, 0 of nothing. */
double gt_survey_percent(int64_t part, int64_t whole);

/* FOUND when there are places or a saving of rule->least % of wall, else CLEAR. */
void gt_survey_judge(const struct gt_survey *survey, int64_t saves, struct gt_finding *finding);

#endif
