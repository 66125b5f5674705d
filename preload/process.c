/* SPDX-License-Identifier: Apache-2.0
 *
 * Exit handlers and the fork test; the policy stands in the header.
 */
#include "preload/process.h"

#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "collectors/cupti.h"
#include "collectors/nvtx.h"
#include "core/forkguard.h"
#include "core/thread.h"
#include "core/uncancelled.h"
#include "preload/drain.h"
#include "preload/samples.h"
#include "preload/session_internal.h"

#define MS_NS 1000000ull

/* All ends come together here; later ones find the session OFF. */
static void end_session(void)
{
	int state = atomic_exchange(&gt_session_state, GT_SESSION_OFF);
	int cancelled;

	if ((state != GT_SESSION_CUPTI && state != GT_SESSION_HOOKS) || !gt_forkguard_holds())
		return;
	cancelled = gt_uncancelled_begin();
	gt_samples_stop();
	gt_drain_finish((uint64_t)gt_config_number(&gt_session.config, GT_CONFIG_EXIT_TIMEOUT) *
			MS_NS);
	gt_cupti_stop();
	gt_nvtx_stop();
	gt_threads_stop();
	gt_uncancelled_end(cancelled);
}

void gt_process_watch_end(void)
{
	atexit(end_session);
	at_quick_exit(end_session);
}

bool gt_process_is_forked_child(void)
{
	return gt_forkguard_is_child();
}

/* The fallback when no exit handler ran (unusual libc, handlers exhausted). */
__attribute__((destructor)) static void on_unload(void)
{
	end_session();
}
