/* SPDX-License-Identifier: Apache-2.0
 *
 * See header.h. Any thread, one header at a time.
 */
#include "readers/chrome/header.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_tree.h>

void gt_header_fini(struct gt_header *header)
{
	for (size_t i = 0; i < header->device_count; i++)
		free(header->devices[i].name);
	for (size_t i = 0; i < header->member_count; i++) {
		free(header->members[i].key);
		free(header->members[i].text);
	}
	free(header->devices);
	free(header->members);
	free(header->backend);
	*header = (struct gt_header){0};
}

static yajl_val find(yajl_val node, const char *key)
{
	const char *path[] = {key, NULL};

	return yajl_tree_get(node, path, yajl_t_any);
}

static bool find_int(yajl_val node, const char *key, int64_t *ret_value)
{
	yajl_val value = find(node, key);

	if (!YAJL_IS_INTEGER(value))
		return false;
	*ret_value = YAJL_GET_INTEGER(value);
	return true;
}

static void take_distributed(struct gt_header *header, yajl_val node)
{
	const char *backend = YAJL_GET_STRING(find(node, "backend"));

	header->has_rank |= find_int(node, "rank", &header->rank);
	find_int(node, "world_size", &header->world_size);
	if (backend) {
		free(header->backend);
		header->backend = strdup(backend);
	}
}

static void take_device(struct gt_header_device *device, yajl_val node, size_t index)
{
	const char *name = YAJL_GET_STRING(find(node, "name"));

	*device = (struct gt_header_device){.id = (int64_t)index};
	find_int(node, "id", &device->id);
	find_int(node, "totalGlobalMem", &device->memory);
	find_int(node, "computeMajor", &device->major);
	find_int(node, "computeMinor", &device->minor);
	find_int(node, "numSms", &device->sms);
	device->name = strdup(name ? name : "");
}

static void take_devices(struct gt_header *header, yajl_val node)
{
	if (!YAJL_IS_ARRAY(node) || header->device_count || !node->u.array.len)
		return;
	header->devices = calloc(node->u.array.len, sizeof(*header->devices));
	if (!header->devices)
		return;
	header->device_count = node->u.array.len;
	for (size_t i = 0; i < header->device_count; i++)
		take_device(&header->devices[i], node->u.array.values[i], i);
}

/* Which members mean something to the analysis; the others are only kept. */
static const struct {
	const char *key;
	void (*take)(struct gt_header *header, yajl_val node);
} known[] = {
	{"distributedInfo", take_distributed},
	{"deviceProperties", take_devices},
};

/* What yajl refuses although the scanner took it (text that is not UTF-8, NaN) stays unknown: the
 * events behind it can be read all the same. */
static void take_known(struct gt_header *header, const char *key, const char *text)
{
	char why[256];
	yajl_val node;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (strcmp(key, known[i].key))
			continue;
		node = yajl_tree_parse(text, why, sizeof(why));
		if (!node)
			return;
		known[i].take(header, node);
		yajl_tree_free(node);
	}
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
	/* it will be scanned: see GT_INPUT_PADDING */
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

/* The option as metadata.options has it. */
static bool has_option(const struct gt_header *header, const char *option)
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
		if (rows[i].key == key && has_option(header, rows[i].option))
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
