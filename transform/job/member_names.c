/* SPDX-License-Identifier: Apache-2.0
 *
 * See member_names.h.
 */
#include "transform/job/member_names.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER 24 /* bytes that are left for a number */

void gt_member_name_clean(char *name)
{
	for (char *p = name; *p; p++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			    *p))
			*p = '_';
}

static void take_stem(const char *path, char *ret_name)
{
	const char *slash = strrchr(path, '/');
	size_t n;

	snprintf(ret_name, GT_MEMBER_NAME - NUMBER, "%s", slash ? slash + 1 : path);
	gt_member_name_clean(ret_name);
	n = strlen(ret_name);
	if (n > 3 && !strcmp(ret_name + n - 3, ".gz"))
		ret_name[n - 3] = 0;
}

static void put_number(char *name, size_t number)
{
	char stem[GT_MEMBER_NAME];

	strcpy(stem, name);
	snprintf(name, GT_MEMBER_NAME, "%zu_%.*s", number, GT_MEMBER_NAME - NUMBER, stem);
}

static int by_name(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	int order = strcmp(x, y);

	return order ? order : x < y ? -1 : x > y;
}

/* Numbers from 2 on all but the first of those that are alike. Returns how many. */
static size_t number_alike(char **order, size_t count)
{
	size_t changed = 0;

	qsort(order, count, sizeof(*order), by_name);
	for (size_t i = 0, first = 0; i < count; i++) {
		if (strcmp(order[i], order[first]) != 0)
			first = i;
		if (i == first && strcmp(order[i], GT_MANIFEST) != 0)
			continue;
		changed++;
		put_number(order[i], i - first + 1 + (i == first));
	}
	return changed;
}

/* After a first round names are alike only if somebody called a file as we do: then each gets the
 * number of its place, before which nothing stands. */
char (*gt_member_names(const struct gt_merge_sources *sources))[GT_MEMBER_NAME]
{
	char(*names)[GT_MEMBER_NAME] = calloc(sources->count + 1, sizeof(*names));
	char **order = calloc(sources->count + 1, sizeof(*order));

	for (size_t i = 0; names && order && i < sources->count; i++) {
		take_stem(sources->of[i].path, names[i]);
		order[i] = names[i];
	}
	if (names && order && number_alike(order, sources->count) &&
	    number_alike(order, sources->count))
		for (size_t i = 0; i < sources->count; i++) {
			take_stem(sources->of[i].path, names[i]);
			put_number(names[i], i + 1);
		}
	if (!order) {
		free(names);
		names = NULL;
	}
	free(order);
	return names;
}
