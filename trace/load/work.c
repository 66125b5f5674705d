/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "trace/load/work.h"

#include <string.h>

#include "core/schema/math_call.h"

/* ---- in which type ---- */

static const struct {
	const char *compute, *a; /* NULL: any */
	enum gt_work_type type;
} types[] = {
	{"CUBLAS_COMPUTE_64F", NULL, GT_WORK_F64},
	{"CUBLAS_COMPUTE_64F_PEDANTIC", NULL, GT_WORK_F64},
	{"CUBLAS_COMPUTE_16F", NULL, GT_WORK_F16},
	{"CUBLAS_COMPUTE_16F_PEDANTIC", NULL, GT_WORK_F16},
	{"CUBLAS_COMPUTE_32F_FAST_16F", NULL, GT_WORK_F16},
	{"CUBLAS_COMPUTE_32F_FAST_16BF", NULL, GT_WORK_BF16},
	{"CUBLAS_COMPUTE_32F_FAST_TF32", NULL, GT_WORK_TF32},
	{"CUBLAS_COMPUTE_32F_PEDANTIC", "Float", GT_WORK_F32},
	{"CUBLAS_COMPUTE_32F", "Float", GT_WORK_F32},
	{"CUBLAS_COMPUTE_32F", "ComplexFloat", GT_WORK_F32},
	{"CUBLAS_COMPUTE_32F", "Half", GT_WORK_F16},
	{"CUBLAS_COMPUTE_32F", "BFloat16", GT_WORK_BF16},
	{"CUBLAS_COMPUTE_32F", "Float8_e4m3fn", GT_WORK_F8},
	{"CUBLAS_COMPUTE_32F", "Float8_e5m2", GT_WORK_F8},
	{"Float", "Float", GT_WORK_F32}, /* of cuFFT */
	{"Float", "ComplexFloat", GT_WORK_F32},
	{"Float", "Half", GT_WORK_F16}, /* of cuDNN */
	{"Float", "BFloat16", GT_WORK_BF16},
	{"Float", "Float8_e4m3fn", GT_WORK_F8},
	{"Float", "Float8_e5m2", GT_WORK_F8},
	{"Half", "Half", GT_WORK_F16},
	{"Int", "Char", GT_WORK_I8},
	{"Double", NULL, GT_WORK_F64},
	{"CUBLAS_COMPUTE_32I", "Char", GT_WORK_I8},
	{"CUBLAS_COMPUTE_32I_PEDANTIC", "Char", GT_WORK_I8},
};

enum gt_work_type gt_work_type_of(uint8_t compute, uint8_t a)
{
	const char *way = gt_math_compute(compute), *operand = gt_math_type(a);

	for (size_t i = 0; way && i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].compute, way) &&
		    (!types[i].a || (operand && !strcmp(types[i].a, operand))))
			return types[i].type;
	return GT_WORK_UNKNOWN;
}

/* ---- operators of PyTorch ---- */

#define MOST_DIMS   3
#define MOST_INPUTS 3

/* Operators, the place of the first matrix among their inputs, and its dimensions. */
static const struct {
	const char *name;
	unsigned int first, dims;
} operators[] = {
	{"aten::mm", 0, 2},
	{"aten::addmm", 1, 2},
	{"aten::bmm", 0, 3},
	{"aten::baddbmm", 1, 3},
};

/* "float" may be computed in TF32. */
static const struct {
	const char *name;
	unsigned int bytes;
	enum gt_work_type type;
} inputs[] = {
	{"float", 4, GT_WORK_UNKNOWN},
	{"double", 8, GT_WORK_F64},
	{"c10::Half", 2, GT_WORK_F16},
	{"c10::BFloat16", 2, GT_WORK_BF16},
};

struct shape {
	uint64_t size[MOST_DIMS];
	unsigned int dims; /* more than MOST_DIMS: not read */
};

struct work_text {
	const char *at, *end;
};

static bool skip_to(struct work_text *text, const char *any)
{
	while (text->at < text->end && !strchr(any, *text->at))
		text->at++;
	return text->at < text->end;
}

static uint64_t read_number(struct work_text *text)
{
	uint64_t value = 0;

	while (text->at < text->end && *text->at >= '0' && *text->at <= '9') {
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text->at - '0'), &value))
			value = UINT64_MAX / 10;
		text->at++;
	}
	return value;
}

/* One "[4, 16]"; behind its bracket. A list of tensors has more brackets: it is no matrix. */
static struct shape read_shape(struct work_text *text)
{
	struct shape shape = {.dims = 0};

