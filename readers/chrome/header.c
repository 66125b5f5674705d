/* SPDX-License-Identifier: Apache-2.0
 *
 * See header.h. Any thread, one header at a time.
 */
#include "readers/chrome/header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readers/utf8.h"

void gt_header_fini(struct gt_header *header)
{
	for (size_t i = 0; i < header->device_count; i++) {
		free(header->devices[i].name);
		free(header->devices[i].uuid);
	}
	for (size_t i = 0; i < header->member_count; i++) {
		free(header->members[i].key);
		free(header->members[i].text);
	}
	free(header->devices);
	free(header->members);
	free(header->backend);
	*header = (struct gt_header){0};
}

/* Copies the text of a string; NULL: not a string, or no memory. */
static char *text_of(const struct gt_span *span)
{
	char *text = span->kind == GT_SPAN_STRING ? malloc(span->len + 1u) : NULL;

	if (text)
		text[gt_span_decode(span, text)] = 0;
	return text;
}

struct header_find {
	const char *key;
	struct gt_span value;
};

static bool is_key(const struct gt_span *key, const char *text)
{
	char *decoded;
	bool is;

	if (!key->escaped)
		return gt_span_is(key, text, strlen(text));
	decoded = text_of(key);
	is = decoded && !strcmp(decoded, text);
	free(decoded);
	return is;
}

static const char *take_first(struct gt_scan *scan, const struct gt_span *key, const char *value,
			      void *data)
{
	struct header_find *find = data;
	struct gt_span span;
	const char *next = gt_scan_value(scan, value, &span);

	if (next && find->value.kind == GT_SPAN_NONE && is_key(key, find->key))
		find->value = span;
	return next;
}

/* The first member with that key. Kind NONE: there is none, or @object is not an object. */
static struct gt_span find(const struct gt_span *object, const char *key)
{
	struct header_find find = {.key = key};
	struct gt_scan scan;

	if (object->kind != GT_SPAN_OBJECT)
		return find.value;
	scan = (struct gt_scan){.end = object->text + object->len};
	gt_scan_object(&scan, object->text, take_first, &find);
	return find.value;
}

/* Finds a number that is written as an integer. */
static bool find_int(const struct gt_span *object, const char *key, int64_t *ret_value)
{
	struct gt_span span = find(object, key);
	uint32_t i = span.len && span.text[0] == '-';

	if (span.kind != GT_SPAN_NUMBER)
		return false;
	while (i < span.len && span.text[i] >= '0' && span.text[i] <= '9')
		i++;
	return i == span.len && gt_span_int(&span, ret_value);
}

static void take_distributed(struct gt_header *header, const struct gt_span *object)
{
	struct gt_span backend = find(object, "backend");
	char *text = text_of(&backend);
	int64_t rank;

	if (find_int(object, "rank", &rank) && rank >= INT32_MIN && rank <= INT32_MAX) {
		header->has_rank = true;
		header->rank = rank;
	}
	find_int(object, "world_size", &header->world_size);
	if (text) {
		free(header->backend);
		header->backend = text;
	}
}

static void take_device(struct gt_header_device *device, const struct gt_span *object, size_t index)
{
	struct gt_span name = find(object, "name"), uuid = find(object, "uuid");

	*device = (struct gt_header_device){.id = (int64_t)index};
	find_int(object, "id", &device->id);
	find_int(object, "totalGlobalMem", &device->memory);
	find_int(object, "computeMajor", &device->major);
	find_int(object, "computeMinor", &device->minor);
	find_int(object, "numSms", &device->sms);
	device->name = name.kind == GT_SPAN_STRING ? text_of(&name) : strdup("");
	device->uuid = uuid.kind == GT_SPAN_STRING ? text_of(&uuid) : NULL;
}

static void take_devices(struct gt_header *header, const struct gt_span *array)
{
	struct gt_span element;
	uint32_t position = 0;
	size_t count = 0;

	while (gt_span_next(array, &position, &element))
		count++;
	if (!count || header->device_count)
		return;
	header->devices = calloc(count, sizeof(*header->devices));
	if (!header->devices)
		return;
	for (position = 0; gt_span_next(array, &position, &element); header->device_count++)
		take_device(&header->devices[header->device_count], &element, header->device_count);
}

/* Members that are parsed; the others are only kept as text. */
static const struct {
	const char *key;
	void (*take)(struct gt_header *header, const struct gt_span *value);
} known[] = {
	{"distributedInfo", take_distributed},
	{"deviceProperties", take_devices},
};

/* Values that the scanner accepts although they are not strict JSON (invalid UTF-8, NaN) are not
 * parsed: the events after them can still be read. */
