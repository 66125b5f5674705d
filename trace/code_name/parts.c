/* SPDX-License-Identifier: Apache-2.0
 *
 * See parts.h. Text that is not understood belongs to the part around it.
 */
#include "trace/code_name/parts.h"

#include <ctype.h>
#include <string.h>

#define LONG_NAME    24 /* identifiers from this length on have words */
#define LONG_TYPE    12 /* the same of arguments, of which several follow each other */
#define OPERATOR     "operator"
#define OPERATOR_LEN (sizeof(OPERATOR) - 1)
#define ANONYMOUS    "(anonymous"
#define LAMBDA       "{lambda"

enum word_set {
	WORD_SCOPE,
	WORD_ACCESS,
	WORD_NUMERIC,
	WORD_PART,
	WORD_HUMP,
	WORD_WRAPPER,
};

static const struct {
	enum word_set set;
	const char *text;
} words[] = {
#define X(set, text) {WORD_##set, text},
#include "trace/code_name/code_name.def"
#undef X
};

/* "*Policy" stands for all that end so. */
static bool fits(const char *word, const char *p, const char *end)
{
	size_t n = strlen(word) - (*word == '*'), length = (size_t)(end - p);

	if (*word == '*')
		return length >= n && !memcmp(end - n, word + 1, n);
	return length == n && !memcmp(word, p, n);
}

static bool is_word(enum word_set set, const char *p, const char *end)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (words[i].set == set && fits(words[i].text, p, end))
			return true;
	return false;
}

/* The same without numbers at the end: Policy800, stage4, warpsize2x2x1. */
static bool is_numbered_word(enum word_set set, const char *p, const char *end)
{
	const char *to = end;

	while (to > p + 1 && (isdigit((unsigned char)to[-1]) ||
			      (to[-1] == 'x' && isdigit((unsigned char)to[-2]))))
		to--;
	return is_word(set, p, end) || is_word(set, p, to);
}

static bool is_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool begins(const char *p, const char *end, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(end - p) >= n && !memcmp(p, with, n);
}

/* ---- brackets ---- */

/* Behind "operator<<" and the like at @p, else @p. */
static const char *behind_operator(const char *start, const char *p, const char *end)
{
	if (!begins(p, end, OPERATOR) || (p > start && is_letter(p[-1])))
		return p;
	p += OPERATOR_LEN;
	if (begins(p, end, "()") || begins(p, end, "[]"))
		return p + 2;
	if (begins(p, end, "->"))
		return p + 2 + begins(p + 2, end, "*");
	while (p < end && strchr("<>=!+-*/&|^~%,", *p))
		p++;
	return p;
}

/* Behind the bracket that closes the one at @p; NULL: none does. */
static const char *behind_bracket(const char *p, const char *end)
{
	char open[64];
	size_t depth = 0;
	const char *start = p;

	while (p < end) {
		const char *past = behind_operator(start, p, end);

		if (past > p) {
			p = past;
			continue;
		}
		if (strchr("<({[", *p)) {
			if (depth == sizeof(open))
				return NULL;
			open[depth++] = *p;
		} else if (strchr(">)}]", *p) && !(*p == '>' && p > start && p[-1] == '-')) {
			if (!depth ||
			    strchr("<({[", open[depth - 1]) - "<({[" != strchr(">)}]", *p) - ">)}]")
				return NULL;
			if (--depth == 0)
				return p + 1;
		}
		p++;
	}
	return NULL;
}

/* The first of @stops outside of brackets, or @end. NULL: a bracket is not closed. */
static const char *find_outside(const char *p, const char *end, const char *stops)
{
	const char *start = p;

	while (p < end) {
		const char *past = behind_operator(start, p, end);

		if (past > p) {
			p = past;
			continue;
		}
		if (strchr(stops, *p) && (*p != ':' || (p + 1 < end && p[1] == ':')))
			return p;
		if (strchr("<({[", *p)) {
			p = behind_bracket(p, end);
			if (!p)
				return NULL;
		} else {
			p++;
		}
	}
	return end;
}

/* ---- parts ---- */

