/* SPDX-License-Identifier: Apache-2.0
 *
 * See match.h. One thread per set of rows.
 */
#include "analysis/diff/match.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/frame.h"

#define MAX_ROUNDS 16 /* over rows that are matched by their neighbours */

/* A row of one side only, and what it is compared by in this round. */
struct single {
	char *key; /* owned; "": nothing to compare by */
	uint32_t row;
	int side;
};

typedef void (*key_fn)(const struct gt_diff_rows *rows, uint32_t row, char *out, size_t size);

static const char *name_of(const struct gt_diff_rows *rows, uint32_t row)
{
	return gt_group_name(&rows->groups, &rows->groups.list.at[row]);
}

/* Without parameters and template arguments but functors: those of one kernel<functor> do the same,
 * those of kernel<other> do not. */
static void base_name(const struct gt_diff_rows *rows, uint32_t row, char *out, size_t size)
{
	gt_frame_essence(name_of(rows, row), out, size);
}

/* The same with each number as '#': sm80 and sm90, fused_add_0 and fused_add_1. */
static void name_without_numbers(const struct gt_diff_rows *rows, uint32_t row, char *out,
				 size_t size)
{
	size_t n = 0;

	base_name(rows, row, out, size);
	for (const char *p = out; *p; p++) {
		if (!isdigit((unsigned char)*p))
			out[n++] = *p;
		else if (!n || out[n - 1] != '#')
			out[n++] = '#';
	}
	out[n] = 0;
}

static void launching_line(const struct gt_diff_rows *rows, uint32_t row, char *out, size_t size)
{
	uint32_t line = row < rows->origins.count ? rows->origins.at[row].line : GT_NAME_NONE;

	snprintf(out, size, "%s", gt_names_get(&rows->lines, line));
}

static void file_of_line(const struct gt_diff_rows *rows, uint32_t row, char *out, size_t size)
{
	char *colon;

	snprintf(out, size, "%s", name_of(rows, row));
	colon = strrchr(out, ':');
	if (!colon || !isdigit((unsigned char)colon[1]))
		*out = 0;
	else
		*colon = 0;
}

/* The side that alone has the row, or -1. */
static int single_side(const struct gt_diff_rows *rows, uint32_t row)
{
	const struct gt_group *group = &rows->groups.list.at[row];

	if (!group->tag[0] == !group->tag[1])
		return -1;
	return group->tag[0] ? 0 : 1;
}

static int move_into(struct gt_diff_rows *rows, uint32_t from, uint32_t to)
{
	struct gt_group *source = &rows->groups.list.at[from];
	struct gt_group *target = &rows->groups.list.at[to];

	for (int s = 0; s < 2; s++) {
		for (size_t i = 0; i < source->other[s].count; i++)
			if (!gt_vec_push(&target->other[s], source->other[s].at[i]))
				return -ENOMEM;
		target->tag[s] += source->tag[s];
		source->tag[s] = 0;
		source->other[s].count = 0;
		gt_diff_sum_units(&target->other[s]);
	}
	return 0;
}

static int match_two(struct gt_diff_matches *matches, struct gt_diff_rows *rows, uint32_t a,
		     uint32_t b, const char *how)
{
	struct gt_diff_match match = {.a = a, .b = b, .how = how};

	if (!gt_vec_push(&matches->list, match))
		return -ENOMEM;
	if (b < rows->origins.count)
		rows->origins.at[b].became = a + 1;
	return move_into(rows, b, a);
}

