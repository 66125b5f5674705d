/* SPDX-License-Identifier: Apache-2.0
 *
 * Exit handlers and the fork test; the policy stands in the header.
 */
#include "preload/process.h"

#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "collectors/call/call.h"
#include "core/config.h"
#include "core/guest/background.h"
#include "core/guest/descriptor.h"
#include "core/guest/forkguard.h"
#include "core/guest/seccomp.h"
#include "core/guest/uncancelled.h"
#include "core/thread.h"
#include "pipeline/drain.h"
#include "pipeline/sources/state.h"

#define MS_NS        1000000ull
#define STATUS_BYTES 8192

/* The drain thread may wait for a lock of CUPTI's that the caller will never give back. */
#define IN_CALL_NS   (500 * MS_NS)

static _Atomic pid_t owner; /* of the session */

static uint64_t exit_timeout_ns;

/* All ends come together here; later ones find the session OFF. */
static void end_session(int status)
{
	int state = atomic_exchange(&gt_session_state, GT_SESSION_OFF);
	int cancelled;

	if ((state != GT_SESSION_CUPTI && state != GT_SESSION_HOOKS) || !gt_forkguard_holds())
		return;
	cancelled = gt_uncancelled_begin();
	gt_drain_finish(exit_timeout_ns, status);
	gt_uncancelled_end(cancelled);
}

static void at_exit(int status, void *nothing)
{
	(void)nothing;
	end_session(status);
}

/* The status is not known. */
static void at_end(void)
{
	end_session(0);
}

/* A signal handler may have broken into a call. */
static bool is_in_call(void)
{
	struct gt_call_view view;

	return gt_thread_self && (!gt_call_view(gt_thread_self, &view) || view.depth);
}

/* A child of vfork has our memory, and another pid. */
void gt_process_end_abruptly(int status)
{
	int state = atomic_load(&gt_session_state);
	uint64_t timeout;
	bool in_call;

	if ((state != GT_SESSION_CUPTI && state != GT_SESSION_HOOKS) || !gt_forkguard_holds() ||
	    getpid() != atomic_load(&owner))
		return;
	if (atomic_exchange(&gt_session_state, GT_SESSION_OFF) != state)
		return;
	in_call = is_in_call();
	timeout = exit_timeout_ns;
	if (in_call && timeout > IN_CALL_NS)
		timeout = IN_CALL_NS;
	gt_drain_finish_abruptly(timeout, status, !in_call);
}

void gt_process_look(bool late)
{
	char status[STATUS_BYTES];

	status[gt_descriptor_read_file("/proc/self/status", status, sizeof(status) - 1)] = 0;
	gt_background_save_affinity(status);
	gt_seccomp_note_start(status, late);
}

void gt_process_start(const struct gt_config *config)
{
	exit_timeout_ns = (uint64_t)gt_config_number(config, GT_CONFIG_EXIT_TIMEOUT) * MS_NS;
	gt_process_watch_end();
}

void gt_process_watch_end(void)
{
	atomic_store(&owner, getpid());
	on_exit(at_exit, NULL); /* as atexit, with the status */
	at_quick_exit(at_end);
}

bool gt_process_is_forked_child(void)
{
	return gt_forkguard_is_child();
}

/* The fallback when no exit handler ran (unusual libc, handlers exhausted). */
__attribute__((destructor)) static void on_unload(void)
{
	end_session(0);
}
