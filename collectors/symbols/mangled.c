/* SPDX-License-Identifier: Apache-2.0
 *
 * Sizes of demangled names, see the header: template arguments, expressions, types, and the whole.
 */
#include "collectors/symbols/mangled.h"

#include "collectors/symbols/mangled_internal.h"

/* Size of a pack expansion: @size per element of the longest pack. */
static uint64_t expand(const struct gt_mangled *p, uint64_t size)
{
	uint64_t times = p->longest_pack ? p->longest_pack : 1;

	return size < GT_MANGLED_SIZE_CAP / times ? size * times : GT_MANGLED_SIZE_CAP;
}

/* ---- template arguments, expressions ---- */

/* A literal: "Li5E", "LZ3foovE". */
static uint64_t parse_primary(struct gt_mangled *p)
{
	const char *begin;
	uint64_t size;

	p->at++; /* L */
	if (gt_mangled_peek(p, 0) == '_' && gt_mangled_peek(p, 1) == 'Z') {
		p->at += 2;
		return gt_mangled_expect(p, 'E', gt_mangled_encoding(p));
	}
	if (gt_mangled_peek(p, 0) == 'Z') {
		p->at++;
		return gt_mangled_expect(p, 'E', gt_mangled_encoding(p));
	}
	size = gt_mangled_add(gt_mangled_type(p), 4);
	begin = p->at;
	while (gt_mangled_is_digit(gt_mangled_peek(p, 0)) ||
	       gt_mangled_is_lower(gt_mangled_peek(p, 0)) || gt_mangled_peek(p, 0) == '_')
		p->at++;
	return gt_mangled_expect(p, 'E', gt_mangled_add(size, (uint64_t)(p->at - begin)));
}

static uint64_t parse_template_arg(struct gt_mangled *p)
{
	if (gt_mangled_take(p, 'X'))
		return gt_mangled_expect(p, 'E', gt_mangled_expression(p));
	if (gt_mangled_peek(p, 0) == 'L')
		return parse_primary(p);
	if (gt_mangled_peek(p, 0) == 'J')
		return gt_mangled_template_args(p);
	return gt_mangled_type(p);
}

/* Parses a list of arguments, or a pack from its J on. */
uint64_t gt_mangled_template_args(struct gt_mangled *p)
{
	uint64_t size = 4, count = 0;

	if (p->depth++ > GT_MANGLED_DEPTH)
		return gt_mangled_fail(p);
	p->at++;
	for (; !p->failed && !gt_mangled_take(p, 'E'); count++) {
		uint64_t arg = parse_template_arg(p);

		if (arg > p->largest)
			p->largest = arg;
		size = gt_mangled_add(size, gt_mangled_add(arg, 2));
	}
	if (size > p->largest) /* as a pack */
		p->largest = size;
	if (count > p->longest_pack)
		p->longest_pack = count;
	p->depth--;
	return size;
}

/* Operands of an operator; 0: unknown operator. */
static unsigned int operands_of(char a, char b)
{
	static const char *const codes[] = {
		"", "ngntcoaddepsppmmsznxspgs",
		"plmimldvrmanoreolsrseqneltgtlegeaaoocmssixpmaSpLmImLdVrMaNoReOlSrS", "qu"};

	for (unsigned int n = 1; n < sizeof(codes) / sizeof(codes[0]); n++)
		for (const char *code = codes[n]; *code; code += 2)
			if (code[0] == a && code[1] == b)
				return n;
	return 0;
}

static uint64_t parse_call(struct gt_mangled *p)
{
	uint64_t size = 4;

	while (!p->failed && !gt_mangled_take(p, 'E'))
		size = gt_mangled_add(size, gt_mangled_add(gt_mangled_expression(p), 2));
	return size;
}

static uint64_t parse_simple_name(struct gt_mangled *p)
{
	uint64_t size = gt_mangled_unqualified(p);

	return gt_mangled_peek(p, 0) == 'I' ? gt_mangled_add(size, gt_mangled_template_args(p))
					    : size;
}

/* "srT_5value", "sr3foo3barE5value", "srN1A1BE1C3fooE5value" */
static uint64_t parse_scoped(struct gt_mangled *p)
{
	bool has_levels =
		gt_mangled_is_digit(gt_mangled_peek(p, 0)) || gt_mangled_peek(p, 0) == 'N';
	uint64_t size = 0;

	if (gt_mangled_take(p, 'N') || !has_levels)
		size = gt_mangled_type(p);
	while (has_levels && !p->failed && !gt_mangled_take(p, 'E'))
		size = gt_mangled_add(size, gt_mangled_add(parse_simple_name(p), 2));
	return gt_mangled_add(size, gt_mangled_add(parse_simple_name(p), 2));
}

