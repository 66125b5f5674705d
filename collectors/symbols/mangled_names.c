/* SPDX-License-Identifier: Apache-2.0
 *
 * Names, and references to parts of them, see the header.
 */
#include "collectors/symbols/mangled_internal.h"

uint64_t gt_mangled_source_name(struct gt_mangled *p)
{
	uint64_t length = gt_mangled_is_digit(gt_mangled_peek(p, 0)) ? gt_mangled_number(p) : 0;

	if (!length || length > (uint64_t)(p->end - p->at))
		return gt_mangled_fail(p);
	p->at += length;
	return p->last_name =
		       gt_mangled_add(length, GT_MANGLED_WORD); /* "(anonymous namespace)" is
								   shorter in the mangled name */
}

static uint64_t parse_abi_tags(struct gt_mangled *p, uint64_t size)
{
	while (gt_mangled_take(p, 'B'))
		size = gt_mangled_add(size, gt_mangled_source_name(p));
	return size;
}

/* ---- substitutions, template parameters ---- */

uint64_t gt_mangled_substitution(struct gt_mangled *p)
{
	uint32_t number = 0;
	char c = gt_mangled_peek(p, 1);

	p->at += 1; /* S */
	if (gt_mangled_is_lower(c)) {
		p->at++;
		return gt_mangled_is_one_of(c, "absiod") ? GT_MANGLED_ABBREVIATION
							 : gt_mangled_fail(p);
	}
	if (gt_mangled_take(p, '_'))
		return p->substitutions ? p->size[0] : gt_mangled_fail(p);
	for (; (c = gt_mangled_peek(p, 0)) && c != '_' && number < GT_MANGLED_SUBSTITUTIONS;
	     p->at++) {
		if (!gt_mangled_is_digit(c) && !(c >= 'A' && c <= 'Z'))
			return gt_mangled_fail(p);
		number = number * 36 + (uint32_t)(gt_mangled_is_digit(c) ? c - '0' : c - 'A' + 10);
	}
	number++;
	return number < p->substitutions ? gt_mangled_expect(p, '_', p->size[number])
					 : gt_mangled_fail(p);
}

uint64_t gt_mangled_template_param(struct gt_mangled *p)
{
	p->at++; /* T */
	if (gt_mangled_take(p, 'L')) {
		gt_mangled_ordinal(p);
		return gt_mangled_fail(p);
	}
	gt_mangled_ordinal(p);
	return gt_mangled_add(p->largest, GT_MANGLED_WORD); /* in a lambda: "auto:1" */
}

/* ---- names ---- */

static uint64_t parse_operator(struct gt_mangled *p)
{
	char a = gt_mangled_peek(p, 0), b = gt_mangled_peek(p, 1);

	if (!gt_mangled_is_lower(a) || !b)
		return gt_mangled_fail(p);
	p->at += 2;
	if (a == 'c' && b == 'v')
		return gt_mangled_add(gt_mangled_type(p), GT_MANGLED_WORD);
	if ((a == 'l' && b == 'i') || (a == 'v' && gt_mangled_is_digit(b)))
		return gt_mangled_add(gt_mangled_source_name(p), GT_MANGLED_WORD);
	return 2 * GT_MANGLED_WORD;
}

static uint64_t parse_unnamed(struct gt_mangled *p)
{
	uint64_t size = GT_MANGLED_WORD;
	char kind = gt_mangled_peek(p, 1);

	p->at += 2;
	if (kind == 'l')
		size = gt_mangled_add(size, gt_mangled_types(p, 'E'));
	else if (kind != 't')
		return gt_mangled_fail(p);
	gt_mangled_ordinal(p);
	return size;
}

static uint64_t parse_structor(struct gt_mangled *p)
{
	bool inherits = gt_mangled_peek(p, 0) == 'C' && gt_mangled_peek(p, 1) == 'I';

	p->at += inherits ? 3 : 2;
	if (p->at > p->end)
		return gt_mangled_fail(p);
	return gt_mangled_add(p->last_name, inherits ? gt_mangled_type(p) : 1);
}

uint64_t gt_mangled_unqualified(struct gt_mangled *p)
{
	uint64_t size;
	char c;

	gt_mangled_take(p, 'L');
	c = gt_mangled_peek(p, 0);
	if (gt_mangled_is_digit(c))
		size = gt_mangled_source_name(p);
	else if (c == 'U')
		size = parse_unnamed(p);
	else if (c == 'D' && gt_mangled_peek(p, 1) == 'C')
		return gt_mangled_fail(p);
	else if (c == 'C' || c == 'D')
		size = parse_structor(p);
	else
		size = parse_operator(p);
	return parse_abi_tags(p, size);
}

