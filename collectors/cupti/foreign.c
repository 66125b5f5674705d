/* SPDX-License-Identifier: Apache-2.0
 *
 * Other users of CUPTI, see the header. Atomic words, and one lock, which is not waited for long.
 */
#include "collectors/cupti/foreign.h"

#include <stdatomic.h>

#include "collectors/cupti/internal.h"
#include "collectors/cupti/relay.h"
#include "core/guest/clock.h"
#include "core/guest/futex.h"
#include "core/guest/peek.h"
#include "core/guest/text.h"

#define NAMES      8u
#define NAME_BYTES 64u
#define TURN_NS    1000000000u /* enabling kinds may take as long */

static struct {
	_Atomic uint64_t changes, disabled, detached;
	_Atomic uint64_t registered_at; /* CLOCK_MONOTONIC ns, the last time */
	_Atomic uint64_t kinds;         /* bit per kind that it enabled since it registered */
	_Atomic(void *) subscriber;     /* NULL: it is not subscribed */
	_Atomic(CUpti_BuffersCallbackRequestFunc) requested;
	_Atomic(CUpti_BuffersCallbackCompleteFunc) completed; /* NULL: it has no buffers in CUPTI */
	_Atomic bool had_kinds, registered, clock;
	_Atomic(const char *) library;
	_Atomic uint32_t held; /* futex: 1: the buffers are changing hands */
	_Atomic uint32_t next_name;
	char names[NAMES][NAME_BYTES]; /* a returned name is not overwritten soon */
} foreign;

static void changed(void)
{
	atomic_fetch_add(&foreign.changes, 1);
}

static void remember(const char *library)
{
	char *name = foreign.names[atomic_fetch_add(&foreign.next_name, 1) % NAMES];

	gt_text_format(name, NAME_BYTES, "%s", library);
	atomic_store(&foreign.library, name);
}

bool gt_cupti_foreign_hold(void)
{
	uint64_t until = gt_clock_now() + TURN_NS, now;
	uint32_t nobody = 0;

	while (!atomic_compare_exchange_strong(&foreign.held, &nobody, 1)) {
		now = gt_clock_now();
		if (now >= until)
			return false;
		gt_futex_wait(&foreign.held, 1, until - now);
		nobody = 0;
	}
	return true;
}

void gt_cupti_foreign_let_go(bool held)
{
	if (!held)
		return;
	atomic_store(&foreign.held, 0);
	gt_futex_wake(&foreign.held);
}

void gt_cupti_foreign_subscribing(const char *library)
{
	remember(library);
}

void gt_cupti_foreign_subscribed(void *subscriber)
{
	atomic_store(&foreign.subscriber, subscriber);
	changed();
}

void gt_cupti_foreign_unsubscribed(void)
{
	atomic_store(&foreign.subscriber, NULL);
	changed();
}

void gt_cupti_foreign_registering(const char *library, CUpti_BuffersCallbackRequestFunc requested,
				  CUpti_BuffersCallbackCompleteFunc completed)
{
	bool held = gt_cupti_foreign_hold();

	remember(library);
	gt_cupti_yield_buffers();
	atomic_store(&foreign.registered_at, gt_clock_now());
	atomic_store(&foreign.requested, requested);
	atomic_store(&foreign.completed, completed);
	atomic_store(&foreign.kinds, 0);
	atomic_store(&foreign.had_kinds, false);
	atomic_store(&foreign.registered, true);
	gt_cupti_foreign_let_go(held);
	changed();
}

void gt_cupti_foreign_return(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid)
{
	CUpti_BuffersCallbackCompleteFunc completed = atomic_load(&foreign.completed);

	if (gt_peek_is_readable((const void *)(uintptr_t)completed)) /* otherwise it was unloaded */
		completed(context, stream, buffer, size, valid);
}

void gt_cupti_foreign_adopt(void)
{
	CUpti_BuffersCallbackCompleteFunc completed = atomic_load(&foreign.completed);
	uint64_t kinds = atomic_load(&foreign.kinds);

	if (!completed || !atomic_load(&foreign.registered) ||
	    !gt_cupti_relay_take(atomic_load(&foreign.requested), completed))
		return;
	for (uint32_t kind = 0; kind < 64; kind++) {
		if (kinds >> kind & 1)
			gt_cupti_relay_kind((CUpti_ActivityKind)kind, true);
	}
	atomic_store(&foreign.kinds, 0);
	atomic_store(&foreign.had_kinds, false);
	atomic_store(&foreign.registered, false);
}

static void end_collection(void)
{
	if (atomic_load(&foreign.had_kinds) && atomic_load(&foreign.kinds) == 0)
		atomic_store(&foreign.registered, false);
}

void gt_cupti_foreign_kind(uint32_t kind, bool enabled)
{
	uint64_t bit = kind < 64 ? (uint64_t)1 << kind : 0;

	if (gt_cupti_relay_kind((CUpti_ActivityKind)kind, enabled))
		return;
	if (enabled) {
		atomic_fetch_or(&foreign.kinds, bit);
		atomic_store(&foreign.had_kinds, true);
	} else {
		atomic_fetch_and(&foreign.kinds, ~bit);
		atomic_fetch_add(&foreign.disabled, 1);
		end_collection();
	}
	changed();
}

void gt_cupti_foreign_finalized(void)
{
	atomic_store(&foreign.registered, false);
	atomic_store(&foreign.completed, NULL);
	atomic_store(&foreign.subscriber, NULL);
	atomic_store(&foreign.kinds, 0);
	atomic_store(&foreign.clock, false);
	changed();
}

bool gt_cupti_foreign_finalizing(const char *library)
{
	CUpti_BuffersCallbackCompleteFunc completed = atomic_exchange(&foreign.completed, NULL);
	struct gt_cupti_other other = {
		.subscriber = atomic_load(&foreign.subscriber),
		.kinds = atomic_load(&foreign.kinds),
		.registered = atomic_load(&foreign.registered),
		.clock = atomic_load(&foreign.clock),
	};

	remember(library);
	gt_cupti_relay_forget();
	if (!gt_cupti_detach(&other)) {
		atomic_store(&foreign.completed, completed);
		return false;
	}
	atomic_fetch_add(&foreign.detached, 1);
	gt_cupti_foreign_finalized();
	return true;
}

void gt_cupti_foreign_clock(const char *library, CUpti_TimestampCallbackFunc timestamp)
{
	remember(library);
	gt_cupti_relay_clock(timestamp);
	atomic_store(&foreign.clock, true);
	changed();
}

struct gt_cupti_foreign gt_cupti_foreign_get(void)
{
	/* first: so that a tool that is done has all its kinds in the count of disabled ones */
	bool collects = atomic_load(&foreign.registered);

	return (struct gt_cupti_foreign){
		.changes = atomic_load(&foreign.changes),
		.registered_at = atomic_load(&foreign.registered_at),
		.disabled = atomic_load(&foreign.disabled),
		.detached = atomic_load(&foreign.detached),
		.subscribed = atomic_load(&foreign.subscriber) != NULL,
		.collects = collects,
		.has_kinds = atomic_load(&foreign.kinds) != 0,
		.clock = atomic_load(&foreign.clock),
	};
}

const char *gt_cupti_foreign_library(void)
{
	const char *library = atomic_load(&foreign.library);

	return library ? library : "";
}