static uint64_t parse_parameter(struct gt_mangled *p)
{
	while (gt_mangled_is_one_of(gt_mangled_peek(p, 0), "rVK"))
		p->at++;
	gt_mangled_ordinal(p);
	return GT_MANGLED_WORD;
}

static uint64_t parse_operation(struct gt_mangled *p)
{
	char a = gt_mangled_peek(p, 0), b = gt_mangled_peek(p, 1);
	uint64_t size = 2 * GT_MANGLED_WORD;
	unsigned int operands = operands_of(a, b);

	p->at += 2;
	if (a == 'c' && b == 'l')
		return parse_call(p);
	if (a == 's' && b == 'r')
		return parse_scoped(p);
	if (a == 'c' && b == 'v') {
		size = gt_mangled_add(size, gt_mangled_type(p));
		return gt_mangled_add(size, gt_mangled_expression(p));
	}
	if (a == 's' && b == 't')
		return gt_mangled_add(size, gt_mangled_type(p));
	if (a == 'f' && b == 'p')
		return parse_parameter(p);
	if (a == 's' && b == 'Z')
		return gt_mangled_add(size, gt_mangled_expression(p));
	if (!operands)
		return gt_mangled_fail(p);
	while (operands--)
		size = gt_mangled_add(size, gt_mangled_add(gt_mangled_expression(p), 6));
	return a == 's' && b == 'p' ? expand(p, size) : size;
}

uint64_t gt_mangled_expression(struct gt_mangled *p)
{
	uint64_t size;

	if (p->depth++ > GT_MANGLED_DEPTH || p->at + 2 > p->end)
		return gt_mangled_fail(p);
	if (gt_mangled_peek(p, 0) == 'L')
		size = parse_primary(p);
	else if (gt_mangled_peek(p, 0) == 'T')
		size = gt_mangled_template_param(p);
	else if (gt_mangled_is_digit(gt_mangled_peek(p, 0)))
		size = parse_simple_name(p);
	else
		size = parse_operation(p);
	p->depth--;
	return size;
}

uint64_t gt_mangled_decltype(struct gt_mangled *p)
{
	p->at += 2;
	return gt_mangled_expect(p, 'E', gt_mangled_add(gt_mangled_expression(p), GT_MANGLED_WORD));
}

/* ---- types ---- */

uint64_t gt_mangled_types(struct gt_mangled *p, char end)
{
	uint64_t size = GT_MANGLED_WORD;

	while (!p->failed && !gt_mangled_take(p, end))
		size = gt_mangled_add(size, gt_mangled_add(gt_mangled_type(p), 2));
	return size;
}

static uint64_t parse_function(struct gt_mangled *p)
{
	uint64_t size = 4 * GT_MANGLED_WORD;

	p->at++; /* F */
	gt_mangled_take(p, 'Y');
	while (!p->failed && !gt_mangled_take(p, 'E')) {
		if (gt_mangled_is_one_of(gt_mangled_peek(p, 0), "RO") &&
		    gt_mangled_peek(p, 1) == 'E')
			p->at++;
		else
			size = gt_mangled_add(size, gt_mangled_add(gt_mangled_type(p), 2));
	}
	return gt_mangled_remember(p, size);
}

static uint64_t parse_array(struct gt_mangled *p)
{
	uint64_t size = GT_MANGLED_WORD;

	p->at++; /* A */
	if (gt_mangled_is_digit(gt_mangled_peek(p, 0)))
		gt_mangled_number(p);
	else if (gt_mangled_peek(p, 0) != '_')
		size = gt_mangled_add(size, gt_mangled_expression(p));
	gt_mangled_expect(p, '_', 0);
	return gt_mangled_remember(p, gt_mangled_add(size, gt_mangled_type(p)));
}

static uint64_t parse_vector(struct gt_mangled *p)
{
	p->at += 2; /* Dv */
	if (!gt_mangled_is_digit(gt_mangled_peek(p, 0)))
		return gt_mangled_fail(p);
	gt_mangled_ordinal(p);
	return gt_mangled_remember(p, gt_mangled_add(gt_mangled_type(p), 2 * GT_MANGLED_WORD));
}

