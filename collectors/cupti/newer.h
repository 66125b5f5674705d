/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a CUDA newer than our table: CUPTI knows their names. While attaching.
 */
#ifndef GT_COLLECTORS_CUPTI_NEWER_H
#define GT_COLLECTORS_CUPTI_NEWER_H

#include <stdbool.h>

#include "core/schema/cuda_api.h"

/* Adds to @set the calls beyond the end of the table that CUPTI has a name for: @all, or those
 * whose names say that they launch, copy, set, or change graphs. Their flags are not known. */
void gt_cupti_newer_calls(bool all, struct gt_cuda_set *set);

#endif
