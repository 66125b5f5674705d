/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "writers/chrome/parts.h"

#include "core/guest/memory.h"

#define MANY_BYTES (GT_CHROME_LAUNCH_MANY * sizeof(struct gt_chrome_launch_part))

struct gt_chrome_parts *gt_chrome_parts_new(void)
{
	struct gt_chrome_parts *parts = gt_memory_map(sizeof(*parts));

	if (!parts)
		return NULL;
	parts->launches = parts->few;
	parts->launch_slots = GT_CHROME_LAUNCH_FEW;
	return parts;
}

void gt_chrome_parts_free(struct gt_chrome_parts *parts)
{
	if (!parts)
		return;
	if (parts->launches != parts->few)
		gt_memory_unmap(parts->launches, MANY_BYTES);
	gt_memory_unmap(parts, sizeof(*parts));
}

bool gt_chrome_parts_grow(struct gt_chrome_parts *parts)
{
	struct gt_chrome_launch_part *many =
		gt_memory_is_ample(MANY_BYTES) ? gt_memory_map(MANY_BYTES) : NULL;

	parts->stays = true; /* it is tried once */
	if (!many)
		return false;
	memset(parts->recent, 0, sizeof(parts->recent));
	parts->launches = many;
	parts->launch_slots = GT_CHROME_LAUNCH_MANY;
	return true;
}
