/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/cudnn_graph.h"

#include <stddef.h>

#include "core/schema/calls/shapes.h"
#include "preload/libraries/cublas_args.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FLOAT        1
#define MOST         8 /* operations of a graph that are named */

/* From cudnnDataType_t. Vectors of 4 or 32 bytes are bytes: dimensions count those. */
static const uint8_t types[] = {1, 2,  3,  4, 11, 4,  9,  9,  4,  15, 25,
				0, 29, 30, 1, 31, 34, 17, 19, 13, 5,  6};

uint8_t cudnn_type(int64_t type)
{
	return type >= 0 && type < (int64_t)COUNT(types) ? types[type] : 0;
}

/* A number that remembers that it has become too large. */
struct large {
	uint64_t value;
	bool overflow;
};

static struct large times(struct large a, int64_t factor)
{
	a.overflow |= factor < 0 || __builtin_mul_overflow(a.value, (uint64_t)factor, &a.value);
	return a;
}

/* Of the dimensions from @first on. */
static struct large elements(const struct cudnn_tensor *tensor, unsigned int first)
{
	struct large all = {1, false};

	for (unsigned int i = first; i < tensor->rank && i < CUDNN_RANK; i++)
		all = times(all, tensor->dims[i]);
	return all;
}

void cudnn_describe_shape(struct gt_math_call *call, const struct cudnn_tensor *tensor)
{
	struct gt_shapes shapes = {.rank = tensor->rank};

	for (unsigned int i = 0; i < tensor->rank && i < GT_SHAPES_RANK; i++)
		shapes.input[i] = (uint64_t)tensor->dims[i];
	gt_shapes_code(&shapes, call->shapes);
	call->a = tensor->type;
}

/* ---- an operation ---- */

static void set_types(struct gt_math_call *call, const struct cudnn_operation *o)
{
	call->a = o->x.type;
	call->b = o->w.type;
	call->c = o->y.type;
	/* single precision may be computed in TF32, which no descriptor says */
	call->compute = call->a == FLOAT && o->window.compute == FLOAT ? 0 : o->window.compute;
}

/* Padding that is not the same on both sides has no place in a trace. */
static bool is_even(const struct cudnn_window *window)
{
	for (unsigned int i = 0; i < window->places && i < CUDNN_PLACES; i++)
		if (window->before[i] != window->after[i])
			return false;
	return true;
}

static void show_convolution(struct gt_math_call *call, const struct cudnn_operation *o)
{
	struct gt_shapes s = {.rank = o->x.rank, .is_convolution = true};

	for (unsigned int i = 0; i < o->x.rank && i < GT_SHAPES_RANK; i++)
		s.input[i] = (uint64_t)o->x.dims[i];
	s.channels = (uint64_t)o->w.dims[0];
	s.groups = o->w.dims[1] > 0 ? s.input[1] / (uint64_t)o->w.dims[1] : 0;
	for (unsigned int i = 0; i < o->window.places && i < GT_SHAPES_PLACE; i++) {
		s.filter[i] = (uint64_t)o->w.dims[2 + i];
		s.padding[i] = (uint64_t)o->window.before[i];
		s.stride[i] = (uint64_t)o->window.stride[i];
		s.dilation[i] = (uint64_t)o->window.dilation[i];
	}
	if (is_even(&o->window))
		gt_shapes_code(&s, call->shapes);
}

/* For each element of the output, the filter of its channel; a gradient multiplies as often. */
static bool count_convolution(const struct cudnn_operation *o, struct large *ret_flops)
{
	if (o->x.rank < 3 || o->x.rank != o->w.rank || o->x.rank != o->y.rank ||
	    o->window.places != o->x.rank - 2 || o->w.dims[1] <= 0 ||
	    o->x.dims[1] % o->w.dims[1] != 0)
		return false;
	*ret_flops = elements(&o->y, 0);
	for (unsigned int i = 1; i < o->w.rank; i++)
		*ret_flops = times(*ret_flops, o->w.dims[i]);
	*ret_flops = times(*ret_flops, 2);
	return true;
}

static void show_matmul(struct gt_math_call *call, const struct cudnn_operation *o)
{
	unsigned int last = o->y.rank - 1u;
	struct large batch = {1, false};

	for (unsigned int i = 0; i + 1 < last; i++)
		batch = times(batch, o->y.dims[i]);
	if (batch.overflow || batch.value > INT64_MAX)
		return;
	call->sizes = GT_MATH_M | GT_MATH_N | GT_MATH_K | (batch.value == 1 ? 0 : GT_MATH_BATCH);
	call->m = o->y.dims[last - 1];
	call->n = o->y.dims[last];
	call->k = o->x.dims[last];
	call->batch = (int64_t)batch.value;
}

static bool count_matmul(const struct cudnn_operation *o, struct large *ret_flops)
{
	if (o->x.rank < 2 || o->x.rank != o->w.rank || o->x.rank != o->y.rank)
		return false;
	*ret_flops = times(times(elements(&o->y, 0), o->x.dims[o->x.rank - 1]), 2);
	return true;
}

static bool is_width(int64_t width)
{
	return width > 0 && width <= INT32_MAX;
}

