/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of GPU operations by their key. Operations that share a call stack are many: what its text
 * is, is made once. One thread per set of groups.
 */
#ifndef GT_ANALYSIS_KEY_GROUP_H
#define GT_ANALYSIS_KEY_GROUP_H

#include "analysis/group.h"
#include "analysis/key.h"
#include "readers/keymap.h"

/* The group of an operation, new or old, as gt_groups_get. @known: of one model, key and set of
 * groups, empty at first. */
struct gt_group *gt_key_group(const struct gt_model *model, const struct gt_op *op, enum gt_key key,
			      struct gt_keymap *known, struct gt_groups *groups);

/* Where the group of a stack and a name, both numbers of the model, is remembered: value is its
 * place in the list + 1, 0 for one that was not met. NULL: there is no stack, or no memory. */
struct gt_keymap_entry *gt_key_known(const struct gt_model *model, uint32_t stack, uint32_t name,
				     struct gt_keymap *known);

#endif
