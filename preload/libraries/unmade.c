/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/unmade.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/guest/peek.h"
#include "preload/libraries/communicators.h"

enum unmade_state { FREE, HELD, WAITS };

/* The rest of one belongs to whoever holds it. */
static struct slot {
	_Atomic uint32_t state;
	_Atomic(const void *) thread;
	_Atomic(nccl_comm) parent;
	struct nccl_unmade what;
} slots[NCCL_UNMADE];

static _Atomic uint32_t waiting;

static bool hold(struct slot *slot, uint32_t from)
{
	return atomic_compare_exchange_strong(&slot->state, &from, HELD);
}

static void release(struct slot *slot, enum unmade_state state)
{
	if (state == FREE)
		atomic_fetch_sub(&waiting, 1);
	atomic_store(&slot->state, state);
}

void nccl_unmade_add(const struct nccl_unmade *unmade, const void *thread)
{
	for (uint32_t i = 0; i < NCCL_UNMADE; i++) {
		struct slot *slot = &slots[i];

		if (!hold(slot, FREE))
			continue;
		atomic_fetch_add(&waiting, 1);
		slot->what = *unmade;
		atomic_store(&slot->thread, thread);
		atomic_store(&slot->parent, unmade->parent);
		release(slot, WAITS);
		return;
	}
}

static bool matches(struct slot *slot, const void *thread, nccl_comm parent)
{
	return atomic_load(&slot->thread) == thread &&
	       (thread || atomic_load(&slot->parent) == parent);
}

/* NCCL may be writing it, and a program that never asked may have let go of it. False: it is not
 * there. */
static bool take_handle(const struct nccl_unmade *what)
{
	nccl_comm handle = gt_peek_is_readable(what->place)
				   ? __atomic_load_n(what->place, __ATOMIC_ACQUIRE)
				   : NULL;

	if (handle)
		nccl_communicator_add(handle, what->id, what->ranks, what->rank);
	return handle;
}

static void settle(struct slot *slot, int result)
{
	bool is_going_on = result == NCCL_IN_PROGRESS;

	if ((result == NCCL_SUCCESS || is_going_on) && take_handle(&slot->what))
		is_going_on = false;
	atomic_store(&slot->thread, NULL);
	release(slot, is_going_on && slot->what.parent ? WAITS : FREE);
}

static void settle_all(const void *thread, nccl_comm parent, int result)
{
	for (uint32_t i = 0; atomic_load(&waiting) && i < NCCL_UNMADE; i++) {
		struct slot *slot = &slots[i];

		if (!matches(slot, thread, parent) || !hold(slot, WAITS))
			continue;
		if (matches(slot, thread, parent))
			settle(slot, result);
		else
			release(slot, WAITS);
	}
}

void nccl_unmade_group_ended(const void *thread, int result)
{
	settle_all(thread, NULL, result);
}

void nccl_unmade_parent_is(nccl_comm parent, int state)
{
	if (parent && state != NCCL_IN_PROGRESS)
		settle_all(NULL, parent, state);
}
