/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/window/capture_filter.h"

#include <errno.h>
#include <string.h>

#include "core/guest/text.h"
#include "core/window/glob.h"
#include "core/window/when.h"

#define DURATION "min-duration"

const char *const gt_capture_lists[GT_CAPTURE_LISTS_] = {
	[GT_CAPTURE_KERNELS] = "kernels",    [GT_CAPTURE_CALLS] = "calls",
	[GT_CAPTURE_RANGES] = "nvtx-ranges", [GT_CAPTURE_STREAMS] = "streams",
	[GT_CAPTURE_DEVICES] = "devices",
};

const char *gt_capture_filter_next(const char **rest, size_t *ret_length, bool *ret_leaves_out)
{
	const char *pattern = *rest;
	size_t length;

	if (!pattern || !*pattern)
		return NULL;
	length = strcspn(pattern, ",");
	*rest = pattern[length] ? pattern + length + 1 : NULL;
	*ret_leaves_out = *pattern == '!';
	*ret_length = length - *ret_leaves_out;
	return pattern + *ret_leaves_out;
}

/* Each pattern has a name, and no byte that a line of text cannot have. */
static bool is_list(const char *text)
{
	const char *rest = text, *pattern;
	bool leaves_out;
	size_t length = strlen(text);

	if (length && text[length - 1] == ',')
		return false;
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f || (p[0] == ',' && p[1] == ','))
			return false;
	while ((pattern = gt_capture_filter_next(&rest, &length, &leaves_out)))
		if (!length || *pattern == '@')
			return false;
	return true;
}

int gt_capture_filter_set(struct gt_capture_filter *filter, enum gt_capture_list which,
			  const char *text)
{
	size_t length = strlen(text);
	char *list = filter->list[which];

	*list = 0;
	if (length >= GT_CAPTURE_LIST)
		return -ENAMETOOLONG;
	if (!is_list(text))
		return -EINVAL;
	memcpy(list, text, length + 1);
	for (char *blank = strchr(list, ' '); blank; blank = strchr(blank, ' '))
		*blank = '?';
	return 0;
}

bool gt_capture_filter_is_set(const struct gt_capture_filter *filter)
{
	return gt_capture_filter_has_gpu(filter) || *filter->list[GT_CAPTURE_CALLS] ||
	       *filter->list[GT_CAPTURE_RANGES];
}

bool gt_capture_filter_has_gpu(const struct gt_capture_filter *filter)
{
	return filter->min_duration || *filter->list[GT_CAPTURE_KERNELS] ||
	       *filter->list[GT_CAPTURE_STREAMS] || *filter->list[GT_CAPTURE_DEVICES];
}

void gt_capture_filter_describe(const struct gt_capture_filter *filter,
				char ret_text[GT_CAPTURE_FILTER])
{
	size_t n = 0;

	*ret_text = 0;
	for (int i = 0; i < GT_CAPTURE_LISTS_; i++)
		if (*filter->list[i])
			n += gt_text_format(ret_text + n, GT_CAPTURE_FILTER - n, "%s%s=%s",
					    n ? " " : "", gt_capture_lists[i], filter->list[i]);
	if (filter->min_duration)
		gt_text_format(ret_text + n, GT_CAPTURE_FILTER - n, "%s" DURATION "=%luns",
			       n ? " " : "", (unsigned long)filter->min_duration);
}

static void parse_word(const char *word, size_t length, struct gt_capture_filter *filter)
{
	const char *value = memchr(word, '=', length), *end;
	char text[GT_CAPTURE_LIST];
	size_t name, rest;

	if (!value)
		return;
	name = (size_t)(value - word);
	rest = length - name - 1;
	if (rest >= sizeof(text))
		return;
	memcpy(text, value + 1, rest);
	text[rest] = 0;
	for (int i = 0; i < GT_CAPTURE_LISTS_; i++)
		if (strlen(gt_capture_lists[i]) == name && !memcmp(gt_capture_lists[i], word, name))
			gt_capture_filter_set(filter, (enum gt_capture_list)i, text);
	if (name == strlen(DURATION) && !memcmp(DURATION, word, name) &&
	    gt_when_span(text, &end, &filter->min_duration))
		filter->min_duration = 0;
}

void gt_capture_filter_parse(const char *text, struct gt_capture_filter *ret_filter)
{
	*ret_filter = (struct gt_capture_filter){0};
	while (*text) {
		size_t length = strcspn(text, " ");

		parse_word(text, length, ret_filter);
		text += length + (text[length] == ' ');
	}
}

typedef bool (*match_function)(const void *context, const char *pattern, size_t length);

static bool keeps(const char *list, match_function matches, const void *context)
{
	bool only_out = true, matched = false, leaves_out;
	const char *pattern;
	size_t length;

	while ((pattern = gt_capture_filter_next(&list, &length, &leaves_out))) {
		only_out &= leaves_out;
		if (!matches(context, pattern, length))
			continue;
		if (leaves_out)
			return false;
		matched = true;
	}
	return only_out || matched;
}

struct thing {
	const char *const *names;
	size_t count;
};

static bool has_name(const void *context, const char *pattern, size_t length)
{
	const struct thing *thing = context;

	for (size_t i = 0; i < thing->count; i++)
		if (thing->names[i] &&
		    gt_glob_has(pattern, length, thing->names[i], strlen(thing->names[i])))
			return true;
	return false;
}

bool gt_capture_filter_keeps(const struct gt_capture_filter *filter, enum gt_capture_list which,
			     const char *const *names, size_t count)
{
	struct thing thing = {names, count};

	return keeps(filter->list[which], has_name, &thing);
}

struct range {
	const char *name, *domain;
};

/* The domain is behind the last @; a name may have one, too. */
static bool is_range(const void *context, const char *pattern, size_t length)
{
	const struct range *range = context;
	const char *at = memrchr(pattern, '@', length);
	size_t name = at ? (size_t)(at - pattern) : length;

	if (gt_glob_has(pattern, length, range->name, strlen(range->name)))
		return true;
	return at && gt_glob_has(pattern, name, range->name, strlen(range->name)) &&
	       gt_glob_has(at + 1, length - name - 1, range->domain, strlen(range->domain));
}

bool gt_capture_filter_keeps_range(const struct gt_capture_filter *filter, const char *name,
				   const char *domain)
{
	struct range range = {name, domain};

	return keeps(filter->list[GT_CAPTURE_RANGES], is_range, &range);
}

size_t gt_capture_filter_base(const char *name, const char **ret_name)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *start = name, *p = name;

	for (; *p && *p != '<'; p++) {
		if (!strncmp(p, anonymous, sizeof(anonymous) - 1))
			p += sizeof(anonymous) - 2;
		else if (*p == '(')
			break;
		else if (*p == ' ')
			start = p + 1;
	}
	*ret_name = start;
	return (size_t)(p - start);
}
