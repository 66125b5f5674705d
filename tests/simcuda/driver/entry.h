/* SPDX-License-Identifier: Apache-2.0
 *
 * The body of every exported driver function: announce the call when somebody watches, run the
 * implementation, or say that there is none. Used by the generated driver_entries.c alone.
 */
#ifndef SIMCUDA_DRIVER_ENTRY_H
#define SIMCUDA_DRIVER_ENTRY_H

#include "driver/driver.h"

#define SIM_DRIVER_RUN(name_, per_thread_, impl_, actual_)                                         \
	(sim_self.per_thread = per_thread_, impl_ ? (int)impl_ actual_ : sim_missing(name_))

#define SIM_DRIVER_ENTRY(cbid_, name_, params_, symbol_, per_thread_, impl_, actual_)              \
	if (sim_likely(!sim_watching))                                                             \
		return SIM_DRIVER_RUN(name_, per_thread_, impl_, actual_);                         \
	struct sim_call call = {.domain = SIM_DRIVER,                                              \
				.cbid = cbid_,                                                     \
				.name = name_,                                                     \
				.params = params_,                                                 \
				.symbol = symbol_};                                                \
	sim_call_enter(&call);                                                                     \
	return sim_call_exit(&call, SIM_DRIVER_RUN(name_, per_thread_, impl_, actual_))

#endif
