/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of one line or stack, call and kind are of one place. Shared by the tables and the
 * picture.
 */
#ifndef GT_ANALYSIS_MEMORY_PLACE_H
#define GT_ANALYSIS_MEMORY_PLACE_H

#include "analysis/memory/memory.h"

/* What a place holds at one moment. */
struct gt_memory_place {
	const struct gt_memory_block *first;
	uint64_t bytes, blocks;
	bool is_one_stack; /* of all blocks */
};

/* Those of the blocks that are there at the peak, or that were never freed, by bytes. 0 or
 * -ENOMEM; free() the list in either case. */
int gt_memory_places(const struct gt_memory_use *use, bool at_peak,
		     struct gt_memory_place **ret_places, size_t *ret_count);

/* Whether both are of one place. */
bool gt_memory_is_same_place(const struct gt_memory_block *a, const struct gt_memory_block *b);

/* The innermost frame of the user's code in a stack, with its line, into @out. */
void gt_memory_place(const struct gt_model *model, uint32_t stack, char *out, size_t size);

#endif
