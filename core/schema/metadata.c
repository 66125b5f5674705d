/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of the segment keys.
 */
#include "core/schema/metadata.h"

const char *const gt_segment_names[GT_SEGMENT_COUNT_] = {
#define GT_SEGMENT(id, json, help) [GT_SEGMENT_##id] = json,
#include "core/schema/segment.def"
#undef GT_SEGMENT
};
