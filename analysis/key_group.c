/* SPDX-License-Identifier: Apache-2.0
 *
 * See key_group.h.
 */
#include "analysis/key_group.h"

#define KEY_TEXT 16384

struct gt_keymap_entry *gt_key_known(const struct gt_model *model, uint32_t stack, uint32_t name,
				     struct gt_keymap *known)
{
	if (stack >= model->stacks.count || !model->stacks.at[stack].count)
		return NULL;
	return gt_keymap_get(known, (uint64_t)(stack + 1) << 32 | name);
}

/* Does the stack alone say what the key is, if there is one? */
static bool is_of_stack(enum gt_key key)
{
	return key == GT_KEY_STACK || key == GT_KEY_LINE || key == GT_KEY_FUNCTION ||
	       key == GT_KEY_MODULE;
}

/* Where the number of the group of @op is kept once it is known, NULL: nowhere. */
static struct gt_keymap_entry *entry_of(const struct gt_model *model, const struct gt_op *op,
					enum gt_key key, struct gt_keymap *known)
{
	if (key == GT_KEY_KERNEL)
		return gt_keymap_get(known, (uint64_t)op->name + 1);
	return is_of_stack(key) ? gt_key_known(model, op->stack, 0, known) : NULL;
}

struct gt_group *gt_key_group(const struct gt_model *model, const struct gt_op *op, enum gt_key key,
			      struct gt_keymap *known, struct gt_groups *groups)
{
	struct gt_keymap_entry *entry = entry_of(model, op, key, known);
	struct gt_group *group;
	char text[KEY_TEXT];

	if (entry && entry->value)
		return &groups->list.at[entry->value - 1];
	if (key == GT_KEY_KERNEL) {
		group = gt_groups_get(groups, gt_model_name(model, op->name));
	} else {
		gt_key_of_op(model, op, key, text, sizeof(text));
		group = gt_groups_get(groups, text);
	}
	if (entry && group)
		entry->value = group - groups->list.at + 1;
	return group;
}
