/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/call/passed.h"

#include <stdatomic.h>

/* Of one pause. */
struct ids {
	_Atomic uint32_t first, last;
};

static struct ids places[2];
static _Atomic uint32_t phase; /* odd: a pause, the (phase + 1) / 2-th; else behind it */

static struct ids *place_of(uint32_t pause)
{
	return &places[pause & 1];
}

void gt_call_passed_pause(bool paused)
{
	uint32_t now = atomic_load(&phase);
	struct ids *next = place_of((now + 1) / 2 + 1);

	if ((now & 1) == paused)
		return;
	if (!paused) { /* nobody uses that one now */
		atomic_store(&next->first, 0);
		atomic_store(&next->last, 0);
	}
	atomic_compare_exchange_strong(&phase, &now, now + 1);
}

void gt_call_passed_note(uint32_t correlation)
{
	struct ids *ids = place_of((atomic_load(&phase) + 1) / 2);
	uint32_t first = atomic_load(&ids->first), last = atomic_load(&ids->last);

	while (last < correlation && !atomic_compare_exchange_weak(&ids->last, &last, correlation))
		continue;
	while (correlation && (!first || first > correlation) &&
	       !atomic_compare_exchange_weak(&ids->first, &first, correlation))
		continue;
}

struct gt_call_passed gt_call_passed_get(bool in_window)
{
	uint32_t now = atomic_load(&phase), pause = (now + 1) / 2;
	bool is_behind = in_window && now & 1;

	return (struct gt_call_passed){
		.before = atomic_load(&place_of(is_behind ? pause - 1 : pause)->last),
		.behind = is_behind ? atomic_load(&place_of(pause)->first) : 0};
}
