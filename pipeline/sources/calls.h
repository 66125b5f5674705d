/* SPDX-License-Identifier: Apache-2.0
 *
 * From the record of a finished CUDA call to its event, with its name and its stack, and to the
 * track of --stack-lane. Drain thread.
 */
#ifndef GT_PIPELINE_SOURCES_CALLS_H
#define GT_PIPELINE_SOURCES_CALLS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/schema/cuda_api.h"
#include "core/schema/event.h"

struct gt_call_record;
struct gt_call_stacks;
struct gt_clock;
struct gt_config;
struct gt_holdings;
struct gt_intern;
struct gt_call_join;
struct gt_ledger;
struct gt_spooling;
struct gt_stack_lane;
struct gt_string;
struct gt_thread_names;

/* Given: the first nine; the rest is zero at first. */
struct gt_calls {
	const struct gt_config *config;
	const struct gt_clock *clock;
	struct gt_intern *strings;
	struct gt_ledger *ledger;
	const _Atomic bool *has_cupti; /* it knows the names of new calls */
	struct gt_thread_names *threads;
	struct gt_call_stacks *stacks;
	struct gt_call_join *join;
	struct gt_holdings *holdings;
	const struct gt_string *names[GT_API_DOMAIN_COUNT_][GT_CUDA_SET_BITS]; /* by cbid */
	struct gt_stack_lane *lane;         /* NULL: not wanted */
	const struct gt_spooling *spooling; /* has the tally of the calls of --osrt */
	bool leaves_slices;                 /* of calls that start GPU work: --thin */
	struct gt_event event; /* of the call that is taken; what calls do not have stays zero */
};

/* One finished call; recovery reads rings by itself. */
void gt_calls_take(struct gt_calls *calls, const struct gt_call_record *record);

/* The name of a call, without the version that CUPTI puts behind it. Never NULL. */
const struct gt_string *gt_calls_name(struct gt_calls *calls, enum gt_api_domain domain,
				      uint32_t cbid);

/* Whether what a thread did beside its calls is outside of the window: it is counted then. */
bool gt_calls_leave_out(const struct gt_calls *calls, const struct gt_event *event);

/* All calls of the thread have been taken: it is gone. */
void gt_calls_thread_ended(struct gt_calls *calls, uint32_t tid);

/* The end of the trace: what was open on the track of --stack-lane is closed. */
void gt_calls_finish(struct gt_calls *calls);

/* os_calls.c: writes the calls of the operating system that have returned by now. How many. */
uint64_t gt_os_calls_take(const struct gt_calls *calls);

#endif
