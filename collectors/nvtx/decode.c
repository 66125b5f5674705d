/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns payloads into text by their schemas, see the header. Drain thread. Neither the schema nor
 * the data is trusted: every offset is checked against the bytes copied, every loop has a limit.
 */
#include "collectors/nvtx/payload.h"

#include <string.h>

#include "collectors/nvtx/number.h"
#include "collectors/nvtx/registry.h"
#include "collectors/nvtx/value.h"

#define DEPTH_MAX 4u
#define ARRAY_MAX 16u
#define STEPS_MAX 4096u /* values read per event, at any depth */

/* One payload with its schema and limits. */
struct view {
	uint32_t domain;
	const char *data;
	size_t size;
	const char *strings;
	size_t string_bytes;
	struct gt_nvtx_decoded *decoded;
	uint32_t *steps; /* left */
};

/* ---- types and strings ---- */

static size_t width_of(const struct view *view, uint64_t type)
{
	const struct gt_nvtx_schema *schema;
	const struct gt_nvtx_enum *e;

	if (type < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START)
		return gt_nvtx_type_size(type);
	e = gt_nvtx_enum_find(view->domain, type);
	if (e)
		return e->size <= 8 ? e->size : 0;
	schema = gt_nvtx_schema_find(view->domain, type);
	return schema ? schema->static_size : 0;
}

/* The string that was copied with the payload for the pointer at @place. */
static bool put_pointed(struct gt_nvtx_out *out, const struct view *view, size_t place)
{
	size_t at = 0;
	uint16_t head[2];

	while (at + sizeof(head) <= view->string_bytes) {
		memcpy(head, view->strings + at, sizeof(head));
		at += sizeof(head);
		if (head[1] > view->string_bytes - at)
			return false;
		if (head[0] == place) {
			gt_nvtx_put(out, view->strings + at, head[1]);
			return true;
		}
		at += head[1];
	}
	return false;
}

/* ---- entries ---- */

/* State of a walk through a schema. */
struct decode_walk {
	const struct view *view;
	const struct gt_nvtx_schema *schema;
	size_t base, at; /* of the schema's data, of the next entry */
	uint32_t depth;
	size_t place[GT_NVTX_ENTRIES_MAX]; /* of the entries so far */
};

static void put_schema(struct gt_nvtx_out *out, const struct view *view,
		       const struct gt_nvtx_schema *schema, size_t base, uint32_t depth,
		       size_t *ret_end);

static bool fits(const struct view *view, size_t at, size_t size)
{
	return at <= view->size && size <= view->size - at;
}

/* The whole number in the earlier entry @index. */
static bool number_of(const struct decode_walk *walk, uint64_t index, uint32_t current,
		      uint64_t *ret)
{
	size_t width;

	if (index >= current)
		return false;
	width = width_of(walk->view, walk->schema->entries[index].type);
	if (!width || width > 8 || !fits(walk->view, walk->place[index], width))
		return false;
	*ret = gt_nvtx_load(walk->view->data + walk->place[index], width);
	return true;
}

static void put_value(struct gt_nvtx_out *out, struct decode_walk *walk, uint64_t type, size_t *at)
{
	const struct view *view = walk->view;
	const struct gt_nvtx_enum *e = gt_nvtx_enum_find(view->domain, type);
	const struct gt_nvtx_schema *schema = gt_nvtx_schema_find(view->domain, type);
	size_t width = width_of(view, type);

	if (!*view->steps || --*view->steps == 0) {
		*at = view->size;
		return;
	}
	if (schema && walk->depth < DEPTH_MAX) {
		size_t end = *at;

		gt_nvtx_put_cstr(out, "{");
		put_schema(out, view, schema, *at, walk->depth + 1, &end);
		gt_nvtx_put_cstr(out, "}");
		*at = schema->static_size ? *at + schema->static_size : end;
		return;
	}
	if (!width || !fits(view, *at, width)) {
		gt_nvtx_put_cstr(out, "?");
		*at = view->size;
		return;
	}
	if (e)
		gt_nvtx_put_enum(out, e, gt_nvtx_load(view->data + *at, width));
	else if (gt_nvtx_type_size(type))
		gt_nvtx_put_scalar(out, type, view->data + *at);
	else
		gt_nvtx_put_hex(out, view->data + *at, width);
	*at += width;
}

