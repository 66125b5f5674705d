/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators' names, see the header.
 */
#include "pipeline/ranges/operator_name.h"

#include <string.h>

#define BACKWARD "autograd::engine::evaluate_function"

struct text {
	const char *at, *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool take(struct text *text, const char *word)
{
	size_t length = strlen(word);

	if ((size_t)(text->end - text->at) < length || memcmp(text->at, word, length) != 0)
		return false;
	text->at += length;
	return true;
}

static bool take_number(struct text *text, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *begin = text->at;

	while (text->at < text->end && is_digit(*text->at) && number < UINT64_MAX / 10 - 1)
		number = number * 10 + (uint64_t)(*text->at++ - '0');
	if (text->at == begin || (text->at < text->end && is_digit(*text->at)))
		return false;
	*ret_number = number;
	return true;
}

/* A list of lists of whole numbers, as JSON has them. False: anything else. */
static bool take_list(struct text *text, unsigned int depth)
{
	uint64_t number;
	bool more = true;

	if (depth > 4 || !take(text, "["))
		return false;
	if (take(text, "]"))
		return true;
	while (more) {
		bool negative = take(text, "-");

		if (!take_number(text, &number) && (negative || !take_list(text, depth + 1)))
			return false;
		more = take(text, ", ");
	}
	return take(text, "]");
}

static bool take_word(struct text *text)
{
	const char *begin = text->at;

	while (text->at < text->end && is_word(*text->at))
		text->at++;
	return text->at > begin;
}

/* "aten::mm", "aten::add_.Tensor", "torch::autograd::AccumulateGrad": words with :: between the
 * first two, and nothing but :: and dots between the others. */
static bool has_namespace(struct text text)
{
	if (text.at == text.end || is_digit(*text.at) || !take_word(&text) || !take(&text, "::"))
		return false;
	while (take_word(&text)) {
		if (text.at == text.end)
			return true;
		if (!take(&text, "::") && !take(&text, "."))
			return false;
	}
	return false;
}

/* PyTorch's operators without a namespace, which run in aten::detach and aten::detach_:
 * torch/csrc/autograd/VariableTypeManual.cpp. */
static bool is_manual(struct text text)
{
	bool is_detach = take(&text, "detach");

	take(&text, "_");
	return is_detach && text.at == text.end;
}

static void take_sequence(struct text *text, struct gt_operator_name *name)
{
	struct text rest = *text;

	if (!take(&rest, ", seq = ") && !take(&rest, ", stashed seq = "))
		return;
	name->has_sequence = take_number(&rest, &name->sequence);
	if (name->has_sequence)
		*text = rest;
}

static void take_dims(struct text *text, struct gt_operator_name *name)
{
	const char *begin;

	if (!take(text, ", sizes = "))
		return;
	begin = text->at;
	if (!take_list(text, 0)) /* cut off */
		return;
	name->dims = begin;
	name->dims_length = (size_t)(text->at - begin);
}

/* The length of the name: up to what PyTorch puts behind it. Names may have commas too. */
static size_t find_end(const char *text, size_t length)
{
	struct gt_operator_name unused = {0};
	const char *end = text + length, *comma = text;

	while ((comma = memmem(comma, (size_t)(end - comma), ", ", 2))) {
		struct text rest = {comma, end};

		take_sequence(&rest, &unused);
		if (rest.at != comma || take(&rest, ", op_id = ") || take(&rest, ", sizes = "))
			return (size_t)(comma - text);
		comma += 2;
	}
	return length;
}

bool gt_operator_name_parse(const char *text, size_t length, struct gt_operator_name *ret_name)
{
	struct gt_operator_name name = {.length = find_end(text, length)};
	struct text rest = {text + name.length, text + length};
	uint64_t number;

	take_sequence(&rest, &name);
	if (take(&rest, ", op_id = "))
		take_number(&rest, &number);
	take_dims(&rest, &name);
	rest = (struct text){text, text + name.length};
	name.is_backward = take(&rest, BACKWARD);
	*ret_name = name;
	return name.length &&
	       (name.has_sequence || name.is_backward || has_namespace(rest) || is_manual(rest));
}
