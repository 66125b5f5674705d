/* SPDX-License-Identifier: Apache-2.0
 *
 * When ring records and activity buffers are free again: with a spool, only when what was made of
 * them is in the file (docs/internals/recovery.md). Drain thread.
 */
#ifndef GT_PIPELINE_SOURCES_RELEASE_H
#define GT_PIPELINE_SOURCES_RELEASE_H

struct gt_clock;
struct gt_call_join;
struct gt_collectors;
struct gt_output;
struct gt_ranges;
struct gt_recorder;
struct gt_spooling;

/* All is given. */
struct gt_release {
	const struct gt_clock *clock;
	const struct gt_spooling *spooling;
	const struct gt_ranges *ranges;  /* open ones are in no ring any more */
	const struct gt_call_join *join; /* GPU work may wait there */
	struct gt_output *output;
	struct gt_recorder *recorder;           /* has what is in no file */
	const struct gt_collectors *collectors; /* what they count is kept in the spool */
};

/* After each round over the rings: writes the text made of them, then gives their records back. */
void gt_release_rings(const struct gt_release *release);

/* The counts of what was read so far go to the spool: see gt_spooling_read. */
void gt_release_note_read(const struct gt_spooling *spooling, const struct gt_call_join *join);

/* After each round: GPU work that is old enough is written, its buffers are given back, and the
 * spool's metadata brought up to date. Does nothing without a spool. */
void gt_release_buffers(const struct gt_release *release);

/* All rings and buffers: what was in them is in a closed file. */
void gt_release_all(const struct gt_release *release);

#endif