/* Q K^T and P V; their gradients take two products each, and Q K^T once more. */
static bool count_attention(const struct cudnn_operation *o, struct large *ret_flops)
{
	bool back = o->kind == GT_MATH_ATTENTION_GRADIENT;
	int64_t width, wide;

	if (o->x.rank != 4 || o->w.rank != 4 || o->y.rank != 4 || o->y.dims[3] != o->w.dims[3] ||
	    o->y.dims[2] != o->x.dims[2] || !is_width(o->x.dims[3]) || !is_width(o->w.dims[3]))
		return false;
	width = o->x.dims[3];
	wide = o->w.dims[3];
	*ret_flops = (struct large){2, false};
	for (unsigned int i = 0; i < 3; i++)
		*ret_flops = times(*ret_flops, o->x.dims[i]);
	*ret_flops =
		times(times(*ret_flops, o->w.dims[2]), back ? 3 * width + 2 * wide : width + wide);
	return true;
}

static const struct {
	bool (*count)(const struct cudnn_operation *, struct large *);
	void (*show)(struct gt_math_call *, const struct cudnn_operation *);
} products[GT_MATH_OPERATION_COUNT_] = {
	[GT_MATH_CONVOLUTION] = {count_convolution, show_convolution},
	[GT_MATH_CONVOLUTION_DATA] = {count_convolution, show_convolution},
	[GT_MATH_CONVOLUTION_FILTER] = {count_convolution, show_convolution},
	[GT_MATH_MATMUL] = {count_matmul, show_matmul},
	[GT_MATH_ATTENTION] = {count_attention, NULL},
	[GT_MATH_ATTENTION_GRADIENT] = {count_attention, NULL},
};

/* ---- a graph ---- */

static void add_bytes(struct cudnn_work *work, const struct cudnn_tensor *tensor)
{
	struct large bits = times(elements(tensor, 0), gt_math_type_bits(tensor->type));

	work->no_bytes |=
		!tensor->type || bits.overflow ||
		__builtin_add_overflow(work->call.bytes, (bits.value + 7) / 8, &work->call.bytes);
}

/* What is virtual is in no memory. The output of the one product of a graph is, as what follows it
 * in the same kernel writes as many. */
static void add_operands(struct cudnn_work *work, const struct cudnn_operation *o)
{
	if (!o->x.is_virtual)
		add_bytes(work, &o->x);
	if (!o->w.is_virtual)
		add_bytes(work, &o->w);
	if (!o->y.is_virtual)
		add_bytes(work, &o->y);
	else if (work->products == 1)
		work->output = o->y;
}

static void name(struct cudnn_work *work, uint32_t kind)
{
	if (work->operations < MOST)
		work->call.operations |= (kind ? kind : GT_MATH_OTHER) << 4 * work->operations;
	else
		work->call.operations =
			(work->call.operations & 0x0fffffff) | (uint32_t)GT_MATH_MORE << 28;
	work->operations++;
}

static bool is_possible(const struct cudnn_tensor *tensor)
{
	for (unsigned int i = 0; i < tensor->rank && i < CUDNN_RANK; i++)
		if (tensor->dims[i] < 0)
			return false;
	return true;
}

static bool count(const struct cudnn_operation *o, struct large *ret_flops)
{
	return is_possible(&o->x) && is_possible(&o->w) && is_possible(&o->y) &&
	       products[o->kind].count(o, ret_flops);
}

static enum gt_math_unknown why_not(const struct cudnn_operation *o)
{
	if (!o->x.rank || !o->w.rank || !o->y.rank)
		return GT_MATH_UNKNOWN_DESCRIPTOR;
	return o->varies ? GT_MATH_SIZES_KNOWN : GT_MATH_OUT_OF_RANGE;
}

void cudnn_work_add(struct cudnn_work *work, const struct cudnn_operation *o)
{
	uint32_t kind = o->kind < GT_MATH_OPERATION_COUNT_ ? o->kind : GT_MATH_OTHER;
	struct large flops;

	name(work, kind);
	if (!products[kind].count)
		return;
	work->products++;
	if (o->varies || !count(o, &flops)) {
		work->incomplete = true;
		work->call.unknown = (work->call.unknown ? work->call.unknown : why_not(o)) & 15;
		return;
	}
	if (work->products == 1) {
		set_types(&work->call, o);
		if (products[kind].show)
			products[kind].show(&work->call, o);
	}
	work->call.overflow |=
		flops.overflow ||
		__builtin_add_overflow(work->call.flops, flops.value, &work->call.flops) ||
		work->call.flops > INT64_MAX;
	add_operands(work, o);
	work->no_bytes |= !products[kind].show; /* of attention K has no place here */
}

struct gt_math_call cudnn_work_call(const struct cudnn_work *work)
{
	struct cudnn_work whole = *work;
	struct gt_math_call call;

	if (whole.products == 1 && whole.output.rank)
		add_bytes(&whole, &whole.output);
	call = whole.call;
	call.overflow = call.overflow && !work->incomplete;
	if (work->incomplete || call.overflow)
		call.flops = 0;
	if (work->incomplete || whole.no_bytes || call.bytes > INT64_MAX)
		call.bytes = 0;
	return call;
}
