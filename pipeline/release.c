/* SPDX-License-Identifier: Apache-2.0
 *
 * See release.h.
 */
#include "pipeline/release.h"

#include <stdbool.h>

#include "collectors/cupti/buffers.h"
#include "core/guest/clock.h"
#include "core/thread.h"
#include "pipeline/output.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/session.h"
#include "pipeline/spooled.h"

/* GPU work waits at most this long for its call (pipeline/emit.c). */
#define UNLINKED_NS (6ull * 1000000000u)

static bool can_write(const struct gt_session *s)
{
	return s->output.writer && !s->output.failed;
}

/* While there is no file yet, calls wait in memory and in their rings, until a ring wants its
 * room. */
void gt_release_rings(struct gt_session *s)
{
	struct gt_spooled *spooled = gt_spooled_get();
	bool keep = spooled && !s->output.writer && !s->output.failed;

	if (spooled && can_write(s))
		gt_output_flush(&s->output, 0);
	if (spooled)
		spooled->open_ranges = keep ? 0 : gt_ranges_open(s->ranges);
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (!keep || gt_ring_is_pressed(&t->ring))
			gt_ring_release(&t->ring);
}

void gt_release_buffers(struct gt_session *s)
{
	uint64_t settled;

	if (!gt_spooled_get())
		return;
	gt_spooled_update(s);
	if (!can_write(s))
		return;
	settled = gt_clock_from_monotonic(&s->clock, gt_clock_now()) - GT_SPOOLED_SETTLE_NS;
	gt_output_flush(&s->output, settled);
	gt_cupti_buffers_release(s->emit.unlinked.count ? settled - UNLINKED_NS : settled);
}
