/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcudart with the right soname and symbol versions whose every hooked function writes down how
 * it was called and returns its RUNTIME number. Built as version 12 and as version 13.
 */
#include <cuda_runtime_api.h>

#include "preload/cuda_signatures.h"
#include "tests/hooks/call_log.h"

#define PUT(argument)      call_log_put(&(argument), sizeof(argument));
#define PUT_1(a, ...)      PUT(a) __VA_OPT__(PUT_2(__VA_ARGS__))
#define PUT_2(a, ...)      PUT(a) __VA_OPT__(PUT_3(__VA_ARGS__))
#define PUT_3(a, ...)      PUT(a) __VA_OPT__(PUT_4(__VA_ARGS__))
#define PUT_4(a, ...)      PUT(a) __VA_OPT__(PUT_5(__VA_ARGS__))
#define PUT_5(a, ...)      PUT(a) __VA_OPT__(PUT_6(__VA_ARGS__))
#define PUT_6(a, ...)      PUT(a) __VA_OPT__(PUT_7(__VA_ARGS__))
#define PUT_7(a, ...)      PUT(a) __VA_OPT__(PUT_8(__VA_ARGS__))
#define PUT_8(a, ...)      PUT(a) __VA_OPT__(PUT_9(__VA_ARGS__))
#define PUT_9(a)           PUT(a)
#define PUT_ALL(...)       __VA_OPT__(PUT_1(__VA_ARGS__))
#define APPLY(macro, list) macro list

#define GT_CUDA_HOOKED(cbid, version, symbol, class, flags, signature)                             \
	int fake_##symbol GT_CUDA_PARAMS_##signature __asm__(#symbol);                             \
	int fake_##symbol GT_CUDA_PARAMS_##signature                                               \
	{                                                                                          \
		call_log_begin(RUNTIME, #symbol);                                                  \
		APPLY(PUT_ALL, GT_CUDA_ARGS_##signature)                                           \
		return RUNTIME;                                                                    \
	}
#include "core/schema/cuda_api.def"
