/* SPDX-License-Identifier: Apache-2.0
 *
 * See code_name.h. Parts lie in the order of their text, each before those inside it.
 */
#include "trace/code_name/code_name.h"

#include <stdlib.h>
#include <string.h>

#include "trace/code_name/parts.h"

#define MORE "..."

static bool may_go(const struct gt_name_part *part)
{
	return part->kind != GT_PART_NAME && !part->is_kept;
}

static bool is_part_of_word(const struct gt_name_part *part)
{
	return part->kind == GT_PART_WORD || part->kind == GT_PART_MINOR_WORD ||
	       part->kind == GT_PART_TILE;
}

static bool is_argument(const struct gt_name_part *part)
{
	return part->kind == GT_PART_ACCESS || part->kind == GT_PART_BOOL ||
	       part->kind == GT_PART_NUMBER || part->kind == GT_PART_TYPE ||
	       part->kind == GT_PART_FUNCTOR;
}

struct gt_code_name *gt_code_name_new(const char *text, size_t length)
{
	struct gt_code_name *name = malloc(sizeof(*name)), *fitting;

	if (!name)
		return NULL;
	*name = (struct gt_code_name){.text = text, .length = length};
	gt_name_parts_find(name);
	fitting = realloc(name, offsetof(struct gt_code_name, part) +
					name->count * sizeof(name->part[0]));
	return fitting ? fitting : name;
}

void gt_code_name_free(struct gt_code_name *name)
{
	free(name);
}

/* ---- writing ---- */

struct name_text {
	char *out; /* NULL: only counted */
	size_t size, length;
	size_t dots;   /* where the last "..." for an argument ended, 0: none */
	bool is_comma; /* ", " was written last */
};

static void put(struct name_text *text, const char *p, size_t length)
{
	if (text->out && text->length < text->size) {
		size_t room = text->size - text->length;

		memcpy(text->out + text->length, p, length < room ? length : room);
	}
	text->length += length;
	if (length)
		text->is_comma = length == 2 && !memcmp(p, ", ", 2);
}

/* "...", or nothing where one stands before the comma already. */
static void put_dots(struct name_text *text, const struct gt_name_part *part)
{
	if (is_argument(part) && text->is_comma && text->length == text->dots + 2)
		text->length = text->dots;
	else
		put(text, MORE, sizeof(MORE) - 1);
	if (is_argument(part))
		text->dots = text->length;
}

/* Whether one "..." stands for both parts. */
static bool share_dots(const struct gt_name_part *before, const struct gt_name_part *part)
{
	return before && before->is_gone &&
	       ((is_argument(before) && is_argument(part)) ||
		(is_part_of_word(before) && is_part_of_word(part) && before->end == part->start));
}

/* A part with what is inside it. */
static void put_part(const struct gt_code_name *name, uint32_t at, struct name_text *text)
{
	const struct gt_name_part *part = &name->part[at], *before = NULL;
	uint32_t from = part->start;

	for (uint32_t i = at + 1; i < part->next; i = name->part[i].next) {
		const struct gt_name_part *inner = &name->part[i];

		if (!inner->is_gone || !share_dots(before, inner)) {
			put(text, name->text + from, inner->start - from);
			if (!inner->is_gone)
				put_part(name, i, text);
			else if (is_argument(inner) || is_part_of_word(inner))
				put_dots(text, inner);
		}
		from = inner->end;
		before = inner;
	}
	put(text, name->text + from, part->end - from);
}

/* "> >", as demanglers write it, is ">>". */
static size_t close_up(char *out, size_t length)
{
	size_t n = 0;

	for (size_t i = 0; i < length; i++)
		if (out[i] != ' ' || out[i + 1] != '>')
			out[n++] = out[i];
	out[n] = 0;
	return n;
}

static size_t count_bytes(const struct gt_code_name *name)
{
	struct name_text text = {.out = NULL};

	put_part(name, 0, &text);
	return text.length;
}

/* A part, and the other one of a wrapper. */
static void set_gone(struct gt_code_name *name, uint32_t at, bool is_gone)
{
	name->part[at].is_gone = is_gone;
	if (name->part[at].pair)
		name->part[name->part[at].pair].is_gone = is_gone;
}

/* Lets a part go if that makes the name shorter. Returns the length. */
static size_t try_without(struct gt_code_name *name, uint32_t at, size_t length)
{
	size_t shorter;

	set_gone(name, at, true);
	shorter = count_bytes(name);
	if (shorter < length)
		return shorter;
	set_gone(name, at, false);
	return length;
}

/* Lets parts of a kind go, the last ones first, until the name is short enough. */
static size_t let_go(struct gt_code_name *name, enum gt_part_kind kind, size_t width, size_t length)
{
	for (uint32_t i = name->count; length > width && i-- > 1;)
		if (name->part[i].kind == kind && may_go(&name->part[i]) && !name->part[i].is_gone)
			length = try_without(name, i, length);
	return length;
}

