/* SPDX-License-Identifier: Apache-2.0
 *
 * The interposed calls of the CUDA runtime, one function each, all made of
 * core/schema/cuda_api.def. While CUPTI records they only pass through: find the real function,
 * jump. Without CUPTI they record the call as CUPTI's callback would (collectors/call/call.h).
 * Application threads.
 *
 * The functions have names of their own in C and the runtime's name as symbol, so that the
 * toolkit's declarations can be compared with ours without being redefined.
 */
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "collectors/call/call.h"
#include "collectors/trigger/trigger.h"
#include "core/guest/clock.h"
#include "core/schema/cuda_api.h"
#include "preload/cuda_signatures.h"
#include "preload/first_call.h"
#include "preload/forward.h"
#include "preload/start.h"

#define EXPORTED                  __attribute__((visibility("default")))
#define RETURN_ADDRESS            __builtin_return_address(0)

/* How the row's class of call finds its function: launches may know better. */
#define FIND(symbol)              gt_forward_find(GT_HOOK_##symbol, RETURN_ADDRESS)
#define FIND_LAUNCH(symbol)       gt_forward_launch(GT_HOOK_##symbol, RETURN_ADDRESS, func)
#define FIND_GRAPH_LAUNCH(symbol) FIND(symbol)
#define FIND_HOST_FUNC(symbol)    FIND(symbol)
#define FIND_COPY(symbol)         FIND(symbol)
#define FIND_SET(symbol)          FIND(symbol)
#define FIND_PREFETCH(symbol)     FIND(symbol)
#define FIND_SYNC(symbol)         FIND(symbol)
#define FIND_ALLOC(symbol)        FIND(symbol)
#define FIND_FREE(symbol)         FIND(symbol)
#define FIND_STREAM(symbol)       FIND(symbol)
#define FIND_EVENT(symbol)        FIND(symbol)
#define FIND_GRAPH(symbol)        FIND(symbol)
#define FIND_CONTEXT(symbol)      FIND(symbol)
#define FIND_TOOL(symbol)         FIND(symbol)

/* The call that starts CUDA starts the session somewhere inside: known only when it has returned.
 * One that fails and has started none met no driver. */
static void record_first(uint32_t cbid, uint64_t start, cudaError_t result)
{
	gt_first_call_returned();
	if (result != cudaSuccess && gt_session_is_idle())
		gt_session_start(true);
	if (atomic_load_explicit(&gt_session_state, memory_order_acquire) != GT_SESSION_HOOKS)
		return;
	gt_call_enter(GT_API_RUNTIME, cbid, 0);
	gt_call_backdate(start);
	gt_call_exit(GT_API_RUNTIME, cbid, result);
}

#define GT_CUDA_HOOKED(cbid, version, symbol, class, flags, signature)                             \
	EXPORTED cudaError_t gt_hook_##symbol GT_CUDA_PARAMS_##signature __asm__(#symbol);         \
	cudaError_t gt_hook_##symbol GT_CUDA_PARAMS_##signature                                    \
	{                                                                                          \
		cudaError_t(*real) GT_CUDA_PARAMS_##signature = FIND_##class(symbol);              \
		cudaError_t result;                                                                \
		uint64_t start;                                                                    \
                                                                                                   \
		if (!gt_forward_is_real(real))                                                     \
			return real GT_CUDA_ARGS_##signature;                                      \
		if ((flags)&GT_CUDA_PROFILER)                                                      \
			gt_trigger_call(GT_API_RUNTIME, cbid);                                     \
		if (gt_session_hooks_record()) {                                                   \
			if (GT_CUDA_##class == GT_CUDA_GRAPH_LAUNCH)                               \
				gt_trigger_graph(GT_API_RUNTIME);                                  \
			gt_call_enter(GT_API_RUNTIME, cbid, 0);                                    \
			result = real GT_CUDA_ARGS_##signature;                                    \
			gt_call_exit(GT_API_RUNTIME, cbid, result);                                \
			return result;                                                             \
		}                                                                                  \
		if (__builtin_expect(!gt_session_is_idle(), 1))                                    \
			return real GT_CUDA_ARGS_##signature;                                      \
		start = gt_clock_now();                                                            \
		result = real GT_CUDA_ARGS_##signature;                                            \
		record_first(cbid, start, result);                                                 \
		return result;                                                                     \
	}
#include "core/schema/cuda_api.def"

/* Our signatures are the toolkit's; _WORDS rows differ from them on purpose, _NEWER rows are
 * compared with the headers of later toolkits by tests/compat/runtime_headers.py. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define GT_CUDA_HOOKED(cbid, version, symbol, class, flags, signature)                             \
	_Static_assert(                                                                            \
		__builtin_types_compatible_p(__typeof__(signature), __typeof__(gt_hook_##symbol)), \
		#symbol);
#define GT_CUDA_HOOKED_WORDS(cbid, version, symbol, class, flags, signature)
#define GT_CUDA_HOOKED_NEWER(cbid, version, symbol, class, flags, signature)
#include "core/schema/cuda_api.def"