static uint64_t parse_d_type(struct gt_mangled *p)
{
	char kind = gt_mangled_peek(p, 1);

	if (kind == 't' || kind == 'T')
		return gt_mangled_remember(p, gt_mangled_decltype(p));
	if (kind == 'v')
		return parse_vector(p);
	p->at += 2;
	if (kind == 'p')
		return gt_mangled_remember(p, expand(p, gt_mangled_type(p)));
	if (kind == 'o' && gt_mangled_peek(p, 0) == 'F')
		return gt_mangled_add(parse_function(p), GT_MANGLED_WORD);
	if (kind == 'F') {
		gt_mangled_ordinal(p);
		return GT_MANGLED_WORD;
	}
	return gt_mangled_is_one_of(kind, "defhisuacn") ? GT_MANGLED_WORD : gt_mangled_fail(p);
}

/* T_ and S_ may be templates, followed by their arguments. */
static uint64_t parse_template_of(struct gt_mangled *p, uint64_t size)
{
	if (gt_mangled_peek(p, 0) != 'I')
		return size;
	return gt_mangled_remember(p, gt_mangled_add(size, gt_mangled_template_args(p)));
}

static uint64_t parse_qualified(struct gt_mangled *p)
{
	while (gt_mangled_is_one_of(gt_mangled_peek(p, 0), "rVK"))
		p->at++;
	return gt_mangled_remember(p, gt_mangled_add(gt_mangled_type(p), 2 * GT_MANGLED_WORD));
}

static uint64_t parse_pointer(struct gt_mangled *p)
{
	p->at++;
	return gt_mangled_remember(p, gt_mangled_add(gt_mangled_type(p), GT_MANGLED_WORD));
}

static uint64_t parse_member_pointer(struct gt_mangled *p)
{
	uint64_t size;

	p->at++; /* M */
	size = gt_mangled_type(p);
	return gt_mangled_remember(
		p, gt_mangled_add(gt_mangled_add(size, gt_mangled_type(p)), GT_MANGLED_WORD));
}

static uint64_t parse_vendor(struct gt_mangled *p)
{
	uint64_t size;

	p->at++; /* U or u */
	size = gt_mangled_source_name(p);
	if (gt_mangled_peek(p, 0) == 'I')
		size = gt_mangled_add(size, gt_mangled_template_args(p));
	return size;
}

static uint64_t parse_vendor_qualified(struct gt_mangled *p)
{
	uint64_t size = parse_vendor(p);

	return gt_mangled_add(size, gt_mangled_type(p));
}

static uint64_t parse_any_type(struct gt_mangled *p)
{
	char c = gt_mangled_peek(p, 0), next = gt_mangled_peek(p, 1);

	if (gt_mangled_is_one_of(c, "rVK"))
		return parse_qualified(p);
	if (gt_mangled_is_one_of(c, "PROCG"))
		return parse_pointer(p);
	if (c == 'F')
		return parse_function(p);
	if (c == 'A')
		return parse_array(p);
	if (c == 'M')
		return parse_member_pointer(p);
	if (c == 'T' && !gt_mangled_is_one_of(next, "sue"))
		return parse_template_of(p, gt_mangled_remember(p, gt_mangled_template_param(p)));
	if (c == 'D')
		return parse_d_type(p);
	if (c == 'S' && next != 't')
		return parse_template_of(p, gt_mangled_substitution(p));
	if (c == 'U' && next != 'l' && next != 't')
		return gt_mangled_remember(p, parse_vendor_qualified(p));
	if (c == 'u')
		return gt_mangled_remember(p, parse_vendor(p));
	if (gt_mangled_is_lower(c)) {
		p->at++;
		return gt_mangled_is_one_of(c, "kpqr") ? gt_mangled_fail(p) : GT_MANGLED_WORD;
	}
	p->at += c == 'T' ? 2 : 0;
	return gt_mangled_remember(p, gt_mangled_name(p));
}

uint64_t gt_mangled_type(struct gt_mangled *p)
{
	uint64_t size;

	if (p->failed || p->depth++ > GT_MANGLED_DEPTH)
		return gt_mangled_fail(p);
	size = parse_any_type(p);
	p->depth--;
	return size;
}

/* ---- the whole name ---- */

uint64_t gt_mangled_expansion(const char *name, size_t length)
{
	struct gt_mangled p = {.at = name + 2, .end = name + length};
	uint64_t size;

	if (length < 4 || memcmp(name, "_Z", 2) != 0)
		return length;
	size = gt_mangled_encoding(&p);
	return p.failed || (p.at != p.end && *p.at != '.') ? UINT64_MAX : size;
}
