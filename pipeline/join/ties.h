/* SPDX-License-Identifier: Apache-2.0
 *
 * Ids of CUPTI's to ids of ours, for calls that the hooks recorded while another tool had the
 * callbacks. Drain thread.
 */
#ifndef GT_PIPELINE_JOIN_TIES_H
#define GT_PIPELINE_JOIN_TIES_H

#include <stdint.h>

/* One call that the hooks have recorded and CUPTI has numbered. */
struct gt_tie {
	uint32_t correlation, id;
};

/* The newest of them. Zeroed: there were none. */
struct gt_ties {
	struct gt_tie *table; /* NULL: there were none */
};

/* CUPTI's @correlation is our @id. Without memory it is not known. */
void gt_ties_put(struct gt_ties *ties, uint32_t correlation, uint32_t id);

/* The id that our record of the call has, which CUPTI's record numbers @correlation. */
uint32_t gt_ties_find(const struct gt_ties *ties, uint32_t correlation);

/* Also of a zeroed struct. */
void gt_ties_free(struct gt_ties *ties);

#endif
