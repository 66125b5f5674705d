/* SPDX-License-Identifier: Apache-2.0
 *
 * The session that the hooks under test meet: its state comes from GT_TEST_STATE, and what the
 * hooks record is counted.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/call/call.h"
#include "core/guest/clock.h"
#include "preload/forward.h"
#include "preload/start.h"

#define EXPORTED __attribute__((visibility("default")))

_Atomic int gt_session_state = GT_SESSION_IDLE;

static _Atomic int starts, enters, exits, backdated, last_result;
static _Atomic unsigned int last_cbid;

EXPORTED void gputrace_test_begin(void);
EXPORTED void gputrace_test_counts(int *ret_counts);
EXPORTED unsigned long gputrace_test_walks(void);
EXPORTED unsigned long gputrace_test_guesses(void);

void gt_session_start(bool from_hook)
{
	const char *state = getenv("GT_TEST_STATE");

	starts++;
	if (state && !strcmp(state, "late"))
		return;
	gt_session_state = state && !strcmp(state, "hooks") ? GT_SESSION_HOOKS : GT_SESSION_CUPTI;
}

/* What the driver does inside the first real call. */
void gputrace_test_begin(void)
{
	if (gt_session_state == GT_SESSION_IDLE)
		gt_session_state = GT_SESSION_HOOKS;
}

void gt_call_enter(enum gt_api_domain domain, uint32_t cbid, uint32_t correlation)
{
	enters += domain == GT_API_RUNTIME && correlation == 0;
	last_cbid = cbid;
}

void gt_call_backdate(uint64_t start)
{
	backdated += start != 0 && start <= gt_clock_now();
}

void gt_call_exit(enum gt_api_domain domain, uint32_t cbid, int32_t result)
{
	exits += domain == GT_API_RUNTIME && last_cbid == cbid;
	last_result = result;
}

/* starts, enters, exits, last cbid, last result, backdated */
void gputrace_test_counts(int *ret_counts)
{
	ret_counts[0] = starts;
	ret_counts[1] = enters;
	ret_counts[2] = exits;
	ret_counts[3] = (int)last_cbid;
	ret_counts[4] = last_result;
	ret_counts[5] = backdated;
}

unsigned long gputrace_test_walks(void)
{
	return gt_forward_counts().walks;
}

unsigned long gputrace_test_guesses(void)
{
	return gt_forward_counts().guesses;
}
