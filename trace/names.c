/* SPDX-License-Identifier: Apache-2.0
 *
 * See names.h. One thread per table.
 */
#include "trace/names.h"

#include <errno.h>
#include <string.h>

#include "core/hash.h"

#define BLOCK ((size_t)64 << 10)

static bool grow_slots(struct gt_names *names)
{
	size_t count = names->slot_count ? names->slot_count * 2 : 1024;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < names->text.count; i++) {
		size_t h = names->hashes[i] & (count - 1);

		while (slots[h])
			h = (h + 1) & (count - 1);
		slots[h] = (uint32_t)i + 1;
	}
	free(names->slots);
	names->slots = slots;
	names->slot_count = count;
	return true;
}

/* Memory for a string; long ones get a block of their own. */
static char *store(struct gt_names *names, const char *text, size_t len)
{
	size_t need = len + 1;
	char *place;

	if (need > names->block_left) {
		size_t size = need > BLOCK / 4 ? need : BLOCK;
		char *block = malloc(size);

		if (!block || !gt_vec_push(&names->blocks, block)) {
			free(block);
			return NULL;
		}
		names->block_left = size;
		place = block;
	} else {
		place = names->blocks.at[names->blocks.count - 1] + BLOCK - names->block_left;
	}
	memcpy(place, text, len);
	place[len] = 0;
	/* a block of its own is full: the next string opens a new one */
	names->block_left = need > BLOCK / 4 ? 0 : names->block_left - need;
	return place;
}

uint32_t gt_names_put(struct gt_names *names, const char *text, size_t len)
{
	uint64_t hash = gt_hash_bytes(text, len);
	size_t h = hash & (names->slot_count - 1);
	const char *copy;

	for (; names->slots[h]; h = (h + 1) & (names->slot_count - 1)) {
		uint32_t name = names->slots[h] - 1;

		if (names->hashes[name] == hash && !strncmp(names->text.at[name], text, len) &&
		    !names->text.at[name][len])
			return name;
	}
	if (!gt_vec_reserve((void **)&names->hashes, &names->hash_room, names->text.count,
			    sizeof(*names->hashes)))
		return GT_NAME_NONE;
	copy = store(names, text, len);
	if (!copy || !gt_vec_push(&names->text, copy))
		return GT_NAME_NONE;
	names->hashes[names->text.count - 1] = hash;
	names->slots[h] = (uint32_t)names->text.count;
	if (names->text.count * 2 > names->slot_count && !grow_slots(names))
		names->text.count--, names->slots[h] = 0;
	return (uint32_t)names->text.count - 1;
}

int gt_names_init(struct gt_names *names)
{
	*names = (struct gt_names){0};
	if (!grow_slots(names))
		return -ENOMEM;
	gt_names_put(names, "", 0);
	return names->text.count == 1 ? 0 : -ENOMEM;
}

void gt_names_fini(struct gt_names *names)
{
	for (size_t i = 0; i < names->blocks.count; i++)
		free(names->blocks.at[i]);
	gt_vec_free(&names->blocks);
	gt_vec_free(&names->text);
	free(names->hashes);
	free(names->slots);
	*names = (struct gt_names){0};
}
