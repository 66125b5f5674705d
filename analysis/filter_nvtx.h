/* SPDX-License-Identifier: Apache-2.0
 *
 * --filter=nvtx=: which ranges pass, and what lies in them. What was found out of a model is kept
 * in the term (key.h) until another model is asked for. One thread per filter.
 */
#ifndef GT_ANALYSIS_FILTER_NVTX_H
#define GT_ANALYSIS_FILTER_NVTX_H

#include "analysis/key.h"

/* What is known of a name of @model, by a key other than 0; its value is 0 when it is new. NULL: no
 * memory. */
struct gt_keymap_entry *gt_filter_seen_of(const struct gt_filter_term *term,
					  const struct gt_model *model, uint64_t key);
void gt_filter_seen_fini(struct gt_filter_seen *seen);

/* Whether the name of the range passes: alone, or as tables show it. */
bool gt_filter_is_nvtx(const struct gt_filter_term *term, const struct gt_model *model,
		       const struct gt_model_range *range);

/* Whether a range that passes is open on the thread, or an additional track of it, from @from to
 * @until. */
bool gt_filter_in_nvtx(const struct gt_filter_term *term, const struct gt_model *model,
		       uint32_t thread, int64_t from, int64_t until);

#endif
