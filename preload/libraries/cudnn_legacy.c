/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors of cuDNN's legacy functions, see cudnn_backend.h. Its public getters are asked, on
 * the thread that calls: they read memory only.
 */
#include <stdatomic.h>
#include <stddef.h>

#include "core/schema/calls/shapes.h"
#include "preload/libraries/cublas_args.h"
#include "preload/libraries/cudnn_backend.h"
#include "preload/libraries/cudnn_graph.h"
#include "preload/libraries/freed.h"
#include "preload/libraries/math.h"

#define EXPORTED __attribute__((visibility("default")))
#define FMA_MATH 3 /* CUDNN_FMA_MATH: no tensor cores */
#define FLOAT    1
#define FIRST_9  90000u
#define FIRST_10 100000u
#define FIRST_8  8000u
#define FIRST_V9 9000u /* behind the last version of 8 */
#define STATUS_8 9     /* CUDNN_STATUS_NOT_SUPPORTED */
#define STATUS_9 3000

static const char *const sonames[] = {"libcudnn.so.9",           "libcudnn.so.8",
				      "libcudnn_ops.so.9",       "libcudnn_cnn.so.9",
				      "libcudnn_graph.so.9",     "libcudnn_ops_infer.so.8",
				      "libcudnn_cnn_infer.so.8", NULL};
const struct real_library cudnn_library = {"libcudnn", sonames};

enum getter {
	VERSION,
	TENSOR,
	FILTER,
	CONVOLUTION,
	MATH,
	MAKE_TENSOR,
	MAKE_FILTER,
	MAKE_CONVOLUTION,
	FREE_TENSOR,
	FREE_FILTER,
	FREE_CONVOLUTION,
	GETTER_COUNT
};

static const char *const names[GETTER_COUNT] = {
	[VERSION] = "cudnnGetVersion",
	[TENSOR] = "cudnnGetTensorNdDescriptor",
	[FILTER] = "cudnnGetFilterNdDescriptor",
	[CONVOLUTION] = "cudnnGetConvolutionNdDescriptor",
	[MATH] = "cudnnGetConvolutionMathType",
	[MAKE_TENSOR] = "cudnnCreateTensorDescriptor",
	[MAKE_FILTER] = "cudnnCreateFilterDescriptor",
	[MAKE_CONVOLUTION] = "cudnnCreateConvolutionDescriptor",
	[FREE_TENSOR] = "cudnnDestroyTensorDescriptor",
	[FREE_FILTER] = "cudnnDestroyFilterDescriptor",
	[FREE_CONVOLUTION] = "cudnnDestroyConvolutionDescriptor",
};
static struct gt_behind functions[GETTER_COUNT];

/* Of the library that this thread went on to last. */
static void *getter(enum getter which)
{
	return gt_behind_ask(&functions[which], names[which], sonames);
}

static void *real_of(enum getter which, const void *caller)
{
	void *real = gt_behind_known(&functions[which]);

	return __builtin_expect(real != NULL, 1)
		       ? real
		       : gt_behind_look(&functions[which], names[which], sonames, caller);
}

static uint64_t version(void)
{
	size_t (*ask)(void) = (size_t(*)(void))getter(VERSION);

	return ask ? ask() : 0;
}

int cudnn_not_supported(void)
{
	return version() && version() < FIRST_9 ? STATUS_8 : STATUS_9;
}

bool cudnn_is_known(void)
{
	static _Atomic int of_caller[1 + GT_BEHIND_CALLERS]; /* 1: yes, 2: no */
	static void *_Atomic first;
	_Atomic int *known = &of_caller[gt_behind_caller()];
	int is = atomic_load_explicit(known, memory_order_relaxed);
	void *asked = NULL, *getter_now;
	uint64_t number;

	if (__builtin_expect(is != 0, 1))
		return is == 1;
	getter_now = getter(VERSION);
	if (!atomic_compare_exchange_strong(&first, &asked, getter_now) && asked != getter_now) {
		atomic_store_explicit(known, 2, memory_order_relaxed); /* a second libcudnn */
		return false;
	}
	number = version();
	is = (number >= FIRST_8 && number < FIRST_V9) || (number >= FIRST_9 && number < FIRST_10)
		     ? 1
		     : 2;
	if (atomic_exchange_explicit(known, is, memory_order_relaxed) != is && is == 2)
		math_unknown("libcudnn", number);
	return is == 1;
}

/* What has been destroyed is not asked. */
static bool can_be_asked(const void *descriptor)
{
	return descriptor && !freed_has((uintptr_t)descriptor);
}

static void take(struct cudnn_tensor *tensor, int type, int rank, const int *dims)
{
	if (rank < 1 || rank > CUDNN_RANK)
		return;
	for (int i = 0; i < rank; i++)
		tensor->dims[i] = dims[i];
	tensor->rank = (uint8_t)rank;
	tensor->type = cudnn_type(type);
}

static void read_tensor(const void *descriptor, struct cudnn_tensor *ret_tensor)
{
	int (*ask)(const void *, int, int *, int *, int *, int *) =
		(int (*)(const void *, int, int *, int *, int *, int *))getter(TENSOR);
	int dims[CUDNN_RANK], strides[CUDNN_RANK], type, rank;

	if (ask && can_be_asked(descriptor) &&
	    !ask(descriptor, CUDNN_RANK, &type, &rank, dims, strides))
		take(ret_tensor, type, rank, dims);
}