static uint32_t begin_part(struct gt_code_name *name, enum gt_part_kind kind, const char *start,
			   const char *end)
{
	uint32_t at = name->count;

	if (at == GT_NAME_PARTS)
		return UINT32_MAX;
	name->part[at] = (struct gt_name_part){.start = (uint32_t)(start - name->text),
					       .end = (uint32_t)(end - name->text),
					       .next = at + 1,
					       .kind = kind};
	name->count++;
	return at;
}

static void end_part(struct gt_code_name *name, uint32_t at)
{
	name->part[at].next = name->count;
}

/* The identifier that tells what a type is: the last one of its scopes. */
static void find_identifier(const char *p, const char *end, const char **ret_start,
			    const char **ret_end)
{
	const char *gap;

	*ret_start = p;
	while ((gap = find_outside(p, end, ":")) && gap < end) {
		p = gap + 2;
		*ret_start = p;
	}
	p = *ret_start;
	while (p < end && is_letter(*p))
		p++;
	*ret_end = p;
}

static bool is_numeric(const char *p, const char *end)
{
	while (p < end && strchr("*& ", end[-1]))
		end--;
	while (p < end) {
		const char *gap = memchr(p, ' ', (size_t)(end - p)), *to = gap ? gap : end;

		if (!is_numbered_word(WORD_NUMERIC, p, to))
			return false;
		p = gap ? gap + 1 : end;
	}
	return true;
}

static enum gt_part_kind kind_of_argument(const char *p, const char *end)
{
	const char *name, *name_end;

	if (begins(p, end, "true") || begins(p, end, "false") || begins(p, end, "(bool)"))
		return GT_PART_BOOL;
	if (p < end && (isdigit((unsigned char)*p) || *p == '-' || *p == '('))
		return begins(p, end, ANONYMOUS) ? GT_PART_FUNCTOR : GT_PART_NUMBER;
	if (is_numeric(p, end))
		return GT_PART_TYPE;
	find_identifier(p, end, &name, &name_end);
	return is_numbered_word(WORD_ACCESS, name, name_end) ? GT_PART_ACCESS : GT_PART_FUNCTOR;
}

static void find_entity(struct gt_code_name *name, const char *p, const char *end, bool whole);

/* What stands between brackets, divided by commas. @what: the kind of each, NAME: by its text. */
static void find_list(struct gt_code_name *name, const char *p, const char *end)
{
	while (p < end) {
		const char *comma = find_outside(p, end, ","), *to;
		uint32_t at;

		if (!comma)
			return;
		to = comma;
		while (to > p && to[-1] == ' ')
			to--;
		at = begin_part(name, kind_of_argument(p, to), p, to);
		if (at == UINT32_MAX)
			return;
		find_entity(name, p, to, false);
		end_part(name, at);
		p = comma + 1;
		while (p < end && *p == ' ')
			p++;
	}
}

/* Digits, "x", digits: 128x64. */
static bool is_tile(const char *p, const char *end)
{
	for (const char *x = p + 1; x + 1 < end; x++)
		if (*x == 'x' && isdigit((unsigned char)x[-1]) && isdigit((unsigned char)x[1]))
			return true;
	return false;
}

static bool is_number(const char *p, const char *end)
{
	while (p < end && isdigit((unsigned char)*p))
		p++;
	return p == end;
}

/* Behind the word that begins at @p: "Binary", "CUDA", "Op". */
static const char *behind_hump(const char *p, const char *end)
{
	for (p++; p < end; p++)
		if (isupper((unsigned char)*p) && (!isupper((unsigned char)p[-1]) ||
						   (p + 1 < end && islower((unsigned char)p[1]))))
			break;
	return p;
}

/* "Op", "Scalar", "Functor" of "BinaryOpScalarFunctor". */
static void find_humps(struct gt_code_name *name, const char *p, const char *end)
{
	const char *to;

	for (p = behind_hump(p, end); p < end; p = to) {
		bool is_minor;

		to = behind_hump(p, end);
		is_minor = is_word(WORD_HUMP, p, to);
		if (begin_part(name, is_minor ? GT_PART_MINOR_WORD : GT_PART_WORD, p, to) ==
		    UINT32_MAX)
			return;
	}
}

