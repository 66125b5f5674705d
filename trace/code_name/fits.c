/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a text is a short form of a name, whatever parts went: all ways to write it are followed
 * at once, as the set of places in the text that they have come to. A form that was still too long
 * has lost its middle, too: behind that "..." any part of the name may go on. One thread per name.
 */
#include <string.h>

#include "trace/code_name/code_name.h"
#include "trace/code_name/parts.h"

#define DEEPEST 64 /* parts inside parts */
#define LONGEST 1024
#define MORE    "..."

/* What stands before a place: for it and the next part one "..." may stand. */
enum before {
	BEFORE_TEXT = 1,
	BEFORE_ARGUMENT = 2, /* arguments that are gone */
	BEFORE_WORD = 4,     /* part of an identifier that is gone */
	BEFORE_COMMA = 8,    /* ", " behind "...", which only another "..." can follow, unwritten */
	AMID = 16,           /* in the middle that was cut out */
	WRITTEN = BEFORE_TEXT | BEFORE_ARGUMENT | BEFORE_WORD,
};

/* Where one can be in the text: by place, enum before. */
struct fitting_places {
	uint8_t at[LONGEST + 1];
};

struct fitting {
	const struct gt_code_name *name;
	const char *text;
	size_t length;
	size_t cut; /* where the "..." for the middle stands, SIZE_MAX: nowhere */
};

/* Bytes [from, to) of the name, and what is written behind them. */
struct fitting_piece {
	uint32_t from, to;
	const char *more;
};

static enum before class_of(const struct gt_name_part *part)
{
	switch (part->kind) {
	case GT_PART_ACCESS:
	case GT_PART_BOOL:
	case GT_PART_NUMBER:
	case GT_PART_TYPE:
	case GT_PART_FUNCTOR:
		return BEFORE_ARGUMENT;
	case GT_PART_MINOR_WORD:
	case GT_PART_WORD:
	case GT_PART_TILE:
		return BEFORE_WORD;
	default:
		return BEFORE_TEXT;
	}
}

/* The place behind bytes [*from, to) of the name when they stand at @place of the text, or where
 * the middle is cut out; @from is then what is reached of them. SIZE_MAX: they do not. "> >" is
 * written
 * ">>". */
static size_t pass_text(const struct fitting *f, uint32_t *from, uint32_t to, size_t place)
{
	const char *name = f->name->text;

	for (; *from < to && place != f->cut; (*from)++) {
		if (place < f->length && name[*from] == f->text[place])
			place++;
		else if (name[*from] != ' ' || name[*from + 1] != '>')
			return SIZE_MAX;
	}
	return place;
}

/* The same of the text behind a piece. */
static size_t pass_more(const struct fitting *f, const char *more, size_t place)
{
	size_t length = strlen(more);

	return place <= f->length && f->length - place >= length &&
			       !memcmp(f->text + place, more, length)
		       ? place + length
		       : SIZE_MAX;
}

static bool is_behind_dots(const struct fitting *f, size_t place)
{
	size_t length = sizeof(MORE) - 1;

	return place >= length && !memcmp(f->text + place - length, MORE, length);
}

/* "..., ..." is written "...": places that stay where they are, with a comma that is owed. */
static void pass_comma(const struct fitting *f, const struct fitting_places *in, uint32_t from,
		       uint32_t to, struct fitting_places *out)
{
	bool is_comma = to - from == 2 && !memcmp(f->name->text + from, ", ", 2);

	for (size_t i = 0; i <= f->length; i++)
		if ((from == to && (in->at[i] & BEFORE_COMMA)) ||
		    (is_comma && in->at[i] & WRITTEN && is_behind_dots(f, i)))
			out->at[i] |= BEFORE_COMMA;
}

/* Out of the middle: the text goes on anywhere in a piece, or behind it. */
static void leave_middle(const struct fitting *f, const struct fitting_piece *piece,
			 uint8_t becomes, struct fitting_places *out)
{
	size_t behind = f->cut + sizeof(MORE) - 1, place;

	out->at[behind] |= AMID;
	for (uint32_t at = piece->from; at <= piece->to; at++) {
		uint32_t from = at;

		place = pass_text(f, &from, piece->to, behind);
		place = place == SIZE_MAX ? place : pass_more(f, piece->more, place);
		if (place != SIZE_MAX)
			out->at[place] |= becomes;
	}
	for (const char *rest = piece->more; *rest; rest++) {
		place = pass_more(f, rest, behind);
		if (place != SIZE_MAX)
			out->at[place] |= becomes;
	}
}