static void read_filter(const void *descriptor, struct cudnn_tensor *ret_tensor)
{
	int (*ask)(const void *, int, int *, int *, int *, int *) =
		(int (*)(const void *, int, int *, int *, int *, int *))getter(FILTER);
	int dims[CUDNN_RANK], type, order, rank;

	if (ask && can_be_asked(descriptor) &&
	    !ask(descriptor, CUDNN_RANK, &type, &order, &rank, dims))
		take(ret_tensor, type, rank, dims);
}

static void read_window(const void *descriptor, struct cudnn_window *ret_window)
{
	int (*ask)(const void *, int, int *, int *, int *, int *, int *, int *) = (int (*)(
		const void *, int, int *, int *, int *, int *, int *, int *))getter(CONVOLUTION);
	int padding[CUDNN_PLACES], stride[CUDNN_PLACES], dilation[CUDNN_PLACES], places, mode, type;

	if (!ask || !can_be_asked(descriptor) ||
	    ask(descriptor, CUDNN_PLACES, &places, padding, stride, dilation, &mode, &type) ||
	    places < 1 || places > CUDNN_PLACES)
		return;
	ret_window->places = (uint8_t)places;
	ret_window->compute = cudnn_type(type);
	for (int i = 0; i < places; i++) {
		ret_window->before[i] = ret_window->after[i] = padding[i];
		ret_window->stride[i] = stride[i];
		ret_window->dilation[i] = dilation[i];
	}
}

void cudnn_use_tensor(const void *descriptor, struct gt_math_call *call)
{
	struct cudnn_tensor tensor = {.rank = 0};

	read_tensor(descriptor, &tensor);
	if (tensor.rank)
		cudnn_describe_shape(call, &tensor);
	else
		freed_blame((uintptr_t)descriptor, call);
}

/* The output that follows from the others: both gradients have it as an input. */
static void find_output(struct cudnn_operation *o)
{
	o->y = o->x;
	o->y.dims[1] = o->w.dims[0];
	for (unsigned int i = 0; i < o->window.places && i + 2u < o->x.rank; i++) {
		int64_t reach = (o->w.dims[2 + i] - 1) * o->window.dilation[i] + 1;
		int64_t room = o->x.dims[2 + i] + 2 * o->window.before[i];

		o->y.dims[2 + i] = o->window.stride[i] > 0 && room >= reach
					   ? (room - reach) / o->window.stride[i] + 1
					   : 0;
	}
}

void cudnn_use_convolution(const void *x, const void *w, const void *convolution, int algorithm,
			   struct gt_math_call *call)
{
	struct cudnn_operation o = {.kind = GT_MATH_CONVOLUTION};
	struct cudnn_work work = {.operations = 0};
	int (*ask_math)(const void *, int *) = (int (*)(const void *, int *))getter(MATH);
	int math = 0;

	read_tensor(x, &o.x);
	read_filter(w, &o.w);
	read_window(convolution, &o.window);
	if (!o.x.rank)
		freed_blame((uintptr_t)x, call);
	if (!o.w.rank)
		freed_blame((uintptr_t)w, call);
	if (!o.window.places)
		freed_blame((uintptr_t)convolution, call);
	if (!call->unknown && (o.x.rank != o.w.rank || o.window.places + 2 != o.x.rank))
		call->unknown = GT_MATH_OUT_OF_RANGE;
	if (call->unknown)
		return;
	find_output(&o);
	cudnn_work_add(&work, &o);
	*call = cudnn_work_call(&work);
	if (o.window.compute == FLOAT && ask_math && !ask_math(convolution, &math) &&
	    math == FMA_MATH)
		call->compute = FLOAT;
	call->has_algorithm = true;
	call->algorithm = algorithm;
}

/* ---- which descriptors are gone ---- */

#define PASS(symbol, which, parameters, arguments, before, after)                                  \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters =                                                            \
			(int(*) parameters)real_of(which, __builtin_return_address(0));            \
		int result;                                                                        \
                                                                                                   \
		if (!real) {                                                                       \
			math_missing(#symbol, cudnn_library.name);                                 \
			return cudnn_not_supported();                                              \
		}                                                                                  \
		before;                                                                            \
		result = real arguments;                                                           \
		after;                                                                             \
		return result;                                                                     \
	}
#define NOTHING (void)0
#define DESCRIPTOR(kind, which)                                                                    \
	PASS(cudnnCreate##kind##Descriptor, MAKE_##which, (void **made), (made), NOTHING,          \
	     freed_forget(made && !result ? (uintptr_t)*made : 0))                                 \
	PASS(cudnnDestroy##kind##Descriptor, FREE_##which, (void *gone), (gone),                   \
	     freed_note((uintptr_t)gone), NOTHING)

DESCRIPTOR(Tensor, TENSOR)
DESCRIPTOR(Filter, FILTER)
DESCRIPTOR(Convolution, CONVOLUTION)
