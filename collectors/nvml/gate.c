/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Whoever takes `since` opens the gate.
 */
#include "collectors/nvml/gate.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "collectors/nvml/nvml.h"
#include "core/guest/clock.h"
#include "core/guest/forkgate.h"

#define TOO_LONG_NS 1000000000ull

static _Atomic uint64_t since; /* begin of the call, 0: there is none, or it was given up */
static _Atomic bool stuck;

bool gt_nvml_enter(void)
{
	if (!gt_forkgate_trylock())
		return false;
	atomic_store(&since, gt_clock_now());
	return true;
}

void gt_nvml_leave(void)
{
	if (atomic_exchange(&since, 0))
		gt_forkgate_unlock();
	atomic_store(&stuck, false);
}

bool gt_nvml_is_stuck(void)
{
	return atomic_load(&stuck);
}

void gt_nvml_give_up(uint64_t now)
{
	uint64_t began = atomic_load(&since);

	if (began && now > began && now - began > TOO_LONG_NS &&
	    atomic_compare_exchange_strong(&since, &began, 0)) {
		atomic_store(&stuck, true);
		gt_forkgate_unlock();
	}
}