static void take_known(struct gt_header *header, const char *key, const char *text)
{
	struct gt_scan scan = {.end = text + strlen(text)};
	struct gt_span value;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(key, known[i].key) && gt_utf8_is_valid(text, strlen(text)) &&
		    gt_scan_value(&scan, text, &value) && !scan.loose)
			known[i].take(header, &value);
}

int gt_header_add(struct gt_header *header, const struct gt_span *key, const struct gt_span *value,
		  bool behind)
{
	size_t n = header->member_count;
	size_t quotes = value->kind == GT_SPAN_STRING ? 1 : 0;
	struct gt_header_member member = {.behind = behind};
	void *bigger;

	if (!(n & (n + 1)) || !header->members) {
		bigger = realloc(header->members, (n * 2 + 2) * sizeof(*header->members));
		if (!bigger)
			return -ENOMEM;
		header->members = bigger;
	}
	member.key = strndup(key->text, key->len);
	/* padded for scanning: GT_INPUT_PADDING */
	member.text = calloc(1, value->len + 2 * quotes + GT_INPUT_PADDING);
	if (!member.key || !member.text) {
		free(member.key);
		free(member.text);
		return -ENOMEM;
	}
	memcpy(member.text, value->text - quotes, value->len + 2 * quotes);
	header->members[n] = member;
	header->member_count = n + 1;
	if (!strcmp(member.key, "baseTimeNanoseconds"))
		header->has_base = gt_span_int(value, &header->base_ns);
	take_known(header, member.key, member.text);
	return 0;
}

struct header_object {
	struct gt_header *header;
	bool behind;
	int rc;
};

static const char *add_member(struct gt_scan *scan, const struct gt_span *key, const char *value,
			      void *data)
{
	struct header_object *to = data;
	struct gt_span span;
	const char *next = gt_scan_value(scan, value, &span);

	if (next && !to->rc && !key->escaped && !gt_span_is(key, "traceEvents", 11))
		to->rc = gt_header_add(to->header, key, &span, to->behind);
	return next;
}

int gt_header_add_object(struct gt_header *header, const struct gt_span *object, bool behind)
{
	struct gt_scan scan = {.end = object->text + object->len};
	struct header_object to = {.header = header, .behind = behind};

	gt_scan_object(&scan, object->text, add_member, &to);
	return to.rc;
}

const char *gt_header_find(const struct gt_header *header, const char *key)
{
	for (size_t i = 0; i < header->member_count; i++)
		if (!strcmp(header->members[i].key, key))
			return header->members[i].text;
	return NULL;
}

static bool find_inside(const struct gt_header *header, const char *member, const char *key,
			struct gt_span *ret_value)
{
	const char *text = gt_header_find(header, member);
	struct gt_span object = {.text = text, .kind = GT_SPAN_OBJECT};

	if (!text || *text != '{')
		return false;
	object.len = (uint32_t)strlen(text);
	return gt_span_member(&object, key, ret_value);
}

bool gt_header_span(const struct gt_header *header, const char *key, char **ret_copy,
		    struct gt_span *ret_span)
{
	const char *text = gt_header_find(header, key);
	size_t size = text ? strlen(text) : 0;
	struct gt_scan scan;

	*ret_copy = text ? calloc(1, size + GT_INPUT_PADDING) : NULL;
	if (!*ret_copy)
		return false;
	memcpy(*ret_copy, text, size);
	scan = (struct gt_scan){.end = *ret_copy + size};
	return gt_scan_value(&scan, *ret_copy, ret_span) != NULL;
}

bool gt_header_int(const struct gt_header *header, const char *member, const char *key,
		   int64_t *ret_value)
{
	struct gt_span value;

	return find_inside(header, member, key, &value) && gt_span_int(&value, ret_value);
}

bool gt_header_has_option(const struct gt_header *header, const char *option)
{
	char text[4096], *rest = text, *word;

	if (!gt_header_text(header, "metadata", "options", text, sizeof(text)))
		return false;
	while ((word = strtok_r(rest, " ", &rest)))
		if (!strcmp(word, option))
			return true;
	return false;
}

bool gt_header_is_asked_for(const struct gt_header *header, enum gt_ledger_key key)
{
	static const struct {
		enum gt_ledger_key key;
		const char *option;
	} rows[] = {
		{GT_LEDGER_OPS_UNLINKED, "api=none"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].key == key && gt_header_has_option(header, rows[i].option))
			return true;
	return false;
}

bool gt_header_text(const struct gt_header *header, const char *member, const char *key,
		    char *ret_text, size_t size)
{
	struct gt_span value;

	if (!find_inside(header, member, key, &value) || value.kind != GT_SPAN_STRING ||
	    value.len >= size)
		return false;
	ret_text[gt_span_decode(&value, ret_text)] = 0;
	return true;
}