/* How far a word is from the middle of its identifier. */
static uint32_t distance(const struct gt_code_name *name, uint32_t at)
{
	uint32_t first = at, last = at;

	while (is_part_of_word(&name->part[first - 1]) &&
	       name->part[first - 1].end == name->part[first].start)
		first--;
	while (last + 1 < name->count && is_part_of_word(&name->part[last + 1]) &&
	       name->part[last].end == name->part[last + 1].start)
		last++;
	return 2 * at > first + last ? 2 * at - first - last : first + last - 2 * at;
}

/* The nearest word of that kind to the middle, of those that are further than @from, or as far and
 * behind part @behind. 0: none. */
static uint32_t next_word(const struct gt_code_name *name, enum gt_part_kind kind, uint32_t from,
			  uint32_t behind)
{
	uint32_t best = 0, best_distance = UINT32_MAX;

	for (uint32_t i = 1; i < name->count; i++) {
		uint32_t far;

		if (name->part[i].kind != kind || name->part[i].is_gone || !may_go(&name->part[i]))
			continue;
		far = distance(name, i);
		if ((far > from || (far == from && i > behind)) && far < best_distance) {
			best = i;
			best_distance = far;
		}
	}
	return best;
}

/* Lets words go, from the middle of identifiers: they begin with what a kernel does, and end with
 * which one it is. */
static size_t let_words_go(struct gt_code_name *name, enum gt_part_kind kind, size_t width,
			   size_t length)
{
	uint32_t from = 0, at = 0;

	while (length > width && (at = next_word(name, kind, from, at))) {
		size_t shorter = try_without(name, at, length);

		from = distance(name, at);
		if (shorter < length)
			from = at = 0; /* a short one between two that are gone goes now */
		length = shorter;
	}
	return length;
}

/* The list of arguments that part @at is in if it is gone, else @at: one alone would say nothing.
 */
static uint32_t parent_list(const struct gt_code_name *name, uint32_t at)
{
	for (uint32_t i = at; --i;)
		if (name->part[i].next > at)
			return name->part[i].kind == GT_PART_LIST && name->part[i].is_gone ? i : at;
	return at;
}

/* The first of the parts that come back with part @at: a word brings those before it that say
 * little. 0: it may not come back. */
static uint32_t first_to_return(const struct gt_code_name *name, uint32_t at)
{
	const struct gt_name_part *part = &name->part[at];

	if (!part->is_gone || (part->kind == GT_PART_WRAPPER && at > part->pair))
		return 0;
	if (part->kind == GT_PART_WRAPPER)
		return name->part[part->next].is_gone ? 0 : at;
	if (!is_part_of_word(part))
		return parent_list(name, at);
	while (is_part_of_word(part - 1) && part[-1].is_gone && part[-1].end == part->start) {
		if (part[-1].kind != GT_PART_MINOR_WORD)
			return 0;
		part--;
	}
	return (uint32_t)(part - name->part);
}

/* Words from @first to @at, or a list and one of its arguments. */
static void set_range_gone(struct gt_code_name *name, uint32_t first, uint32_t at, bool is_gone)
{
	set_gone(name, first, is_gone);
	set_gone(name, at, is_gone);
	for (uint32_t i = first + 1; i < at; i++)
		if (is_part_of_word(&name->part[first]))
			set_gone(name, i, is_gone);
}

/* What a part that went made room for comes back, the most telling first. */
static size_t let_back(struct gt_code_name *name, enum gt_part_kind kind, size_t width,
		       size_t length)
{
	for (uint32_t i = 1; i < name->count; i++) {
		uint32_t first = name->part[i].kind == kind ? first_to_return(name, i) : 0;
		size_t longer;

		if (!first)
			continue;
		set_range_gone(name, first, i, false);
		longer = count_bytes(name);
		if (longer > width)
			set_range_gone(name, first, i, true);
		if (longer <= width)
			length = longer;
	}
	return length;
}

static void fit(struct gt_code_name *name, size_t width)
{
	size_t length = count_bytes(name);
	int kind;

	for (kind = GT_PART_SILENT + 1; length > width && kind < GT_PART_NAME; kind++) {
		if (kind == GT_PART_WORD)
			length = let_words_go(name, GT_PART_WORD, width, length);
		else
			length = let_go(name, (enum gt_part_kind)kind, width, length);
	}
	while (--kind > GT_PART_SILENT)
		if (kind != GT_PART_MINOR_WORD && kind != GT_PART_ACCESS && kind != GT_PART_LIST)
			length = let_back(name, (enum gt_part_kind)kind, width, length);
	let_back(name, GT_PART_MINOR_WORD, width, length);
}