	while (skip_to(text, "[]0123456789") && *text->at != ']') {
		if (*text->at == '[') {
			shape.dims = MOST_DIMS + 1;
			text->at++;
			continue;
		}
		if (shape.dims < MOST_DIMS)
			shape.size[shape.dims] = read_number(text);
		else
			read_number(text);
		shape.dims++;
	}
	text->at += text->at < text->end;
	return shape;
}

/* How many of the first inputs there are. */
static unsigned int read_shapes(const char *dims, size_t length, struct shape shapes[MOST_INPUTS])
{
	struct work_text text = {dims, dims + length};
	unsigned int count = 0;

	if (!length || *text.at++ != '[')
		return 0;
	while (count < MOST_INPUTS && skip_to(&text, "[]") && *text.at == '[') {
		text.at++;
		shapes[count++] = read_shape(&text);
	}
	return count;
}

/* Number @which of the strings of a list, from 0. */
static bool string_at(const char *list, size_t length, unsigned int which,
		      struct work_text *ret_string)
{
	struct work_text text = {list, list + length};

	for (unsigned int i = 0; skip_to(&text, "\""); i++) {
		ret_string->at = ++text.at;
		if (!skip_to(&text, "\""))
			return false;
		ret_string->end = text.at++;
		if (i == which)
			return true;
	}
	return false;
}

static uint64_t product(uint64_t a, uint64_t b, bool *overflow)
{
	*overflow |= __builtin_mul_overflow(a, b, &a);
	return a;
}

static uint64_t elements(const struct shape *shape, bool *overflow)
{
	uint64_t count = 1;

	for (unsigned int i = 0; i < shape->dims; i++)
		count = product(count, shape->size[i], overflow);
	return count;
}

static void take_type(const char *types_text, size_t length, unsigned int which, uint64_t count,
		      struct gt_model_work *work)
{
	struct work_text name;
	bool overflow = false;

	if (!types_text || !string_at(types_text, length, which, &name))
		return;
	for (size_t i = 0; i < sizeof(inputs) / sizeof(inputs[0]); i++) {
		if (strlen(inputs[i].name) != (size_t)(name.end - name.at) ||
		    memcmp(inputs[i].name, name.at, (size_t)(name.end - name.at)) != 0)
			continue;
		work->type = (uint8_t)inputs[i].type;
		work->bytes = product(count, inputs[i].bytes, &overflow);
		work->bytes = overflow || work->bytes > INT64_MAX ? 0 : work->bytes;
	}
}

/* [b,] m x k times [b,] k x n. */
static bool are_factors(const struct shape *a, const struct shape *b, unsigned int dims)
{
	return a->dims == dims && b->dims == dims && a->size[dims - 1] == b->size[dims - 2] &&
	       (dims == 2 || a->size[0] == b->size[0]);
}

bool gt_work_of_operator(const char *name, const char *dims, size_t dims_length, const char *types_,
			 size_t types_length, struct gt_model_work *ret_work)
{
	struct shape shapes[MOST_INPUTS];
	unsigned int i = 0, count;
	bool overflow = false, too_many = false;
	const struct shape *a, *b;
	uint64_t columns, out, all;

	while (i < sizeof(operators) / sizeof(operators[0]) && strcmp(operators[i].name, name) != 0)
		i++;
	if (i == sizeof(operators) / sizeof(operators[0]))
		return false;
	count = read_shapes(dims, dims_length, shapes);
	if (count < operators[i].first + 2)
		return false;
	a = &shapes[operators[i].first];
	b = a + 1;
	if (!are_factors(a, b, operators[i].dims))
		return false;
	columns = b->size[b->dims - 1];
	ret_work->flops =
		product(2, product(elements(a, &overflow), columns, &overflow), &overflow);
	ret_work->overflow = overflow || ret_work->flops > INT64_MAX;
	ret_work->flops = ret_work->overflow ? 0 : ret_work->flops;
	out = product(a->size[a->dims - 2], columns, &too_many);
	out = a->dims == 3 ? product(out, a->size[0], &too_many) : out;
	too_many |= __builtin_add_overflow(elements(a, &too_many), elements(b, &too_many), &all);
	too_many |= __builtin_add_overflow(all, out, &all);
	ret_work->type = GT_WORK_UNKNOWN;
	ret_work->bytes = 0;
	if (!too_many)
		take_type(types_, types_length, operators[i].first, all, ret_work);
	return true;
}