/* The number of elements of an array. */
static bool length_of(const struct decode_walk *walk, uint32_t i, uint64_t *ret_length)
{
	const struct gt_nvtx_entry *entry = &walk->schema->entries[i];

	switch (NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags)) {
	case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_INDEX:
		return number_of(walk, entry->detail, i, ret_length);
	case NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED:
		*ret_length = UINT64_MAX;
		return true;
	default:
		*ret_length = entry->detail;
		return true;
	}
}

static bool is_zero(const struct decode_walk *walk, uint64_t type, size_t at)
{
	size_t width = width_of(walk->view, type);

	if (!width || width > 8 || !fits(walk->view, at, width))
		return true;
	return gt_nvtx_load(walk->view->data + at, width) == 0;
}

/* Skips elements that are not shown, up to the end of what was copied. */
static size_t pass_elements(const struct view *view, size_t width, uint64_t count, size_t at)
{
	return width && at < view->size && count <= (view->size - at) / width ? at + count * width
									      : view->size;
}

/* Skips the zero that ends an array. */
static size_t pass_terminator(const struct decode_walk *walk, uint64_t type, size_t at)
{
	size_t width = width_of(walk->view, type);

	while (!is_zero(walk, type, at))
		at += width;
	return width && width <= 8 && fits(walk->view, at, width) ? at + width : walk->view->size;
}

static void put_array(struct gt_nvtx_out *out, struct decode_walk *walk, uint32_t i, size_t *at)
{
	const struct gt_nvtx_entry *entry = &walk->schema->entries[i];
	size_t width = width_of(walk->view, entry->type);
	uint64_t length = 0, n;

	gt_nvtx_put_cstr(out, "[");
	if (!length_of(walk, i, &length))
		length = 0;
	for (n = 0; n < length && n < ARRAY_MAX && *at < walk->view->size; n++) {
		if (length == UINT64_MAX && is_zero(walk, entry->type, *at))
			break;
		if (n)
			gt_nvtx_put_cstr(out, ",");
		put_value(out, walk, entry->type, at);
	}
	if (n < length && length != UINT64_MAX) {
		gt_nvtx_put_cstr(out, n ? ",..." : "...");
		*at = pass_elements(walk->view, width, length - n, *at);
	}
	if (length == UINT64_MAX)
		*at = pass_terminator(walk, entry->type, *at);
	gt_nvtx_put_cstr(out, "]");
}

/* Embedded text, with a length of some kind. */
static void put_text(struct gt_nvtx_out *out, struct decode_walk *walk, uint32_t i, size_t *at)
{
	const struct gt_nvtx_entry *entry = &walk->schema->entries[i];
	size_t unit = gt_nvtx_text_unit(entry->type);
	uint64_t length = 0, most = (walk->view->size - *at) / unit;

	if (!length_of(walk, i, &length) || length > most)
		length = most;
	gt_nvtx_put_units(out, entry->type, walk->view->data + *at, length);
	if (NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags) ==
	    NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_ZERO_TERMINATED)
		for (uint64_t n = 0; n < length; n++)
			if (!gt_nvtx_load(walk->view->data + *at + n * unit, unit))
				length = n + 1;
	*at += length * unit;
}

