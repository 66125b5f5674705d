/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/schema/math_args.h"

#include <string.h>

#include "core/guest/text.h"
#include "core/schema/calls/shapes.h"

#define OVERFLOW "overflow"
#define DEFAULT  "default" /* CUBLAS_GEMM_DEFAULT */

static const char *const operations[] = {NULL, "N", "T", "C", "CONJG"};
static const char *const sides[] = {NULL, "left", "right"};
static const char *const directions[] = {NULL, "forward", "inverse"};

/* Of the sizes of a call, in the order of its bits; of a product, of a transform. */
static const enum gt_library_arg sizes_of[][4] = {
	{GT_LIBRARY_M, GT_LIBRARY_N, GT_LIBRARY_K, GT_LIBRARY_BATCH},
	{GT_LIBRARY_NX, GT_LIBRARY_NY, GT_LIBRARY_NZ, GT_LIBRARY_BATCH},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct math_put {
	struct gt_library_value *values;
	size_t count;
};

static void put_text(struct math_put *put, enum gt_library_arg arg, const char *text)
{
	if (text)
		put->values[put->count++] = (struct gt_library_value){.arg = arg, .text = text};
}

static void put_number(struct math_put *put, enum gt_library_arg arg, uint64_t number)
{
	if (number)
		put->values[put->count++] = (struct gt_library_value){.arg = arg, .number = number};
}

/* Below 0 only of a call that is wrong; as text, as a number here has no sign. */
static void put_size(struct math_put *put, enum gt_library_arg arg, int64_t size)
{
	struct gt_library_value *value = &put->values[put->count++];

	*value = (struct gt_library_value){.arg = arg, .number = (uint64_t)size};
	if (size >= 0)
		return;
	value->room[0] = '-';
	value->room[1 + gt_text_decimal(value->room + 1, 0 - (uint64_t)size)] = 0;
	value->text = value->room;
}

static void put_sizes(struct math_put *put, const struct gt_math_call *call)
{
	const int64_t sizes[] = {call->m, call->n, call->k, call->batch};

	for (unsigned int i = 0; i < COUNT(sizes); i++)
		if (call->sizes >> i & 1)
			put_size(put, sizes_of[gt_math_is_transform(call->function)][i], sizes[i]);
}

/* One group is no argument. */
static void put_shapes(struct math_put *put, const struct gt_math_call *call)
{
	struct gt_shapes shapes;
	uint8_t bytes[GT_SHAPES_BYTES];

	memcpy(bytes, call->shapes, sizeof(bytes));
	if (call->sizes || !gt_shapes_decode(bytes, &shapes))
		return;
	for (unsigned int part = 0; part < GT_SHAPES_PART_COUNT_; part++) {
		struct gt_library_value *value = &put->values[put->count];

		if ((part == GT_SHAPES_OF_GROUPS && shapes.groups == 1) ||
		    !gt_shapes_text(&shapes, (enum gt_shapes_part)part, value->room))
			continue;
		value->arg = (enum gt_library_arg)(GT_LIBRARY_INPUT + part);
		value->number = 0;
		value->text = value->room;
		put->count++;
	}
}

static void put_graph(struct math_put *put, const struct gt_math_call *call)
{
	struct gt_library_value *value = &put->values[put->count];

	if (call->has_algorithm || !call->operations)
		return;
	gt_math_operations(call->operations, value->room);
	value->arg = GT_LIBRARY_GRAPH;
	value->number = 0;
	value->text = value->room;
	put->count++;
}

static const char *word(const char *const *words, size_t count, uint8_t number)
{
	return number < count ? words[number] : NULL;
}

static void put_way(struct math_put *put, const struct gt_math_call *call)
{
	put_text(put, GT_LIBRARY_TRANSA, word(operations, COUNT(operations), call->transa));
	put_text(put, GT_LIBRARY_TRANSB, word(operations, COUNT(operations), call->transb));
	if (gt_math_is_transform(call->function))
		put_text(put, GT_LIBRARY_DIRECTION,
			 word(directions, COUNT(directions), call->side));
	else
		put_text(put, GT_LIBRARY_SIDE, word(sides, COUNT(sides), call->side));
	put_text(put, GT_LIBRARY_A, gt_math_type(call->a));
	put_text(put, GT_LIBRARY_B, gt_math_type(call->b));
	put_text(put, GT_LIBRARY_C, gt_math_type(call->c));
	put_text(put, GT_LIBRARY_COMPUTE, gt_math_compute(call->compute));
	if (call->has_algorithm && call->algorithm < 0)
		put_text(put, GT_LIBRARY_ALGORITHM, DEFAULT);
	else if (call->has_algorithm)
		put_size(put, GT_LIBRARY_ALGORITHM, call->algorithm);
	else if (!gt_math_is_network(call->function))
		put_text(put, GT_LIBRARY_EPILOGUE, gt_math_epilogue(call->epilogue));
}

size_t gt_math_values(const struct gt_math_call *call, bool of_kernel,
		      struct gt_library_value *ret_values)
{
	struct math_put put = {.values = ret_values};

	if (!call->function)
		return 0;
	put_text(&put, GT_LIBRARY_LIBRARY, gt_math_library(call->function));
	if (of_kernel)
		put_text(&put, GT_LIBRARY_CALL, gt_math_function(call->function));
	put_sizes(&put, call);
	put_number(&put, GT_LIBRARY_NNZ, call->nnz);
	if (gt_math_is_network(call->function)) {
		put_shapes(&put, call);
		put_graph(&put, call);
	}
	put_way(&put, call);
	if (call->overflow)
		put_text(&put, GT_LIBRARY_FLOPS, OVERFLOW);
	else
		put_number(&put, GT_LIBRARY_FLOPS, call->flops);
	put_number(&put, GT_LIBRARY_OPERANDS, call->bytes);
	put_text(&put, GT_LIBRARY_UNKNOWN, gt_math_unknown(call->unknown));
	put_number(&put, GT_LIBRARY_NUMBER, call->number);
	return put.count;
}

/* ---- what is read ---- */

static bool is(const char *known, const char *text, size_t length)
{
	return known && strlen(known) == length && !memcmp(known, text, length);
}

static uint8_t find_word(const char *const *words, size_t count, const char *text, size_t length)
{
	for (size_t i = 0; i < count; i++)
		if (is(words[i], text, length))
			return (uint8_t)i;
	return 0;
}

static void set_size(struct gt_math_call *call, enum gt_library_arg arg, int64_t size)
{
	int64_t *const sizes[] = {&call->m, &call->n, &call->k, &call->batch};

	for (unsigned int i = 0; i < COUNT(sizes); i++)
		if (arg == sizes_of[0][i] || arg == sizes_of[1][i]) {
			*sizes[i] = size;
			call->sizes |= 1u << i & 15;
		}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static uint64_t digits(const char *text, size_t length)
{
	uint64_t value = 0;

	for (size_t i = 0; i < length && is_digit(text[i]); i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	return value;
}

static void set_algorithm(struct gt_math_call *call, int32_t algorithm)
{
	call->has_algorithm = true;
	call->algorithm = algorithm;
}

static void set_word(struct gt_math_call *call, enum gt_library_arg arg, const char *text,
		     size_t length)
{
	if (arg == GT_LIBRARY_TRANSA)
		call->transa = find_word(operations, COUNT(operations), text, length) & 7;
	else if (arg == GT_LIBRARY_TRANSB)
		call->transb = find_word(operations, COUNT(operations), text, length) & 7;
	else if (arg == GT_LIBRARY_DIRECTION)
		call->side = find_word(directions, COUNT(directions), text, length) & 3;
	else if (arg == GT_LIBRARY_SIDE)
		call->side = find_word(sides, COUNT(sides), text, length) & 3;
	else if (arg == GT_LIBRARY_A)
		call->a = gt_math_find_type(text, length);
	else if (arg == GT_LIBRARY_B)
		call->b = gt_math_find_type(text, length);
	else if (arg == GT_LIBRARY_C)
		call->c = gt_math_find_type(text, length);
	else if (arg == GT_LIBRARY_COMPUTE)
		call->compute = gt_math_find_compute(text, length);
	else if (arg == GT_LIBRARY_UNKNOWN)
		call->unknown = gt_math_find_unknown(text, length) & 15;
	else if (arg == GT_LIBRARY_EPILOGUE && !call->has_algorithm)
		call->epilogue = gt_math_find_epilogue(text, length);
}

static bool set_shapes(struct gt_math_call *call, enum gt_library_arg arg, const char *text,
		       size_t length)
{
	struct gt_shapes shapes = {0};

	if (arg < GT_LIBRARY_INPUT || arg > GT_LIBRARY_GROUPS)
		return false;
	gt_shapes_decode(call->shapes, &shapes);
	gt_shapes_parse(&shapes, (enum gt_shapes_part)(arg - GT_LIBRARY_INPUT), text, length);
	gt_shapes_code(&shapes, call->shapes);
	return true;
}

/* A number that is too large for JSON is a text, too. */
void gt_math_set_text(struct gt_math_call *call, enum gt_library_arg arg, const char *text,
		      size_t length)
{
	if (set_shapes(call, arg, text, length))
		return;
	if (arg == GT_LIBRARY_GRAPH)
		call->operations = gt_math_find_operations(text, length);
	else if (length && is_digit(*text))
		gt_math_set_number(call, arg, digits(text, length));
	else if (arg == GT_LIBRARY_CALL)
		call->function = gt_math_find_function(text, length) & GT_MATH_FUNCTIONS;
	else if (arg == GT_LIBRARY_FLOPS)
		call->overflow = is(OVERFLOW, text, length);
	else if (arg == GT_LIBRARY_ALGORITHM)
		set_algorithm(call, -1);
	else if (length && *text == '-')
		set_size(call, arg, (int64_t)(0 - digits(text + 1, length - 1)));
	else
		set_word(call, arg, text, length);
}

void gt_math_set_number(struct gt_math_call *call, enum gt_library_arg arg, uint64_t number)
{
	if (arg == GT_LIBRARY_FLOPS)
		call->flops = number;
	else if (arg == GT_LIBRARY_OPERANDS)
		call->bytes = number;
	else if (arg == GT_LIBRARY_NNZ)
		call->nnz = number;
	else if (arg == GT_LIBRARY_NUMBER)
		call->number = (uint32_t)number;
	else if (arg == GT_LIBRARY_ALGORITHM)
		set_algorithm(call, (int32_t)number);
	else
		set_size(call, arg, (int64_t)number);
}
