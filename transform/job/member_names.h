/* SPDX-License-Identifier: Apache-2.0
 *
 * What traces are called in a zip. One thread.
 */
#ifndef GT_TRANSFORM_JOB_MEMBER_NAMES_H
#define GT_TRANSFORM_JOB_MEMBER_NAMES_H

#include "transform/job/sources.h"

#define GT_MEMBER_NAME 256 /* bytes, with the end */
#define GT_MANIFEST    "perfetto_manifest.json"

/* Makes @name ASCII that no system and no JSON minds; others would need a flag that Perfetto
 * refuses. */
void gt_member_name_clean(char *name);

/* By source: the name of its file without folder and ".gz", with a number in front where that is
 * taken. No two are alike, and none is that of the manifest. To be freed; NULL: no memory. */
char (*gt_member_names(const struct gt_merge_sources *sources))[GT_MEMBER_NAME];

#endif
