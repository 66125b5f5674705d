/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of every exported runtime function: bring the driver up, announce the call when somebody
 * watches, give the thread its context, run the implementation. Used by the generated entries
 * alone.
 */
#ifndef SIMCUDA_RUNTIME_ENTRY_H
#define SIMCUDA_RUNTIME_ENTRY_H

#include "runtime/runtime.h"

#define SIM_RUNTIME_RUN(need_, name_, per_thread_, impl_, actual_)                                 \
	((need_) == RT_CONTEXT && sim_unlikely(rt_self.bound != rt_generation) &&                  \
			 (error_ = rt_bind())                                                      \
		 ? error_                                                                          \
		 : (rt_self.per_thread = (per_thread_),                                            \
		    impl_ ? impl_ actual_ : rt_missing(name_)))

#define SIM_RUNTIME_ENTRY(need_, cbid_, name_, params_, symbol_, per_thread_, impl_, actual_)      \
	cudaError_t error_ = cudaSuccess;                                                          \
	if ((need_) != RT_NOTHING && sim_unlikely(!rt_is_ready) && (error_ = rt_start()))          \
		return rt_finish(error_);                                                          \
	if (sim_likely(!*rt_watching)) {                                                           \
		error_ = SIM_RUNTIME_RUN(need_, name_, per_thread_, impl_, actual_);               \
		return sim_likely(!error_) || (need_) == RT_NOTHING ? error_ : rt_finish(error_);  \
	}                                                                                          \
	struct sim_call call = {.domain = SIM_RUNTIME,                                             \
				.cbid = cbid_,                                                     \
				.name = name_,                                                     \
				.params = params_,                                                 \
				.symbol = symbol_};                                                \
	rt_table->call_enter(&call);                                                               \
	error_ = SIM_RUNTIME_RUN(need_, name_, per_thread_, impl_, actual_);                       \
	rt_table->call_exit(&call, (int)error_);                                                   \
	return (need_) == RT_NOTHING ? error_ : rt_finish(error_)

#endif
