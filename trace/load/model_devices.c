/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of each device of a model that is being loaded. One thread.
 */
#include <errno.h>
#include <stdlib.h>

#include "readers/keymap.h"
#include "trace/load/model_build.h"

static bool are_sorted(const struct gt_model *model)
{
	size_t i = 1;

	while (i < model->devices.count &&
	       model->devices.at[i - 1].device < model->devices.at[i].device)
		i++;
	return i >= model->devices.count;
}

static int by_number(const void *a, const void *b)
{
	const struct gt_device_track *x = a, *y = b;

	return x->device < y->device ? -1 : x->device > y->device;
}

/* Counts each device's operations. */
static int count_ops(struct gt_model *model, struct gt_keymap *place_of)
{
	struct gt_device_track *last = NULL;

	for (size_t i = 0; i < model->ops.count; i++) {
		uint16_t device = gt_model_op_traits(model, i)->device;
		struct gt_keymap_entry *place;

		if (last && last->device == device) {
			last->count++;
			continue;
		}
		place = gt_keymap_get(place_of, (uint64_t)device + 1);
		if (!place)
			return -ENOMEM;
		if (!place->value) {
			if (!gt_vec_push(&model->devices,
					 ((struct gt_device_track){.device = device})))
				return -ENOMEM;
			place->value = (int64_t)model->devices.count;
		}
		last = &model->devices.at[place->value - 1];
		last->count++;
	}
	return 0;
}

/* Each device's operations stand together, in their order; those of the only one do so anyway. */
static int place_ops(struct gt_model *model, struct gt_keymap *place_of)
{
	uint32_t first = 0;

	if (model->devices.count < 2)
		return 0;
	model->device_ops = malloc((model->ops.count + 1) * sizeof(*model->device_ops));
	if (!model->device_ops)
		return -ENOMEM;
	if (!are_sorted(model))
		qsort(model->devices.at, model->devices.count, sizeof(*model->devices.at),
		      by_number);
	for (size_t i = 0; i < model->devices.count; i++) {
		struct gt_device_track *track = &model->devices.at[i];

		track->first = first;
		first += track->count;
		gt_keymap_get(place_of, (uint64_t)track->device + 1)->value = track->first;
	}
	for (uint32_t i = 0; i < model->ops.count; i++) {
		uint64_t key = (uint64_t)gt_model_op_traits(model, i)->device + 1;

		model->device_ops[gt_keymap_get(place_of, key)->value++] = i;
	}
	return 0;
}

int gt_build_devices(struct gt_model *model)
{
	struct gt_keymap place_of = {0};
	int rc = count_ops(model, &place_of);

	if (!rc)
		rc = place_ops(model, &place_of);
	gt_keymap_fini(&place_of);
	return rc;
}
