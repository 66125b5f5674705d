/* SPDX-License-Identifier: Apache-2.0
 *
 * See release.h.
 */
#include "pipeline/sources/release.h"

#include <stdbool.h>

#include "collectors/cupti/buffers.h"
#include "collectors/osrt/osrt.h"
#include "core/guest/clock.h"
#include "core/thread.h"
#include "pipeline/join/join.h"
#include "pipeline/output/output.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/recorder/recorder.h"
#include "pipeline/sources/collector.h"
#include "pipeline/spool/spooled.h"

static void note_open(void *context, const struct gt_event *event)
{
	const struct gt_release *release = context;

	release->spooling->spooled->open_ranges -= gt_recorder_open(release->recorder, event);
}

/* Returns how many had no room. */
static uint64_t keep_open(const struct gt_release *release)
{
	struct gt_spooled_ranges *kept = gt_spooling_ranges(release->spooling);

	kept->count = gt_ranges_keep(release->ranges, kept->at, GT_SPOOLED_RANGES);
	gt_spooling_ranges_kept(release->spooling);
	return gt_ranges_open(release->ranges) - kept->count;
}

/* The open ranges whose beginnings a kill loses. */
static uint64_t forgotten_ranges(const struct gt_release *release)
{
	struct gt_spooled *spooled = release->spooling->spooled;

	if (!release->recorder->store)
		return keep_open(release);
	spooled->open_ranges = gt_ranges_open(release->ranges);
	gt_recorder_open_begin(release->recorder);
	gt_ranges_each_open(release->ranges, note_open, (void *)release);
	gt_recorder_opened(release->recorder);
	return spooled->open_ranges;
}

/* While there is no file yet, calls wait in memory and in their rings, until a ring wants its
 * room. */
void gt_release_rings(const struct gt_release *release)
{
	struct gt_spooled *spooled = release->spooling->spooled;
	struct gt_output *output = release->output;
	uint64_t forgotten;
	bool keep = spooled && !output->writer && !output->failed && !release->recorder->store;

	if (spooled && gt_output_is_open(output))
		gt_output_flush(output, 0);
	if (spooled) {
		forgotten = forgotten_ranges(release);
		spooled->open_ranges = keep ? 0 : forgotten; /* the rings have them */
	}
	gt_spooling_lost(release->spooling, gt_output_lost(output));
	if (!keep) {
		gt_spooling_rings(release->spooling);
		gt_osrt_settle();
		gt_correlate_leave_rings(release->join->calls);
	}
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		if (!keep || gt_ring_is_pressed(&t->ring))
			gt_ring_release(&t->ring);
}

void gt_release_note_read(const struct gt_spooling *spooling, const struct gt_call_join *join)
{
	const struct gt_spooled_waiting waiting = {.count = gt_call_join_waiting(join),
						   .moves = join->moves,
						   .key = gt_call_join_waiting_key,
						   .is_plain = gt_waiting_key_is_plain,
						   .context = join,
						   .answered = gt_correlate_answered(join->calls)};

	gt_spooling_read(spooling, &waiting);
}

void gt_release_all(const struct gt_release *release)
{
	if (!release->spooling->spooled)
		return;
	gt_spooling_rings(release->spooling);
	gt_osrt_settle();
	gt_correlate_leave_rings(release->join->calls);
	gt_release_note_read(release->spooling, release->join);
	gt_spooling_ranges(release->spooling)->count = 0; /* that file has them */
	gt_spooling_ranges_kept(release->spooling);
	for (struct gt_thread *t = gt_threads_first(); t; t = t->next)
		gt_ring_release(&t->ring);
	gt_cupti_buffers_release(UINT64_MAX);
}

static void update_ledger(const struct gt_release *release)
{
	struct gt_ledger now = *release->spooling->ledger;

	gt_collectors_count(release->collectors, &now);
	gt_spooling_update(release->spooling, &now);
}

/* Once a file is removed nobody can tell that it had what is in the spool, too: when one had to
 * follow, everything that was read is written, and leaves the spool before the oldest goes. */
static bool has_turned(const struct gt_release *release)
{
	struct gt_segments *segments = &release->output->segments;
	bool turned = segments->turned || segments->going_count;

	segments->turned = false;
	return turned && !release->recorder->store;
}

/* Its note is in the newest file first. */
static void discard(const struct gt_release *release)
{
	struct gt_output *output = release->output;

	gt_segments_tell_removed(output);
	gt_output_flush(output, UINT64_MAX);
	gt_segments_discard(&output->segments);
	gt_spooling_removed_left(release->spooling);
}

void gt_release_buffers(const struct gt_release *release)
{
	bool is_open = gt_output_is_open(release->output);
	bool turned = has_turned(release) && is_open;
	uint64_t now, settled, wait;

	if (!release->spooling->spooled)
		return;
	now = gt_clock_from_monotonic(release->clock, gt_clock_now());
	settled = turned ? now : now - GT_SPOOLED_SETTLE_NS;
	if (is_open)
		gt_output_flush(release->output, turned ? UINT64_MAX : settled);
	gt_spooling_lost(release->spooling, gt_output_lost(release->output));
	gt_release_note_read(release->spooling, release->join);
	update_ledger(release);
	if (release->recorder->store && !is_open)
		settled = now; /* the recorder has it at once */
	wait = gt_call_join_longest_wait(release->join);
	settled -= wait;
	if (is_open || release->recorder->store)
		gt_cupti_buffers_release(settled);
	if (turned && !wait)
		discard(release);
	if (release->recorder->store)
		gt_recorder_settle(release->recorder, now, settled);
}
