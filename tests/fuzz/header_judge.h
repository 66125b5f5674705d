/* SPDX-License-Identifier: Apache-2.0
 *
 * What readers/chrome/header.c has to make of a member of the header, by a parser that is not the
 * project's.
 */
#ifndef GT_TESTS_FUZZ_HEADER_JUDGE_H
#define GT_TESTS_FUZZ_HEADER_JUDGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <yajl/yajl_tree.h>

#include "readers/chrome/header.h"
#include "readers/utf8.h"

static yajl_val judge_find(yajl_val node, const char *key)
{
	const char *path[] = {key, NULL};

	return yajl_tree_get(node, path, yajl_t_any);
}

/* @found: what the reader says; left alone, as there, where there is no whole number. */
static bool judge_int(yajl_val node, const char *key, int64_t otherwise, int64_t found)
{
	yajl_val value = judge_find(node, key);

	return found == (YAJL_IS_INTEGER(value) ? YAJL_GET_INTEGER(value) : otherwise);
}

static bool judge_text(yajl_val value, const char *otherwise, const char *found)
{
	const char *text = YAJL_GET_STRING(value);

	text = text ? text : otherwise;
	return text ? found && !strcmp(text, found) : !found;
}

/* A rank beyond 32 bits is none. */
static bool judge_rank(yajl_val node, const struct gt_header *header)
{
	yajl_val value = judge_find(node, "rank");
	int64_t rank = YAJL_IS_INTEGER(value) ? YAJL_GET_INTEGER(value) : INT64_MAX;
	bool has_rank = rank >= INT32_MIN && rank <= INT32_MAX;

	return header->has_rank == has_rank && header->rank == (has_rank ? rank : 0);
}

static bool judge_distributed(yajl_val node, const struct gt_header *header)
{
	return judge_rank(node, header) && judge_int(node, "world_size", 0, header->world_size) &&
	       judge_text(judge_find(node, "backend"), NULL, header->backend);
}

static bool judge_devices(yajl_val node, const struct gt_header *header)
{
	size_t count = YAJL_IS_ARRAY(node) ? node->u.array.len : 0;
	bool is = header->device_count == count;

	for (size_t i = 0; is && i < count; i++) {
		const struct gt_header_device *device = &header->devices[i];
		yajl_val one = node->u.array.values[i];

		is = judge_int(one, "id", (int64_t)i, device->id) &&
		     judge_int(one, "totalGlobalMem", 0, device->memory) &&
		     judge_int(one, "computeMajor", 0, device->major) &&
		     judge_int(one, "computeMinor", 0, device->minor) &&
		     judge_int(one, "numSms", 0, device->sms) &&
		     judge_text(judge_find(one, "name"), "", device->name);
	}
	return is;
}

/* Zeros end a text for one of them only, and of half a surrogate pair each makes something else. */
static bool judge_can_tell(const char *text)
{
	for (; (text = strstr(text, "\\u")); text += 2)
		if (!strncmp(text + 2, "0000", 4) || text[2] == 'd' || text[2] == 'D')
			return false;
	return true;
}

static bool judge_added(struct gt_header *header, const char *key, const struct gt_span *value,
			const char *text)
{
	struct gt_span name = {.text = key, .len = (uint32_t)strlen(key), .kind = GT_SPAN_STRING};
	bool is_strict = gt_utf8_is_valid(text, strlen(text)), is;
	yajl_val node;
	char why[256];

	if (gt_header_add(header, &name, value, false))
		return true; /* no memory */
	node = is_strict ? yajl_tree_parse(text, why, sizeof(why)) : NULL;
	if (!node)
		return !header->has_rank && !header->backend && !header->device_count;
	is = !strcmp(key, "distributedInfo") ? judge_distributed(node, header)
					     : judge_devices(node, header);
	yajl_tree_free(node);
	return is;
}

/* Whether the header's reader makes of the member @key, as far as the scanner takes @text for a
 * value at all, what the other parser does. */
static bool header_judge(const char *key, const char *text)
{
	size_t size = strlen(text);
	char *copy = calloc(1, size + GT_INPUT_PADDING);
	struct gt_scan scan = {.end = copy + size};
	struct gt_header header = {0};
	struct gt_span value;
	bool is = true;

	if (!copy)
		return true;
	memcpy(copy, text, size);
	if (judge_can_tell(copy) && gt_scan_value(&scan, copy, &value) == scan.end)
		is = judge_added(&header, key, &value, copy);
	gt_header_fini(&header);
	free(copy);
	return is;
}

#endif
