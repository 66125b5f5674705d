/* SPDX-License-Identifier: Apache-2.0
 *
 * Mangled names of kernels: only the first kernel of a name has it. One thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash.h"
#include "transform/export_rows.h"

#define SEVERAL INT64_MAX /* kernels that differ in what their names do not show */

static bool is_same(const char *known, const struct gt_span *given)
{
	return strlen(known) == given->len && !memcmp(known, given->text, given->len);
}

/* Remembers what @given is the mangled name of. */
static int keep(struct gt_export_rows *e, uint64_t key, const struct gt_span *given)
{
	struct gt_keymap_entry *entry = gt_keymap_get(&e->mangled_of, key);
	char *copy;

	if (!entry)
		return -ENOMEM;
	if (entry->value) {
		if (entry->value != SEVERAL && !is_same(e->mangled.at[entry->value - 1], given))
			entry->value = SEVERAL;
		return 0;
	}
	copy = strndup(given->text, given->len);
	if (!copy || !gt_vec_push(&e->mangled, copy)) {
		free(copy);
		return -ENOMEM;
	}
	entry->value = (int64_t)e->mangled.count;
	return 0;
}

int gt_export_put_mangled(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	const struct gt_span *name = &record->name, *given = &record->arg[GT_ARG_MANGLED];
	uint64_t key = gt_hash_bytes(name->text, name->len) | 1;
	const struct gt_keymap_entry *entry;

	if (gt_record_has(record, GT_ARG_MANGLED) && given->kind == GT_SPAN_STRING &&
	    !given->escaped) {
		gt_export_put_text(e, given->text, given->len);
		return keep(e, key, given);
	}
	entry = gt_keymap_find(&e->mangled_of, key);
	if (entry && entry->value != SEVERAL)
		gt_export_put_text(e, e->mangled.at[entry->value - 1],
				   strlen(e->mangled.at[entry->value - 1]));
	else
		gt_export_put_text(e, name->text, name->len);
	return 0;
}

void gt_export_mangled_fini(struct gt_export_rows *e)
{
	for (size_t i = 0; i < e->mangled.count; i++)
		free(e->mangled.at[i]);
	free(e->mangled.at);
	gt_keymap_fini(&e->mangled_of);
}
