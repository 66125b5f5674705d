/* SPDX-License-Identifier: Apache-2.0
 *
 * What the flight recorder of a dead process had kept, as events; and what its rings and buffers
 * still hold of the same, which is left out. One thread; what the spool says may be anything.
 */
#ifndef GT_PIPELINE_REPLAY_KEPT_H
#define GT_PIPELINE_REPLAY_KEPT_H

#include "core/spool_view.h"
#include "pipeline/output/outlet.h"
#include "pipeline/recorder/flows.h"
#include "pipeline/recorder/recorder.h"
#include "pipeline/replay/stores.h"

/* Given: the first three. */
struct gt_replay_kept {
	const struct gt_spool_view *view;
	struct gt_replay_stores *stores;
	struct gt_outlet *outlet;
	const struct gt_recorder_store *store; /* NULL: there was no recorder */
	struct gt_outlet_gate gate;
	struct gt_recorder_flows flows;
	uint64_t old[GT_EVENT_COUNT_]; /* older than what was to be kept */
	uint64_t *keys;                /* of the events that are written: a hash table; 0: free */
	size_t key_count, key_capacity;
	size_t bytes;     /* that were read: no more than there are */
	bool is_known;    /* events come from the recorder */
	bool is_replayed; /* events come from rings and buffers */
	bool has_failed;  /* no memory */
};

/* Finds the store at @recorder, an address of the dead process, and takes the events of all others
 * through it. */
void gt_replay_kept_init(struct gt_replay_kept *kept, const struct gt_recorder_store *recorder);

/* Also of a zeroed struct. */
void gt_replay_kept_fini(struct gt_replay_kept *kept);

/* From when on it has events, and its last look, trace ns. */
uint64_t gt_replay_kept_since(const struct gt_replay_kept *kept);
uint64_t gt_replay_kept_now(const struct gt_replay_kept *kept);

/* Writes what was kept. Before rings and buffers. */
void gt_replay_kept_write(struct gt_replay_kept *kept);

/* Writes the ranges that were open, unfinished. Behind all others. */
void gt_replay_kept_open(struct gt_replay_kept *kept);

/* Sets what is gone, in the ledger of the dead process. */
void gt_replay_kept_count(const struct gt_replay_kept *kept, struct gt_ledger *ledger);

#endif