/* Words of a long identifier: "_80", "_tensorop", ... but for the first, and a number at the end.
 */
static void find_words(struct gt_code_name *name, const char *p, const char *end, bool whole)
{
	const char *to;

	if (end - p < (whole ? LONG_NAME : LONG_TYPE) || begins(p, end, "_Z"))
		return;
	while (p < end && *p == '_')
		p++;
	if (!memchr(p, '_', (size_t)(end - p))) {
		find_humps(name, p, end);
		return;
	}
	p = memchr(p, '_', (size_t)(end - p));
	if (!whole && !memchr(p + 1, '_', (size_t)(end - p - 1)))
		return; /* the only word is which one it is */
	for (; p; p = to < end ? to : NULL) {
		enum gt_part_kind kind = GT_PART_WORD;

		to = memchr(p + 1, '_', (size_t)(end - p - 1));
		to = to ? to : end;
		if (is_numbered_word(WORD_PART, p + 1, to))
			kind = GT_PART_MINOR_WORD;
		else if (is_tile(p + 1, to))
			kind = GT_PART_TILE;
		if (to == end && is_number(p + 1, to))
			return;
		if (begin_part(name, kind, p, to) == UINT32_MAX)
			return;
	}
}

/* The argument of a wrapper that says what is done: the first functor. False: none. */
static bool find_wrapped(const char *p, const char *end, const char **ret_start,
			 const char **ret_end)
{
	while (p < end) {
		const char *comma = find_outside(p, end, ","), *to = comma;

		if (!comma)
			return false;
		while (to > p && to[-1] == ' ')
			to--;
		if (kind_of_argument(p, to) == GT_PART_FUNCTOR) {
			*ret_start = p;
			*ret_end = to;
			return true;
		}
		p = comma + 1;
		while (p < end && *p == ' ')
			p++;
	}
	return false;
}

static const char *without_comma(const char *p, const char *end)
{
	while (end > p && strchr(", ", end[-1]))
		end--;
	return end;
}

/* "BinaryFunctor<float, f, int>" at @p, whose identifier ends at @mark: three parts, of which the
 * first and the last can go. Returns where it ends; NULL: it is none. */
static const char *find_wrapper(struct gt_code_name *name, const char *p, const char *mark,
				const char *end)
{
	const char *close, *start, *stop, *rest;
	uint32_t first, inside, last;

	if (mark == end || *mark != '<' || !is_word(WORD_WRAPPER, p, mark))
		return NULL;
	close = behind_bracket(mark, end);
	if (!close || !find_wrapped(mark + 1, close - 1, &start, &stop))
		return NULL;
	first = begin_part(name, GT_PART_WRAPPER, p, start);
	if (first == UINT32_MAX)
		return NULL;
	find_list(name, mark + 1, without_comma(mark + 1, start));
	end_part(name, first);
	name->part[first].kind = GT_PART_NAME; /* until there is a second half */
	inside = begin_part(name, GT_PART_FUNCTOR, start, stop);
	if (inside == UINT32_MAX)
		return NULL;
	find_entity(name, start, stop, false);
	end_part(name, inside);
	last = begin_part(name, GT_PART_WRAPPER, stop, close);
	if (last == UINT32_MAX)
		return NULL;
	name->part[first].kind = GT_PART_WRAPPER;
	for (rest = stop; rest < close - 1 && strchr(", ", *rest);)
		rest++;
	find_list(name, rest, close - 1);
	end_part(name, last);
	name->part[first].pair = last;
	name->part[last].pair = first;
	return close;
}

/* "(int, float) const" from @p on. */
static void find_parameters(struct gt_code_name *name, const char *p, const char *end)
{
	const char *close = behind_bracket(p, end);
	uint32_t at;

	if (!close)
		return;
	at = begin_part(name, GT_PART_SILENT, p, end);
	if (at == UINT32_MAX)
		return;
	find_list(name, p + 1, close - 1);
	for (uint32_t i = at + 1; i < name->count; i++)
		if (name->part[i].kind >= GT_PART_BOOL)
			name->part[i].kind = GT_PART_ACCESS; /* shown, they go before all others */
	end_part(name, at);
}

