/* SPDX-License-Identifier: Apache-2.0
 *
 * The deviceProperties of a merged trace: a device's number in its own file is not always that in
 * the merged one. One merge at a time.
 */
#ifndef GT_TRANSFORM_JOB_DEVICES_H
#define GT_TRANSFORM_JOB_DEVICES_H

#include <stdio.h>

#include "readers/chrome/scan.h"
#include "readers/vec.h"

#define GT_MERGE_DEVICES 64 /* numbers of devices in a file are below */

/* The devices of all files, and their numbers in the merged one. */
struct gt_merge_devices {
	GT_VEC(struct gt_merge_device {
		int64_t id;          /* in the merged file */
		struct gt_span text; /* as it stands in one */
	})
	list;
};

/*
 * Takes the named devices of a file's @list, which must stay where it is. @number gives the merged
 * number of a device of this file: asked for the only one, which the process uses. Who sees several
 * uses, as a rule, the one of his own number. -ENOMEM.
 */
int gt_merge_devices_take(struct gt_merge_devices *devices, const struct gt_span *list,
			  int64_t (*number)(void *context, int64_t id), void *context);

/* The member, with a comma behind it. Readers take the place in the list for the number. */
void gt_merge_devices_put(struct gt_merge_devices *devices, FILE *out);

#endif
