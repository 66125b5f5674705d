/* SPDX-License-Identifier: Apache-2.0
 *
 * cuDNN's functions that compute: these definitions come before those of libcudnn.so and go on to
 * them. A library of its own, preloaded by run --libraries=cudnn alone. Which they are, with their
 * parameters, is in core/schema/calls/cudnn.def.
 */
#include "preload/libraries/cudnn_backend.h"
#include "preload/libraries/math.h"

#define EXPORTED           __attribute__((visibility("default")))

/* What a row says of the descriptors among its parameters. */
#define NOTHING            (void)0
#define IF_USABLE(use)     (is_usable(handle, &call) ? use : NOTHING)
#define TENSOR(descriptor) IF_USABLE(cudnn_use_tensor(descriptor, &call))
#define PLAN(plan, pack)   IF_USABLE(cudnn_use_plan(plan, pack, &call))
#define CONVOLUTION(input, filter, convolution, algorithm)                                         \
	IF_USABLE(cudnn_use_convolution(input, filter, convolution, algorithm, &call))

/* Without a handle cuDNN looks at nothing: neither do we. */
static bool is_usable(const void *handle, struct gt_math_call *call)
{
	if (!cudnn_is_known())
		call->unknown = GT_MATH_UNKNOWN_VERSION;
	else if (!handle)
		call->unknown = GT_MATH_UNKNOWN_DESCRIPTOR;
	return !call->unknown;
}

#define GT_CUDNN(symbol, describe, parameters, arguments)                                          \
	EXPORTED int symbol parameters;                                                            \
	int symbol parameters                                                                      \
	{                                                                                          \
		int(*real) parameters =                                                            \
			(int(*) parameters)real_function(&cudnn_library, GT_MATH_##symbol);        \
		struct gt_math_call call = {0};                                                    \
		struct math_entry entry;                                                           \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return cudnn_not_supported();                                              \
		if (math_is_told())                                                                \
			describe;                                                                  \
		call.function = GT_MATH_##symbol;                                                  \
		math_begin_counted(&entry, &call);                                                 \
		result = real arguments;                                                           \
		math_end(&entry, result);                                                          \
		return result;                                                                     \
	}
#include "core/schema/calls/cudnn.def"