/* The arguments of an argument, "<float, 2>": a functor among them must not go with the others. */
static void find_inner_list(struct gt_code_name *name, const char *p, const char *close)
{
	uint32_t at = begin_part(name, GT_PART_LIST, p, close);

	if (at == UINT32_MAX)
		return;
	find_list(name, p + 1, close - 1);
	end_part(name, at);
	for (uint32_t i = at + 1; i < name->count; i++)
		if (name->part[i].kind == GT_PART_FUNCTOR)
			name->part[at].kind = GT_PART_NAME;
}

/* An identifier that ends at @mark: its words if it has any, and what follows: template arguments,
 * parameters. True: it is a wrapper. */
static bool find_identified(struct gt_code_name *name, const char *start, const char *mark,
			    const char *end, bool whole, bool has_words)
{
	const char *close, *p = whole ? NULL : find_wrapper(name, start, mark, end);

	if (p) {
		if (p < end && *p == '(')
			find_parameters(name, p, end);
		return true;
	}
	p = mark;
	if (has_words)
		find_words(name, start, mark, whole);
	if (begins(p, end, " <")) /* operator<< <int> */
		p++;
	if (p < end && *p == '<') {
		close = behind_bracket(p, end);
		if (!close)
			return false;
		if (whole)
			find_list(name, p + 1, close - 1);
		else
			find_inner_list(name, p, close);
		p = close;
	}
	if (p < end && *p == '(')
		find_parameters(name, p, end);
	return false;
}

static const char *behind_identifier(const char *p, const char *end)
{
	const char *start = p, *past = behind_operator(p, p, end);

	if (past > p) {
		if (begins(past, end, " ") && !begins(past, end, " <"))
			while (past < end && *past != '(') /* operator new, operator int */
				past++;
		return past;
	}
	if (begins(p, end, ANONYMOUS) || *p == '{') {
		past = behind_bracket(p, end);
		return past ? past : end;
	}
	while (p < end && (is_letter(*p) || *p == '~' || *p == '.' || ((unsigned char)*p & 0x80)))
		p++;
	return p == start ? end : p;
}

/* Does a lambda stand further inside than the scope that begins at @p? */
static bool has_lambda(const char *p, const char *end)
{
	while ((p = find_outside(p, end, ":")) && p < end) {
		p += 2;
		if (begins(p, end, LAMBDA))
			return true;
	}
	return false;
}

static bool is_in_code(const char *p, const char *end)
{
	return begins(p, end, LAMBDA) || begins(p, end, OPERATOR);
}

/* The kind of the scope @p, whose identifier ends at @mark, in front of @inside. */
static enum gt_part_kind kind_of_scope(const char *p, const char *mark, const char *inside,
				       const char *end, bool whole)
{
	if (is_word(WORD_SCOPE, p, mark))
		return GT_PART_SILENT;
	for (const char *version = p; version < mark; version++) /* CUB_200700_900_NS */
		if (*version == '_' && is_word(WORD_SCOPE, p, version + 1))
			return GT_PART_SILENT;
	if (is_in_code(p, mark))
		return has_lambda(p, end) ? GT_PART_SILENT : GT_PART_NAME;
	if (is_in_code(inside, end) || memchr(mark, '(', (size_t)(inside - mark)))
		return GT_PART_NAME;
	if (!whole)
		return GT_PART_INNER_SCOPE;
	return is_word(WORD_PART, inside, behind_identifier(inside, end)) ? GT_PART_LAST_SCOPE
									  : GT_PART_SCOPE;
}

/* "{lambda(int)#1}": its number goes. */
static void find_lambda(struct gt_code_name *name, const char *p, const char *end)
{
	const char *number = memrchr(p, '#', (size_t)(end - p));

	if (number && end[-1] == '}')
		begin_part(name, GT_PART_SILENT, number, end - 1);
}