size_t gt_code_name_write(struct gt_code_name *name, size_t width, char *out, size_t size)
{
	struct name_text text = {.out = out, .size = size - 1};
	size_t length;

	for (uint32_t i = 0; i < name->count; i++)
		name->part[i].is_gone =
			name->part[i].kind == GT_PART_SILENT && may_go(&name->part[i]);
	if (width)
		fit(name, width);
	put_part(name, 0, &text);
	length = text.length < size ? text.length : size - 1;
	out[length] = 0;
	return close_up(out, length);
}

static bool is_essential(enum gt_part_kind kind)
{
	return kind >= GT_PART_MINOR_WORD || kind == GT_PART_SCOPE;
}

size_t gt_code_name_essence(struct gt_code_name *name, char *out, size_t size)
{
	struct name_text text = {.out = out, .size = size - 1};
	size_t length;

	for (uint32_t i = 0; i < name->count; i++)
		name->part[i].is_gone = !is_essential(name->part[i].kind);
	put_part(name, 0, &text);
	length = text.length < size ? text.length : size - 1;
	out[length] = 0;
	return close_up(out, length);
}

/* ---- telling apart ---- */

#define NO_PART UINT32_MAX

/* Two names, and the most telling part in which they differ. */
struct difference {
	struct gt_code_name *a, *b;
	uint32_t in_a, in_b; /* parts */
	enum gt_part_kind kind;
	bool found;
};

static bool is_equal(const struct difference *names, uint32_t from_a, uint32_t to_a,
		     uint32_t from_b, uint32_t to_b)
{
	return to_a - from_a == to_b - from_b &&
	       !memcmp(names->a->text + from_a, names->b->text + from_b, to_a - from_a);
}

static bool is_known(const struct gt_code_name *name, uint32_t at)
{
	return at == NO_PART || name->part[at].is_kept;
}

static void take(struct difference *best, uint32_t in_a, uint32_t in_b)
{
	int of_a = in_a == NO_PART ? -1 : (int)best->a->part[in_a].kind;
	int of_b = in_b == NO_PART ? -1 : (int)best->b->part[in_b].kind;
	int kind = of_a > of_b ? of_a : of_b;

	if (of_a < kind)
		in_a = NO_PART;
	if (of_b < kind)
		in_b = NO_PART;
	if ((is_known(best->a, in_a) && is_known(best->b, in_b)) ||
	    (best->found && kind <= (int)best->kind))
		return;
	best->in_a = in_a;
	best->in_b = in_b;
	best->kind = (enum gt_part_kind)kind;
	best->found = true;
}

/* What only one of parts @x and @y has; of a scope that says nothing the parts themselves. */
static void take_more(struct difference *best, uint32_t x, uint32_t y, uint32_t in_a, uint32_t in_b)
{
	const struct gt_name_part *more =
		in_a != NO_PART ? &best->a->part[in_a] : &best->b->part[in_b];

	if (x && more->kind == GT_PART_SILENT)
		take(best, x, y);
	else
		take(best, in_a, in_b);
}

/* Looks at what is in both parts: a part inside them, or what stands between those. */
static void compare(struct difference *best, uint32_t x, uint32_t y)
{
	const struct gt_name_part *p = &best->a->part[x], *q = &best->b->part[y];
	uint32_t i = x + 1, k = y + 1, from_a = p->start, from_b = q->start;

	for (; i < p->next && k < q->next; i = best->a->part[i].next, k = best->b->part[k].next) {
		const struct gt_name_part *in_a = &best->a->part[i], *in_b = &best->b->part[k];

		if (!is_equal(best, from_a, in_a->start, from_b, in_b->start)) {
			take(best, x, y);
			return;
		}
		if (in_a->kind != in_b->kind)
			break;
		if (!is_equal(best, in_a->start, in_a->end, in_b->start, in_b->end))
			compare(best, i, k);
		from_a = in_a->end;
		from_b = in_b->end;
	}
	if (i < p->next || k < q->next)
		take_more(best, x, y, i < p->next ? i : NO_PART, k < q->next ? k : NO_PART);
	else if (!is_equal(best, from_a, p->end, from_b, q->end))
		take(best, x, y);
}

/* A wrapper is kept with what it is around. */
static void keep_one(struct gt_code_name *name, uint32_t at)
{
	struct gt_name_part *part = &name->part[at];

	part->is_kept = true;
	if (!part->pair)
		return;
	name->part[part->pair].is_kept = true;
	at = at < part->pair ? at : part->pair;
	name->part[name->part[at].next].is_kept = true;
}

/* Keeps a part and what it is in. */
static void keep(struct gt_code_name *name, uint32_t at)
{
	for (uint32_t i = 0; at != NO_PART && i <= at; i++)
		if (i == at || name->part[i].next > at)
			keep_one(name, i);
}

bool gt_code_name_tell_apart(struct gt_code_name *a, struct gt_code_name *b)
{
	struct difference best = {.a = a, .b = b, .in_a = NO_PART, .in_b = NO_PART};

	compare(&best, 0, 0);
	keep(a, best.in_a);
	keep(b, best.in_b);
	return best.found;
}
