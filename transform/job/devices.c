/* SPDX-License-Identifier: Apache-2.0
 *
 * The devices of a merged trace, see the header.
 */
#include "transform/job/devices.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* The named device at or behind *@position of a file's list, with its number. */
static bool next_device(const struct gt_span *list, uint32_t *position,
			struct gt_merge_device *ret_device)
{
	struct gt_span span;

	if (list->kind != GT_SPAN_ARRAY)
		return false;
	while (gt_span_next(list, position, &ret_device->text)) {
		ret_device->id++;
		if (ret_device->text.kind != GT_SPAN_OBJECT)
			continue;
		if (gt_span_member(&ret_device->text, "id", &span))
			gt_span_int(&span, &ret_device->id);
		if (ret_device->id >= 0 && ret_device->id < GT_MERGE_DEVICES &&
		    gt_span_member(&ret_device->text, "name", &span) &&
		    !gt_span_is(&span, "unknown", 7))
			return true;
	}
	return false;
}

static bool has_device(const struct gt_merge_devices *devices, int64_t id)
{
	for (size_t i = 0; i < devices->list.count; i++)
		if (devices->list.at[i].id == id)
			return true;
	return false;
}

int gt_merge_devices_take(struct gt_merge_devices *devices, const struct gt_span *list,
			  int64_t (*number)(void *context, int64_t id), void *context)
{
	struct gt_merge_device device = {.id = -1};
	uint32_t position = 0;
	size_t count = 0;

	while (next_device(list, &position, &device))
		count++;
	for (position = 0, device.id = -1; next_device(list, &position, &device);) {
		struct gt_merge_device merged = device;

		if (count == 1)
			merged.id = number(context, device.id);
		if (!has_device(devices, merged.id) && !gt_vec_push(&devices->list, merged))
			return -ENOMEM;
	}
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct gt_merge_device *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static void put_device(FILE *out, const struct gt_merge_device *device)
{
	const struct gt_span *text = &device->text;
	struct gt_span id = {.text = text->text + 1};

	if (gt_span_member(text, "id", &id))
		fprintf(out, "%.*s%" PRId64, (int)(id.text - text->text), text->text, device->id);
	else
		fprintf(out, "{\"id\": %" PRId64 ", ", device->id);
	fwrite(id.text + id.len, 1, (size_t)(text->text + text->len - id.text - id.len), out);
}

void gt_merge_devices_put(struct gt_merge_devices *devices, FILE *out)
{
	int64_t place = 0;

	if (devices->list.count)
		qsort(devices->list.at, devices->list.count, sizeof(devices->list.at[0]), by_id);
	fputs("\"deviceProperties\": [", out);
	for (size_t i = 0; i < devices->list.count; place++) {
		fputs(place ? ", " : "", out);
		if (place == devices->list.at[i].id)
			put_device(out, &devices->list.at[i++]);
		else
			fprintf(out, "{\"id\": %" PRId64 ", \"name\": \"unknown\"}", place);
	}
	fputs("],\n", out);
}
