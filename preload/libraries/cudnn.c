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
#define TENSOR(descriptor) cudnn_use_tensor(descriptor, &call)
#define PLAN(plan, pack)   cudnn_use_plan(plan, pack, &call)
#define CONVOLUTION(input, filter, convolution, algorithm)                                         \
	cudnn_use_convolution(input, filter, convolution, algorithm, &call)

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
		if (handle && math_is_told() && cudnn_is_known())                                  \
			describe;                                                                  \
		call.function = GT_MATH_##symbol;                                                  \
		math_begin_counted(&entry, &call);                                                 \
		result = real arguments;                                                           \
		math_end(&entry, result);                                                          \
		return result;                                                                     \
	}
#include "core/schema/calls/cudnn.def"
