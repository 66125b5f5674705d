/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings of the application threads, emptied: each record to the part that it is for. Drain
 * thread.
 */
#ifndef GT_PIPELINE_SOURCES_RINGS_H
#define GT_PIPELINE_SOURCES_RINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/overhead/thinning.h"

struct gt_calls;
struct gt_capture_filter;
struct gt_config;
struct gt_metadata;
struct gt_ranges;
struct gt_release;
struct gt_samples;
struct gt_thread_names;

/* Given: the first nine; the rest is zero at first. */
struct gt_rings {
	const struct gt_config *config;
	struct gt_thread_names *threads;
	struct gt_calls *calls;
	struct gt_ranges *ranges;
	const struct gt_samples *samples;
	const struct gt_release *release;
	struct gt_metadata *metadata; /* its window */
	const struct gt_capture_filter *filter;
	bool waits;       /* the window begins later: calls are not recorded yet */
	uint32_t fullest; /* how full one was since it was asked for, in thousandths */
	bool thins;       /* --thin */
	struct gt_thinning thinning;
	struct {
		uint64_t next;    /* CLOCK_MONOTONIC ns: its end */
		uint32_t fullest; /* in it, of what it may grow to */
		uint64_t lost;    /* calls before it */
	} period;
};

/* How full the fullest ring was when it was drained, since the last time that this was asked: in
 * thousandths. */
uint32_t gt_rings_fullest(struct gt_rings *rings);

#endif