static void put_pointer(struct gt_nvtx_out *out, struct decode_walk *walk, size_t *at)
{
	if (!fits(walk->view, *at, sizeof(uint64_t))) {
		gt_nvtx_put_cstr(out, "?");
		*at = walk->view->size;
		return;
	}
	if (!put_pointed(out, walk->view, *at))
		gt_nvtx_put_address(out, gt_nvtx_load(walk->view->data + *at, sizeof(uint64_t)));
	*at += sizeof(uint64_t);
}

static const struct gt_nvtx_schema *union_of(const struct decode_walk *walk, uint32_t i)
{
	const struct gt_nvtx_schema *schema =
		gt_nvtx_schema_find(walk->view->domain, walk->schema->entries[i].type);

	return schema && schema->type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION ? schema : NULL;
}

/* The union member that another entry selects. */
static void put_union(struct gt_nvtx_out *out, struct decode_walk *walk, uint32_t i, size_t *at)
{
	const struct gt_nvtx_schema *members = union_of(walk, i);
	size_t inside = *at;
	uint64_t member;

	if (number_of(walk, walk->schema->entries[i].detail, i, &member) && member < members->count)
		put_value(out, walk, members->entries[member].type, &inside);
	else
		gt_nvtx_put_cstr(out, "?");
	*at += members->static_size;
}

static void put_entry_value(struct gt_nvtx_out *out, struct decode_walk *walk, uint32_t i,
			    size_t *at)
{
	const struct gt_nvtx_entry *entry = &walk->schema->entries[i];
	uint64_t array = NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags);

	if (gt_nvtx_is_pointer(entry))
		put_pointer(out, walk, at);
	else if (gt_nvtx_is_text(entry->type))
		put_text(out, walk, i, at);
	else if (array)
		put_array(out, walk, i, at);
	else if (union_of(walk, i) && walk->depth < DEPTH_MAX)
		put_union(out, walk, i, at);
	else
		put_value(out, walk, entry->type, at);
}

static size_t place_of(const struct decode_walk *walk, uint32_t i)
{
	const struct gt_nvtx_entry *entry = &walk->schema->entries[i];
	size_t align = gt_nvtx_alignment(walk->view->domain, walk->schema, entry);

	if (entry->offset)
		return entry->offset < walk->view->size - walk->base ? walk->base + entry->offset
								     : walk->view->size;
	return walk->base + ((walk->at - walk->base + align - 1) & ~(align - 1));
}

static void read_time(const struct decode_walk *walk, const struct gt_nvtx_entry *entry, size_t at)
{
	struct gt_nvtx_decoded *decoded = walk->view->decoded;
	uint64_t role = entry->flags & (3u << 12);
	int64_t time;

	if (!(entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP) || !fits(walk->view, at, 8) ||
	    width_of(walk->view, entry->type) != 8)
		return;
	time = (int64_t)gt_nvtx_load(walk->view->data + at, 8);
	if (role != NVTX_PAYLOAD_ENTRY_FLAG_RANGE_END)
		decoded->begin = time;
	if (role != NVTX_PAYLOAD_ENTRY_FLAG_RANGE_BEGIN)
		decoded->end = time;
	decoded->has_times = true;
}

/* The message of the event becomes its name. */
static bool read_message(struct decode_walk *walk, uint32_t i, size_t *at)
{
	struct gt_nvtx_decoded *decoded = walk->view->decoded;
	uint64_t flags = walk->schema->entries[i].flags;
	struct gt_nvtx_out out = {decoded->message, decoded->message,
				  decoded->message + sizeof(decoded->message) - 1};

	/* TIMESTAMP is the bit next to it */
	if (!(flags & NVTX_PAYLOAD_ENTRY_FLAG_EVENT_MESSAGE) || *decoded->message)
		return false;
	put_entry_value(&out, walk, i, at);
	*out.at = 0;
	return true;
}