/* A piece at @place of the text, which may lose its end there. */
static void pass_piece(const struct fitting *f, const struct fitting_piece *piece, size_t place,
		       uint8_t becomes, struct fitting_places *out)
{
	struct fitting_piece left = *piece;

	place = pass_text(f, &left.from, left.to, place);
	if (place == SIZE_MAX)
		return;
	while (place != f->cut && *left.more && place < f->length && *left.more == f->text[place]) {
		left.more++;
		place++;
	}
	if (place == f->cut)
		leave_middle(f, &left, becomes, out);
	else if (!*left.more)
		out->at[place] |= becomes;
}

/* Moves all places past bytes [from, to) of the name and then past @more. */
static void pass(const struct fitting *f, const struct fitting_places *in, uint32_t from,
		 uint32_t to, const char *more, uint8_t becomes, struct fitting_places *out)
{
	const struct fitting_piece piece = {.from = from, .to = to, .more = more};

	for (size_t i = 0; i <= f->length; i++) {
		if (in->at[i] & WRITTEN)
			pass_piece(f, &piece, i, becomes, out);
		if (in->at[i] & AMID)
			leave_middle(f, &piece, becomes, out);
	}
	if (!*more)
		pass_comma(f, in, from, to, out);
}

/* Skips a part: it is replaced by nothing, or by "..." unless one is there already. */
static void without(const struct fitting *f, const struct fitting_places *in,
		    const struct gt_name_part *part, uint32_t from, bool adjoins,
		    struct fitting_places *out)
{
	enum before class = class_of(part);
	bool shares = class == BEFORE_ARGUMENT || (class == BEFORE_WORD && adjoins);
	struct fitting_places owed = {.at = {0}};

	pass(f, in, from, part->start, class == BEFORE_TEXT ? "" : MORE, (uint8_t) class, out);
	for (size_t i = 0; shares && i <= f->length; i++)
		out->at[i] |= in->at[i] & (uint8_t) class;
	if (class != BEFORE_ARGUMENT)
		return;
	pass_comma(f, in, from, part->start, &owed);
	for (size_t i = 0; i <= f->length; i++)
		if (owed.at[i])
			out->at[i] |= BEFORE_ARGUMENT;
}

/* Moves the places past a part with what is inside it. False: it is too deep. */
static bool pass_part(const struct fitting *f, uint32_t at, unsigned int depth,
		      struct fitting_places *places)
{
	const struct gt_name_part *part = &f->name->part[at], *before = NULL;
	uint32_t from = part->start;
	struct fitting_places next;

	if (depth == DEEPEST)
		return false;
	for (uint32_t i = at + 1; i < part->next; i = f->name->part[i].next) {
		const struct gt_name_part *inner = &f->name->part[i];

		memset(&next, 0, sizeof(next));
		pass(f, places, from, inner->start, "", BEFORE_TEXT, &next);
		if (!pass_part(f, i, depth + 1, &next))
			return false;
		if (inner->kind != GT_PART_NAME)
			without(f, places, inner, from, before && before->end == inner->start,
				&next);
		*places = next;
		from = inner->end;
		before = inner;
	}
	memset(&next, 0, sizeof(next));
	pass(f, places, from, part->end, "", BEFORE_TEXT, &next);
	*places = next;
	return true;
}

/* Whether the text is a form with the middle cut out at @cut, or nowhere. */
static bool fits(const struct gt_code_name *name, const char *text, size_t length, size_t cut)
{
	const struct fitting f = {.name = name, .text = text, .length = length, .cut = cut};
	struct fitting_places places = {.at = {BEFORE_TEXT}};

	return pass_part(&f, 0, 0, &places) && (places.at[length] & WRITTEN);
}

bool gt_code_name_fits(const struct gt_code_name *name, const char *text, size_t length)
{
	size_t dots = sizeof(MORE) - 1, head = length > dots ? GT_NAME_HEAD(length) : 0;

	if (length > LONGEST)
		return false;
	if (fits(name, text, length, SIZE_MAX))
		return true;
	for (size_t cut = head > GT_NAME_DOTS ? head - GT_NAME_DOTS : 1;
	     cut <= head + GT_NAME_DOTS && cut + dots <= length; cut++)
		if (!memcmp(text + cut, MORE, dots) && fits(name, text, length, cut))
			return true;
	return false;
}
