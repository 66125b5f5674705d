/* SPDX-License-Identifier: Apache-2.0
 *
 * Why CUPTI refused, in words. Pure; any thread.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_REFUSAL_H
#define GT_COLLECTORS_CUPTI_LIBRARY_REFUSAL_H

#include <stddef.h>

/* CUPTI's name of a CUptiResult, without asking CUPTI; "an error" if it is unknown. */
const char *gt_cupti_result_name(int result);

/* "STEP failed with NAME (RESULT): reason and remedy", in one line (REQ-11). @result: a
 * CUptiResult. */
void gt_cupti_refusal(const char *step, int result, char *ret_why, size_t size);

#endif