static void put_entry(struct gt_nvtx_out *out, struct decode_walk *walk, uint32_t i, bool *any)
{
	const struct gt_nvtx_entry *entry = &walk->schema->entries[i];

	read_time(walk, entry, walk->at);
	if (read_message(walk, i, &walk->at))
		return;
	if (*any)
		gt_nvtx_put_cstr(out, " ");
	*any = true;
	if (*entry->name) {
		gt_nvtx_put_cstr(out, entry->name);
		gt_nvtx_put_cstr(out, "=");
	}
	put_entry_value(out, walk, i, &walk->at);
}

/* A union with an inner selector: finds the number of the selected member. */
static void put_inner_union(struct gt_nvtx_out *out, struct decode_walk *walk)
{
	const struct gt_nvtx_schema *schema = walk->schema;
	uint64_t member = schema->count;
	size_t at = walk->base;

	for (uint32_t i = 0; i < schema->count; i++)
		if (schema->entries[i].type == NVTX_PAYLOAD_ENTRY_TYPE_UNION_SELECTOR &&
		    fits(walk->view, walk->base + schema->entries[i].offset, 4))
			member = gt_nvtx_load(
				walk->view->data + walk->base + schema->entries[i].offset, 4);
	if (member >= schema->count || schema->entries[member].offset > walk->view->size - at) {
		gt_nvtx_put_cstr(out, "?");
		return;
	}
	at += schema->entries[member].offset;
	put_value(out, walk, schema->entries[member].type, &at);
}

static void put_schema(struct gt_nvtx_out *out, const struct view *view,
		       const struct gt_nvtx_schema *schema, size_t base, uint32_t depth,
		       size_t *ret_end)
{
	struct decode_walk walk = {
		.view = view, .schema = schema, .base = base, .at = base, .depth = depth};
	bool any = false;

	if (base > view->size)
		return;
	if (schema->type == NVTX_PAYLOAD_SCHEMA_TYPE_UNION_WITH_INTERNAL_SELECTOR) {
		put_inner_union(out, &walk);
		return;
	}
	for (uint32_t i = 0; i < schema->count; i++) {
		walk.at = place_of(&walk, i);
		if (walk.at >= view->size)
			break;
		walk.place[i] = walk.at;
		if (schema->entries[i].flags & NVTX_PAYLOAD_ENTRY_FLAG_HIDE) {
			char none[1];
			struct gt_nvtx_out nowhere = {none, none, none};

			put_entry(&nowhere, &walk, i, &(bool){false});
			continue;
		}
		put_entry(out, &walk, i, &any);
	}
	*ret_end = walk.at;
}

/* ---- blobs ---- */

/* The next blob; false at the end or where the bytes are malformed. */
static bool next_blob(const char *data, size_t size, size_t *at, struct gt_nvtx_blob *ret_blob,
		      struct view *view)
{
	size_t left = size - *at, padded;

	if (*at >= size || left < sizeof(*ret_blob))
		return false;
	memcpy(ret_blob, data + *at, sizeof(*ret_blob));
	left -= sizeof(*ret_blob);
	padded = ((size_t)ret_blob->size + 7) & ~(size_t)7;
	if (padded > left || ret_blob->strings > left - padded)
		return false;
	view->data = data + *at + sizeof(*ret_blob);
	view->size = ret_blob->size;
	view->strings = view->data + padded;
	view->string_bytes = ret_blob->strings;
	*at += sizeof(*ret_blob) + ((padded + ret_blob->strings + 7) & ~(size_t)7);
	return true;
}

static void put_blob(struct gt_nvtx_out *out, const struct view *view, uint64_t id)
{
	const struct gt_nvtx_schema *schema = gt_nvtx_schema_find(view->domain, id);
	const struct gt_nvtx_enum *e = gt_nvtx_enum_find(view->domain, id);
	size_t width = width_of(view, id), end;

	if (!view->size)
		return;
	if (schema)
		put_schema(out, view, schema, 0, 0, &end);
	else if (gt_nvtx_is_text(id))
		gt_nvtx_put_units(out, id, view->data, view->size / gt_nvtx_text_unit(id));
	else if (e && width && width <= view->size)
		gt_nvtx_put_enum(out, e, gt_nvtx_load(view->data, width));
	else if (width && width <= view->size)
		gt_nvtx_put_scalar(out, id, view->data);
	else
		gt_nvtx_put_hex(out, view->data, view->size);
}