/* One component of a nested name after @prefix. */
static uint64_t parse_component(struct gt_mangled *p, uint64_t prefix)
{
	char c = gt_mangled_peek(p, 0), next = gt_mangled_peek(p, 1);

	if (c == 'T')
		return gt_mangled_remember(p, gt_mangled_template_param(p));
	if (c == 'I')
		return gt_mangled_remember(p, gt_mangled_add(prefix, gt_mangled_template_args(p)));
	if (c == 'D' && (next == 't' || next == 'T'))
		return gt_mangled_remember(p, gt_mangled_decltype(p));
	if (c == 'S' && next != 't')
		return gt_mangled_substitution(p);
	return gt_mangled_remember(
		p, gt_mangled_add(prefix, gt_mangled_add(gt_mangled_unqualified(p), 2)));
}

static uint64_t parse_nested(struct gt_mangled *p)
{
	uint64_t size = 0;
	uint32_t before = p->substitutions;

	p->at++; /* N */
	while (gt_mangled_is_one_of(gt_mangled_peek(p, 0), "rVKRO"))
		p->at++;
	if (gt_mangled_peek(p, 0) == 'S' && gt_mangled_peek(p, 1) == 't') {
		p->at += 2;
		size = 3;
	}
	while (!p->failed && !gt_mangled_take(p, 'E'))
		if (!gt_mangled_take(p, 'M'))
			size = parse_component(p, size);
	/* the whole name is not a candidate here */
	if (p->substitutions > before)
		p->substitutions--;
	return gt_mangled_add(size, 3 * GT_MANGLED_WORD); /* const volatile && */
}

static uint64_t parse_local(struct gt_mangled *p)
{
	uint64_t size;

	p->at++; /* Z */
	size = gt_mangled_expect(p, 'E', gt_mangled_encoding(p));
	if (gt_mangled_take(p, 's'))
		size = gt_mangled_add(size, GT_MANGLED_WORD);
	else if (gt_mangled_take(p, 'd')) {
		gt_mangled_ordinal(p);
		size = gt_mangled_add(size,
				      gt_mangled_add(gt_mangled_name(p), 2 * GT_MANGLED_WORD));
	} else
		size = gt_mangled_add(size, gt_mangled_add(gt_mangled_name(p), 2));
	if (gt_mangled_peek(p, 0) == '_' && gt_mangled_peek(p, 1) == '_') {
		p->at += 2;
		gt_mangled_ordinal(p);
	} else if (gt_mangled_peek(p, 0) == '_' && gt_mangled_is_digit(gt_mangled_peek(p, 1)))
		p->at += 2;
	return size;
}

uint64_t gt_mangled_name(struct gt_mangled *p)
{
	bool in_std = gt_mangled_peek(p, 0) == 'S' && gt_mangled_peek(p, 1) == 't';
	uint64_t size;

	if (gt_mangled_peek(p, 0) == 'N')
		return parse_nested(p);
	if (gt_mangled_peek(p, 0) == 'Z')
		return parse_local(p);
	if (gt_mangled_peek(p, 0) == 'S' && !in_std) {
		size = gt_mangled_substitution(p);
		return gt_mangled_peek(p, 0) == 'I'
			       ? gt_mangled_add(size, gt_mangled_template_args(p))
			       : gt_mangled_fail(p);
	}
	p->at += in_std ? 2 : 0;
	size = gt_mangled_add(gt_mangled_unqualified(p), in_std ? 5 : 0);
	if (gt_mangled_peek(p, 0) != 'I')
		return size;
	gt_mangled_remember(p, size);
	return gt_mangled_add(size, gt_mangled_template_args(p));
}

/* ---- encodings ---- */

static uint64_t parse_special(struct gt_mangled *p)
{
	char kind = gt_mangled_peek(p, 1);

	p->at += 2;
	if (gt_mangled_is_one_of(kind, "VTIS"))
		return gt_mangled_add(gt_mangled_type(p), 2 * GT_MANGLED_WORD);
	if (gt_mangled_is_one_of(kind, "HW"))
		return gt_mangled_add(gt_mangled_name(p), 2 * GT_MANGLED_WORD);
	if (gt_mangled_is_one_of(kind, "hv")) {
		gt_mangled_ordinal(p);
		if (kind == 'v')
			gt_mangled_ordinal(p);
		return gt_mangled_add(gt_mangled_encoding(p), 2 * GT_MANGLED_WORD);
	}
	return gt_mangled_fail(p);
}

uint64_t gt_mangled_encoding(struct gt_mangled *p)
{
	uint64_t size = GT_MANGLED_WORD;

	if (p->failed || p->depth++ > GT_MANGLED_DEPTH)
		return gt_mangled_fail(p);
	if (gt_mangled_peek(p, 0) == 'T')
		size = parse_special(p);
	else if (gt_mangled_peek(p, 0) == 'G' && gt_mangled_peek(p, 1) == 'V') {
		p->at += 2;
		size = gt_mangled_add(gt_mangled_name(p), 2 * GT_MANGLED_WORD);
	} else
		size = gt_mangled_add(size, gt_mangled_name(p));
	while (!p->failed && p->at < p->end && !gt_mangled_is_one_of(*p->at, "E."))
		size = gt_mangled_add(size, gt_mangled_add(gt_mangled_type(p), 2));
	p->depth--;
	return size;
}