static int by_key(const void *a, const void *b)
{
	const struct single *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	if (order)
		return order;
	if (x->side != y->side)
		return x->side - y->side;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* The @count singles of one key, those of A first: one to one where there are as many of each, in
 * the order in which they were first met; else all together. */
static int match_key(struct gt_diff_matches *matches, struct gt_diff_rows *rows,
		     const struct single *at, size_t count, const char *how)
{
	size_t of_a = 0, of_b;
	struct gt_diff_match *match;
	int rc = 0;

	while (of_a < count && !at[of_a].side)
		of_a++;
	of_b = count - of_a;
	if (!of_a || !of_b || !*at->key)
		return 0;
	if (of_a == of_b) {
		for (size_t i = 0; !rc && i < of_a; i++)
			rc = match_two(matches, rows, at[i].row, at[of_a + i].row, how);
		return rc;
	}
	rc = match_two(matches, rows, at[0].row, at[of_a].row, how);
	for (size_t i = 1; !rc && i < count; i++)
		if (i != of_a)
			rc = move_into(rows, at[i].row, at[0].row);
	if (rc)
		return rc;
	match = &matches->list.at[matches->list.count - 1];
	match->more_a = (uint32_t)of_a - 1;
	match->more_b = (uint32_t)of_b - 1;
	return 0;
}

static int find_singles(const struct gt_diff_rows *rows, key_fn key, struct single **ret_singles,
			size_t *ret_count)
{
	struct single *singles = calloc(rows->groups.list.count + 1, sizeof(*singles));
	char text[4096];

	*ret_singles = singles;
	*ret_count = 0;
	if (!singles)
		return -ENOMEM;
	for (uint32_t row = 0; row < rows->groups.list.count; row++) {
		int side = single_side(rows, row);

		if (side < 0)
			continue;
		key(rows, row, text, sizeof(text));
		singles[*ret_count] = (struct single){strdup(text), row, side};
		if (!singles[*ret_count].key)
			return -ENOMEM;
		++*ret_count;
	}
	return 0;
}

static int match_by(struct gt_diff_matches *matches, struct gt_diff_rows *rows, key_fn key,
		    const char *how)
{
	struct single *singles;
	size_t count, end;
	int rc = find_singles(rows, key, &singles, &count);

	if (!rc)
		qsort(singles, count, sizeof(*singles), by_key);
	for (size_t i = 0; !rc && i < count; i = end) {
		for (end = i + 1; end < count && !strcmp(singles[end].key, singles[i].key);)
			end++;
		rc = match_key(matches, rows, &singles[i], end - i, how);
	}
	for (size_t i = 0; singles && i < count; i++)
		free(singles[i].key);
	free(singles);
	return rc;
}

/* The row that a neighbour is by now. */
static uint32_t now(const struct gt_diff_rows *rows, uint32_t neighbour)
{
	uint32_t became = neighbour ? rows->origins.at[neighbour - 1].became : 0;

	return became ? became : neighbour;
}

/* Do two rows stand between the same neighbours, and occur as often? */
static bool same_position(const struct gt_diff_rows *rows, const struct gt_diff_sides *sides,
			  uint32_t a, uint32_t b)
{
	const struct gt_diff_origin *x = &rows->origins.at[a], *y = &rows->origins.at[b];
	double often =
		(double)rows->groups.list.at[a].tag[0] / (double)(sides->side[0].units.count + 1);
	double otherwise =
		(double)rows->groups.list.at[b].tag[1] / (double)(sides->side[1].units.count + 1);

	if (now(rows, x->before) != now(rows, y->before) ||
	    now(rows, x->behind) != now(rows, y->behind) || (!x->before && !x->behind))
		return false;
	return fabs(often - otherwise) <= 0.2 * fmax(often, otherwise);
}

static int match_positions(struct gt_diff_matches *matches, struct gt_diff_rows *rows,
			   const struct gt_diff_sides *sides)
{
	bool found = true;
	int rc = 0;

	for (int round = 0; found && round < MAX_ROUNDS; round++) {
		found = false;
		for (uint32_t a = 0; a < rows->origins.count; a++)
			for (uint32_t b = 0; single_side(rows, a) == 0 && b < rows->origins.count;
			     b++) {
				if (single_side(rows, b) != 1 || !same_position(rows, sides, a, b))
					continue;
				rc = match_two(matches, rows, a, b, "same place on the stream");
				if (rc)
					return rc;
				found = true;
			}
	}
	return 0;
}

#define MAX_SINGLES 400 /* of which each is compared with each */

static size_t count_singles(const struct gt_diff_rows *rows)
{
	size_t count = 0;

	for (uint32_t row = 0; row < rows->groups.list.count; row++)
		count += single_side(rows, row) >= 0;
	return count;
}

static int index_matches(struct gt_diff_matches *matches, size_t rows)
{
	if (!matches->list.count)
		return 0;
	matches->of_row = calloc(rows, sizeof(*matches->of_row));
	if (!matches->of_row)
		return -ENOMEM;
	for (size_t i = 0; i < matches->list.count; i++)
		matches->of_row[matches->list.at[i].a] = (uint32_t)i + 1;
	return 0;
}

int gt_diff_match(struct gt_diff_matches *ret_matches, struct gt_diff_rows *rows,
		  const struct gt_diff_sides *sides, enum gt_diff_table which)
{
	static const struct {
		enum gt_diff_table which;
		key_fn key;
		const char *how;
	} rounds[] = {
		{GT_DIFF_KERNELS, base_name, "same base name"},
		{GT_DIFF_KERNELS, name_without_numbers, "same name but for its numbers"},
		{GT_DIFF_KERNELS, launching_line, "same launching line"},
		{GT_DIFF_LINES, file_of_line, "same file"},
	};
	int rc = 0;

	*ret_matches = (struct gt_diff_matches){0};
	for (size_t i = 0; !rc && i < sizeof(rounds) / sizeof(rounds[0]); i++)
		if (rounds[i].which == which && count_singles(rows))
			rc = match_by(ret_matches, rows, rounds[i].key, rounds[i].how);
	if (!rc && which == GT_DIFF_KERNELS && count_singles(rows) <= MAX_SINGLES)
		rc = match_positions(ret_matches, rows, sides);
	return rc ? rc : index_matches(ret_matches, rows->groups.list.count);
}

void gt_diff_matches_fini(struct gt_diff_matches *matches)
{
	gt_vec_free(&matches->list);
	free(matches->of_row);
	matches->of_row = NULL;
}

const struct gt_diff_match *gt_diff_match_of(const struct gt_diff_matches *matches, uint32_t row)
{
	uint32_t place = matches->of_row ? matches->of_row[row] : 0;

	return place ? &matches->list.at[place - 1] : NULL;
}
