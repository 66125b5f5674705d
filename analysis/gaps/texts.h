/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of the causes of gaps, each made once and not for each gap: to parse a name of C++ or the
 * frames of a stack takes microseconds. One thread.
 */
#ifndef GT_ANALYSIS_GAPS_TEXTS_H
#define GT_ANALYSIS_GAPS_TEXTS_H

#include "trace/model.h"

/* Of the model whose gaps are explained. A zeroed struct is empty. */
struct gt_gaps_texts {
	const struct gt_model *model;
	char **names, **places; /* by name, by stack; NULL: not yet asked for */
};

/* A name of @model with at most GT_GAPS_NAME columns, "" without memory. Valid, as the other, until
 * another model is asked about. */
const char *gt_gaps_name(struct gt_gaps_texts *texts, const struct gt_model *model, uint32_t name);

/* What gt_gaps_place says of a stack of @model's. */
const char *gt_gaps_stack(struct gt_gaps_texts *texts, const struct gt_model *model,
			  uint32_t stack);
void gt_gaps_texts_fini(struct gt_gaps_texts *texts);

#endif
