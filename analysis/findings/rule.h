/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of rules.def. Each sets state, evidence, saves, needs and places of a finding that
 * has its rule; 0 or -ENOMEM. One thread per survey.
 */
#ifndef GT_ANALYSIS_FINDINGS_RULE_H
#define GT_ANALYSIS_FINDINGS_RULE_H

#include "analysis/findings/survey.h"

#define GT_RULE(id, least, title, advice)                                                          \
	int gt_rule_##id(const struct gt_survey *survey, struct gt_finding *finding);
#include "analysis/findings/rules.def"
#undef GT_RULE

/* The traces have no CUDA calls: UNDECIDED, and true. */
bool gt_rule_lacks_calls(const struct gt_survey *survey, struct gt_finding *finding);

/* Sets the evidence. */
void gt_rule_say(struct gt_finding *finding, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