static const char *name_of(uint32_t domain, uint64_t id)
{
	struct gt_nvtx_key key = {
		.kind = GT_NVTX_SCHEMA, .domain = domain, .number = id, .text = ""};
	const struct gt_nvtx_object *object = gt_nvtx_find(&key);

	return object && object->length ? object->text : NULL;
}

void gt_nvtx_decode(uint32_t domain, const char *data, size_t size,
		    struct gt_nvtx_decoded *ret_decoded)
{
	struct gt_nvtx_decoded *d = ret_decoded;
	struct gt_nvtx_out out = {d->text, d->text, d->text + sizeof(d->text) - 1};
	uint32_t steps = STEPS_MAX;
	struct view view = {.domain = domain, .decoded = d, .steps = &steps};
	struct gt_nvtx_blob blob;
	size_t at = 0;

	*d = (struct gt_nvtx_decoded){0};
	while (next_blob(data, size, &at, &blob, &view)) {
		if (out.at != out.begin)
			gt_nvtx_put_cstr(&out, " ");
		else
			d->schema_name = name_of(domain, blob.schema);
		put_blob(&out, &view, blob.schema);
	}
	*out.at = 0;
}

/* A value of an enumeration. */
static bool decode_enum(const struct view *view, uint64_t type, size_t at,
			struct gt_nvtx_number *ret_number)
{
	const struct gt_nvtx_enum *e = gt_nvtx_enum_find(view->domain, type);

	if (!e || !e->size || e->size > 8 || !fits(view, at, e->size))
		return false;
	ret_number->type = type;
	ret_number->is_enum = true;
	ret_number->is_real = false;
	ret_number->integer = (int64_t)gt_nvtx_load(view->data + at, e->size);
	return true;
}

static void each_of_schema(const struct view *view, const struct gt_nvtx_schema *schema,
			   void (*each)(void *, const struct gt_nvtx_number *), void *context)
{
	struct decode_walk walk = {.view = view, .schema = schema};
	struct gt_nvtx_number number;
	char none[1];

	for (uint32_t i = 0; i < schema->count; i++) {
		const struct gt_nvtx_entry *entry = &schema->entries[i];
		struct gt_nvtx_out nowhere = {none, none, none};

		walk.at = place_of(&walk, i);
		if (walk.at >= view->size)
			return;
		walk.place[i] = walk.at;
		number.name = entry->name;
		if (!NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags) &&
		    !(entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_TIMESTAMP) &&
		    (gt_nvtx_decode_number(entry->type, view->data + walk.at, view->size - walk.at,
					   &number) ||
		     decode_enum(view, entry->type, walk.at, &number)))
			each(context, &number);
		put_entry_value(&nowhere, &walk, i, &walk.at);
	}
}

void gt_nvtx_decode_numbers(uint32_t domain, const char *data, size_t size,
			    void (*each)(void *context, const struct gt_nvtx_number *number),
			    void *context)
{
	struct gt_nvtx_decoded unused = {0};
	uint32_t steps = STEPS_MAX;
	struct view view = {.domain = domain, .decoded = &unused, .steps = &steps};
	struct gt_nvtx_number number = {.name = ""};
	struct gt_nvtx_blob blob;
	size_t at = 0;

	while (next_blob(data, size, &at, &blob, &view)) {
		const struct gt_nvtx_schema *schema = gt_nvtx_schema_find(domain, blob.schema);

		if (schema)
			each_of_schema(&view, schema, each, context);
		else if (gt_nvtx_decode_number(blob.schema, view.data, view.size, &number))
			each(context, &number);
	}
}
