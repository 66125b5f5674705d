/* SPDX-License-Identifier: Apache-2.0
 *
 * See batch.h.
 */
#include "transform/arrow/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readers/utf8.h"

/* ---- values ---- */

static bool put_bit(struct gt_arrow_batch *batch, uint8_t **bits, size_t *count, size_t *room,
		    bool value)
{
	size_t byte = (size_t)batch->rows / 8;

	if (*count <= byte) {
		if (!gt_vec_reserve((void **)bits, room, *count, 1))
			return false;
		(*bits)[(*count)++] = 0;
	}
	(*bits)[byte] |= (uint8_t)(value << batch->rows % 8);
	return true;
}

#define PUT_BIT(batch, vec, value) put_bit(batch, &(vec)->at, &(vec)->count, &(vec)->room, value)

static bool put_bytes(struct gt_arrow_values *values, const void *data, size_t size)
{
	while (values->data.room < values->data.count + size) {
		size_t room = values->data.room * 2 + size + 64;
		uint8_t *bigger = realloc(values->data.at, room);

		if (!bigger)
			return false;
		values->data.at = bigger;
		values->data.room = room;
	}
	if (size)
		memcpy(values->data.at + values->data.count, data, size);
	values->data.count += size;
	return true;
}

/* Behind the value itself. */
static void end_value(struct gt_arrow_batch *batch, bool is_known, bool was_put)
{
	struct gt_arrow_values *values = &batch->values[batch->filled];

	if (*batch->columns[batch->filled].format == 'U')
		was_put &= gt_vec_push(&values->offsets, (int64_t)values->data.count);
	was_put &= PUT_BIT(batch, &values->validity, is_known);
	values->nulls += !is_known;
	batch->is_short |= !was_put;
	batch->filled = (batch->filled + 1) % batch->width;
	batch->rows += !batch->filled;
}

static struct gt_arrow_values *current(struct gt_arrow_batch *batch)
{
	return &batch->values[batch->filled];
}

void gt_arrow_put_int(struct gt_arrow_batch *batch, int64_t value)
{
	end_value(batch, true, put_bytes(current(batch), &value, sizeof(value)));
}

void gt_arrow_put_real(struct gt_arrow_batch *batch, double value)
{
	end_value(batch, true, put_bytes(current(batch), &value, sizeof(value)));
}

void gt_arrow_put_bool(struct gt_arrow_batch *batch, bool value)
{
	end_value(batch, true, PUT_BIT(batch, &current(batch)->data, value));
}

static size_t valid_bytes(const char *text, size_t left)
{
	size_t valid = 0, length;

	while (valid < left &&
	       (length = gt_utf8_length((const unsigned char *)text + valid, left - valid)))
		valid += length;
	return valid;
}

void gt_arrow_put_text(struct gt_arrow_batch *batch, const char *text)
{
	size_t left = strlen(text);
	bool was_put = true;

	while (was_put && left) {
		size_t valid = valid_bytes(text, left);

		was_put = put_bytes(current(batch), text, valid);
		text += valid;
		left -= valid;
		if (!left)
			break;
		was_put &= put_bytes(current(batch), "\xef\xbf\xbd", 3);
		text++;
		left--;
	}
	end_value(batch, true, was_put);
}

void gt_arrow_put_none(struct gt_arrow_batch *batch)
{
	static const int64_t nothing;
	bool was_put = true;

	switch (*batch->columns[batch->filled].format) {
	case 'U':
		break;
	case 'b':
		was_put = PUT_BIT(batch, &current(batch)->data, false);
		break;
	default:
		was_put = put_bytes(current(batch), &nothing, sizeof(nothing));
	}
	end_value(batch, false, was_put);
}

/* ---- a batch ---- */

int gt_arrow_batch_init(struct gt_arrow_batch *batch, const struct gt_arrow_column *columns,
			size_t width)
{
	*batch = (struct gt_arrow_batch){.columns = columns,
					 .width = width,
					 .values = calloc(width, sizeof(*batch->values))};
	if (!batch->values)
		return -ENOMEM;
	for (size_t i = 0; i < width; i++)
		if (*columns[i].format == 'U' && !gt_vec_push(&batch->values[i].offsets, 0))
			return -ENOMEM;
	return 0;
}