/* The last one of the scopes of a name. */
static void find_last(struct gt_code_name *name, const char *p, const char *end, bool whole)
{
	const char *mark = behind_identifier(p, end);

	if (begins(p, end, LAMBDA))
		find_lambda(name, p, mark);
	find_identified(name, p, mark, end, whole, *p != '{' && *p != '(');
}

/* "::{lambda(float)#1}" in a function, with lambdas around it. */
static void find_body(struct gt_code_name *name, const char *p, const char *end)
{
	uint32_t at = begin_part(name, GT_PART_LAMBDA, p, end);

	if (at == UINT32_MAX)
		return;
	find_entity(name, p + 2, end, false);
	end_part(name, at);
}

/* "{lambda(int)#1}", or "operator()(int) const::{lambda(int)#1}" with one in it. */
static bool begins_body(const char *inside, const char *end)
{
	return begins(inside, end, LAMBDA) ||
	       (begins(inside, end, OPERATOR) && has_lambda(inside, end));
}

/* A qualified name of a function or type. */
static void find_entity(struct gt_code_name *name, const char *p, const char *end, bool whole)
{
	const char *gap;
	uint32_t at;
	bool is_wrapper = false;

	if (p == end || (*p == '(' && !begins(p, end, ANONYMOUS)) || begins(p, end, "decltype"))
		return;
	while ((gap = find_outside(p, end, ":")) && gap < end) {
		const char *mark = behind_identifier(p, gap), *inside = gap + 2;
		enum gt_part_kind kind = kind_of_scope(p, mark, inside, end, whole);
		bool is_named = kind == GT_PART_NAME && !whole;
		bool has_body = is_named && begins_body(inside, end);

		at = begin_part(name, kind, p, has_body ? gap : inside);
		if (at == UINT32_MAX)
			return;
		if (mark < gap)
			is_wrapper = find_identified(name, p, mark, gap, whole,
						     is_named && !is_in_code(p, mark));
		end_part(name, at);
		p = inside;
		if (has_body) {
			if (is_wrapper)
				begin_part(name, GT_PART_SILENT, gap, end);
			else
				find_body(name, gap, end);
			return;
		}
	}
	if (gap && p < end)
		find_last(name, p, end, whole);
}

/* ---- the whole ---- */

/* Looks like a C++ name with parameters or template arguments, not like "Memcpy HtoD (...)". */
static bool is_code(const char *p, const char *end)
{
	for (const char *at = p; at < end; at++)
		if ((*at == '(' && !begins(at, end, ANONYMOUS)) || *at == '<')
			return at > p && at[-1] != ' ';
	return memmem(p, (size_t)(end - p), "::", 2) ||
	       (!memchr(p, ' ', (size_t)(end - p)) && !memchr(p, '/', (size_t)(end - p)));
}

/* The name of a function behind the type that it returns, which templates have. */
static const char *behind_type(const char *p, const char *end)
{
	const char *open = find_outside(p, end, "("), *start = p, *gap;

	while (open && open < end && begins(open, end, ANONYMOUS)) {
		open = behind_bracket(open, end);
		open = open ? find_outside(open, end, "(") : NULL;
	}
	if (!open || open == end)
		return begins(p, end, "void ") ? p + 5 : p;
	while ((gap = find_outside(p, open, " ")) && gap < open) {
		if (gap[1] == '<') /* operator<< <int> */
			break;
		if (gap - start >= (ptrdiff_t)OPERATOR_LEN &&
		    !memcmp(gap - OPERATOR_LEN, OPERATOR, OPERATOR_LEN))
			break;
		if (gap > start && (begins(gap - 3 < start ? start : gap - 3, gap, "for") ||
				    begins(gap - 2 < start ? start : gap - 2, gap, "to")))
			return start;
		p = gap + 1;
	}
	return p;
}

void gt_name_parts_find(struct gt_code_name *name)
{
	const char *p = name->text, *end = p + name->length;

	name->count = 0;
	if (is_code(p, end))
		p = behind_type(p, end);
	begin_part(name, GT_PART_NAME, p, end);
	if (is_code(p, end))
		find_entity(name, p, end, true);
	end_part(name, 0);
}
