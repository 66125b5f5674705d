/* SPDX-License-Identifier: Apache-2.0
 *
 * See place.h.
 */
#include "analysis/memory/place.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/key.h"
#include "trace/frame.h"

void gt_memory_place(const struct gt_model *model, uint32_t stack, char *out, size_t size)
{
	uint32_t name = gt_key_launching(model, stack);

	if (name == GT_NAME_NONE)
		snprintf(out, size, "%s", GT_KEY_UNKNOWN);
	else
		gt_frame_print(gt_model_name(model, name), out, size);
}

bool gt_memory_is_same_place(const struct gt_memory_block *a, const struct gt_memory_block *b)
{
	return a->place == b->place && a->name == b->name && a->kind == b->kind;
}

static int by_place(const void *a, const void *b)
{
	const struct gt_memory_block *x = *(const struct gt_memory_block *const *)a;
	const struct gt_memory_block *y = *(const struct gt_memory_block *const *)b;

	if (x->place != y->place)
		return x->place < y->place ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->kind != y->kind ? x->kind - y->kind : (x < y ? -1 : x > y);
}

static int by_bytes(const void *a, const void *b)
{
	const struct gt_memory_place *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return x->first->from < y->first->from ? -1 : x->first->from > y->first->from;
}

static size_t choose(const struct gt_memory_use *use, bool at_peak,
		     const struct gt_memory_block **list)
{
	size_t count = 0;

	for (size_t i = 0; use->changes.count && i < use->blocks.count; i++) {
		const struct gt_memory_block *block = &use->blocks.at[i];

		if (at_peak ? gt_memory_is_there(block, use->peak)
			    : block->until == GT_MEMORY_ALIVE)
			list[count++] = block;
	}
	return count;
}

static size_t add_up(const struct gt_memory_block **list, size_t count,
		     struct gt_memory_place *places)
{
	size_t rows = 0;

	for (size_t i = 0; i < count; i++) {
		if (!i || !gt_memory_is_same_place(list[i], list[i - 1]))
			places[rows++] =
				(struct gt_memory_place){.first = list[i], .is_one_stack = true};
		places[rows - 1].bytes += list[i]->bytes;
		places[rows - 1].blocks++;
		places[rows - 1].is_one_stack &= list[i]->stack == places[rows - 1].first->stack;
	}
	return rows;
}

int gt_memory_places(const struct gt_memory_use *use, bool at_peak,
		     struct gt_memory_place **ret_places, size_t *ret_count)
{
	const struct gt_memory_block **list = calloc(use->blocks.count + 1, sizeof(*list));
	size_t count = list ? choose(use, at_peak, list) : 0;

	*ret_places = list ? calloc(count + 1, sizeof(**ret_places)) : NULL;
	*ret_count = 0;
	if (*ret_places) {
		qsort(list, count, sizeof(list[0]), by_place);
		*ret_count = add_up(list, count, *ret_places);
		qsort(*ret_places, *ret_count, sizeof(**ret_places), by_bytes);
	}
	free(list);
	return *ret_places ? 0 : -ENOMEM;
}