void gt_arrow_batch_fini(struct gt_arrow_batch *batch)
{
	for (size_t i = 0; batch->values && i < batch->width; i++) {
		gt_vec_free(&batch->values[i].data);
		gt_vec_free(&batch->values[i].offsets);
		gt_vec_free(&batch->values[i].validity);
	}
	free(batch->values);
	*batch = (struct gt_arrow_batch){0};
}

/* ---- as the interface has it ---- */

static void release_array(struct ArrowArray *array)
{
	for (int64_t i = 0; i < array->n_children; i++) {
		struct ArrowArray *child = array->children[i];

		if (child && child->release)
			child->release(child);
		free(child);
	}
	for (int64_t i = 0; array->buffers && i < array->n_buffers; i++)
		free((void *)array->buffers[i]);
	free(array->children);
	free(array->buffers);
	array->release = NULL;
}

static int give_column(struct gt_arrow_values *values, bool is_text, int64_t rows,
		       struct ArrowArray *out)
{
	size_t count = is_text ? 3 : 2, n = 0;

	*out = (struct ArrowArray){.length = rows,
				   .null_count = values->nulls,
				   .buffers = calloc(count, sizeof(*out->buffers))};
	if (!out->buffers)
		return ENOMEM;
	out->release = release_array;
	out->n_buffers = (int64_t)count;
	out->buffers[n++] = values->validity.at;
	if (is_text)
		out->buffers[n++] = values->offsets.at;
	/* a column of empty texts has no bytes, and some readers want a buffer all the same */
	out->buffers[n] = values->data.at ? values->data.at : calloc(1, 8);
	*values = (struct gt_arrow_values){0};
	return out->buffers[n] ? 0 : ENOMEM;
}

int gt_arrow_batch_give(struct gt_arrow_batch *batch, struct ArrowArray *out)
{
	int rc = 0;

	*out = (struct ArrowArray){
		.length = batch->rows,
		.n_buffers = 1,
		.n_children = (int64_t)batch->width,
		.buffers = calloc(1, sizeof(*out->buffers)),
		.children = calloc(batch->width, sizeof(*out->children)),
		.release = release_array,
	};
	if (!out->buffers || !out->children)
		rc = ENOMEM;
	for (size_t i = 0; !rc && i < batch->width; i++) {
		out->children[i] = calloc(1, sizeof(**out->children));
		rc = out->children[i]
			     ? give_column(&batch->values[i], *batch->columns[i].format == 'U',
					   batch->rows, out->children[i])
			     : ENOMEM;
	}
	if (rc && !out->children)
		out->n_children = 0;
	if (rc)
		release_array(out);
	gt_arrow_batch_fini(batch);
	return rc;
}

static void release_schema(struct ArrowSchema *schema)
{
	for (int64_t i = 0; i < schema->n_children; i++) {
		struct ArrowSchema *child = schema->children[i];

		if (child && child->release)
			child->release(child);
		free(child);
	}
	free(schema->children);
	schema->release = NULL;
}

int gt_arrow_schema(const struct gt_arrow_column *columns, size_t width, struct ArrowSchema *out)
{
	*out = (struct ArrowSchema){.format = "+s",
				    .name = "",
				    .n_children = (int64_t)width,
				    .children = calloc(width, sizeof(*out->children)),
				    .release = release_schema};
	if (!out->children) {
		out->release = NULL;
		return ENOMEM;
	}
	for (size_t i = 0; i < width; i++) {
		out->children[i] = calloc(1, sizeof(**out->children));
		if (!out->children[i]) {
			release_schema(out);
			return ENOMEM;
		}
		*out->children[i] =
			(struct ArrowSchema){.format = columns[i].format,
					     .name = columns[i].name,
					     .flags = columns[i].may_lack ? ARROW_FLAG_NULLABLE : 0,
					     .release = release_schema};
	}
	return 0;
}
