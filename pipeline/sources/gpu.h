/* SPDX-License-Identifier: Apache-2.0
 *
 * GPU work, by CUPTI's activity records: CUPTI's start, its buffers to events, events to the join.
 * Drain thread, but for the start.
 */
#ifndef GT_PIPELINE_SOURCES_GPU_H
#define GT_PIPELINE_SOURCES_GPU_H

#include <stdatomic.h>
#include <stdbool.h>

#include "collectors/cupti/cupti.h"
#include "collectors/cupti/records/translate.h"
#include "core/config.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "pipeline/join/join.h"

struct gt_collector_turn;
struct gt_spooling;

/* Given: the first nine; the rest is zero at first. */
struct gt_gpu {
	const struct gt_config *config;
	struct gt_metadata *metadata; /* versions and devices */
	struct gt_ledger *ledger;
	struct gt_call_join *join;
	const struct gt_spooling *spooling; /* learns what was read; NULL: nobody has to */
	void (*watch_end)(void);    /* the driver is up: exit handlers can be registered; may be
				     * NULL */
	bool (*fetch)(bool forced); /* gt_flusher_fetch */
	bool waits;                 /* the window begins later: GPU work is not recorded yet */
	bool in_init;               /* the session starts inside cuInit */
	int started;                /* what gt_cupti_start returned */
	bool has_read_clock;        /* CUPTI's, or it cannot be read */
	struct gt_cupti_status status;
	/* GPU work is recorded. The exiting thread may set it from a drain thread that is stuck. */
	_Atomic bool has_cupti;
	struct gt_translate translate;
	const struct gt_collector_turn *turn; /* while buffers are read, else NULL */
	struct {
		uint64_t work,
			zero; /* records, and those with times of 0, when they were judged last */
		bool reported;
		_Atomic bool by_force; /* the end of a window has had records forced out */
	} times;
};

/* What the translator needs to make events. */
void gt_gpu_init(struct gt_gpu *gpu, const struct gt_clock *clock, struct gt_intern *strings,
		 struct gt_demangle *demangle);

#endif
