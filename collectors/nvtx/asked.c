/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/nvtx/asked.h"

#include <stdatomic.h>
#include <string.h>

#include "core/window/glob.h"

#define STEPS "ProfilerStep#*"

static _Atomic uint64_t started[GT_NVTX_ASKED_MAX]; /* ids, 0: free */

static bool is_asked(const struct gt_nvtx_call *call)
{
	const struct gt_nvtx_object *string = call->string ? gt_nvtx_at(call->string) : NULL;
	const struct gt_nvtx_object *domain = call->domain ? gt_nvtx_at(call->domain) : NULL;
	const char *name = string ? string->text : call->text;

	return gt_trigger_is_named(name ? name : "", string ? string->length : call->text_length,
				   domain ? domain->text : "");
}

static const char *_Atomic step_name = STEPS;

void gt_nvtx_asked_steps(const char *name)
{
	/* which ranges are steps is found out behind the rings: too late */
	atomic_store(&step_name, *name && strcmp(name, "auto") != 0 ? name : STEPS);
}

bool gt_nvtx_asked_is_step(const struct gt_nvtx_call *call)
{
	const struct gt_nvtx_object *string = call->string ? gt_nvtx_at(call->string) : NULL;
	const char *name = string ? string->text : call->text, *pattern = atomic_load(&step_name);

	return name && gt_glob_has(pattern, strlen(pattern), name,
				   string ? string->length : call->text_length);
}

void gt_nvtx_asked_look(const struct gt_nvtx_call *call, struct gt_nvtx_stack *stack)
{
	if (gt_call_has_steps() && gt_nvtx_asked_is_step(call))
		gt_call_next_step(true);
	if (gt_trigger_kind != GT_CAPTURE_NVTX || stack->asked || !is_asked(call))
		return;
	stack->asked = (uint32_t)call->id + 1;
	gt_trigger_enter();
}

void gt_nvtx_asked_ended(const struct gt_nvtx_call *call, struct gt_nvtx_stack *stack)
{
	if (stack->asked != call->id + 1)
		return;
	stack->asked = 0;
	gt_trigger_leave();
}

/* Puts @to in place of @from. */
static bool put(uint64_t from, uint64_t to)
{
	for (int i = 0; i < GT_NVTX_ASKED_MAX; i++) {
		uint64_t now = from;

		if (atomic_compare_exchange_strong(&started[i], &now, to))
			return true;
	}
	return false;
}

void gt_nvtx_asked_start(const struct gt_nvtx_call *call)
{
	if (gt_trigger_kind == GT_CAPTURE_NVTX && is_asked(call) && put(0, call->id))
		gt_trigger_enter();
}

void gt_nvtx_asked_end(uint64_t id)
{
	if (gt_trigger_kind == GT_CAPTURE_NVTX && put(id, 0))
		gt_trigger_leave();
}
