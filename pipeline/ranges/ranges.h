/* SPDX-License-Identifier: Apache-2.0
 *
 * Named ranges: the NVTX records of the threads become slices of the host, marks and counters; each
 * launch learns the innermost range that was open, and each range gets a shadow on every stream on
 * which work launched inside it ran, from its first to its last operation there.
 *
 *   ranges.c   which ranges are open on which thread; their lives
 *   records.c  records in, events out
 *   nccl.c     which ranges are calls of NCCL
 *   steps.c    which ranges are steps
 *   shadows.c  GPU operations and shadows
 *
 * A trace begins with the first use of CUDA: ranges that were over by then are counted, those still
 * open are in the trace from their true start. Drain thread.
 */
#ifndef GT_PIPELINE_RANGES_RANGES_H
#define GT_PIPELINE_RANGES_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/event.h"
#include "core/schema/open_range.h"

struct gt_clock;
struct gt_intern;
struct gt_ledger;
struct gt_nvtx_record;
struct gt_outlet;
struct gt_range_collectives;
struct gt_ranges;

/* What ranges are made with. Pointers are kept. */
struct gt_ranges_options {
	const struct gt_clock *clock; /* of the records' times */
	struct gt_intern *strings;
	struct gt_ledger *ledger;
	struct gt_outlet *outlet; /* takes what ranges become */
	const char *step_range;   /* name of the ranges that are steps, "auto", or "" */
	bool operators; /* ranges with the names that PyTorch gives its operators are operators */
};

/* NULL: no memory. */
struct gt_ranges *gt_ranges_new(const struct gt_ranges_options *options);
void gt_ranges_free(struct gt_ranges *ranges);

/* The next record of a thread; to be handed over in the order of its ring. */
void gt_ranges_record(struct gt_ranges *ranges, const struct gt_nvtx_record *record);

/* Takes ranges that were open before the session began. Before each record of a ring: one load. */
void gt_ranges_take_early(struct gt_ranges *ranges);

/* A call of thread launch->tid: sets launch->nvtx and launch->range. @expects: it starts
 * GPU work. @recorded: records of that will come. */
void gt_ranges_launch(struct gt_ranges *ranges, struct gt_launch *launch, bool expects,
		      bool recorded);

/* A GPU operation that has been joined to its launch; corrects launch.nvtx when it is known by now
 * that the range had ended before the launch. */
void gt_ranges_operation(struct gt_ranges *ranges, struct gt_event *event);

/* A GPU operation that is not written, by a filter: no range waits for it or has it. */
void gt_ranges_left_out(struct gt_ranges *ranges, const struct gt_event *event);

/* The rings are about to be emptied. */
void gt_ranges_round_begins(struct gt_ranges *ranges);

/* All rings have been emptied: ends that were told by other threads than the starts can be
 * joined. */
void gt_ranges_round(struct gt_ranges *ranges);

/* The thread is gone and its ring is empty: what it left open is closed as unfinished. */
void gt_ranges_thread_ended(struct gt_ranges *ranges, uint32_t tid);

/* Emits the shadows of closed ranges whose work has come in; @all: of every range, the end. */
void gt_ranges_settle(struct gt_ranges *ranges, bool all);

/* The file ends and the program goes on: emits open ranges as unfinished ones, which stay open, and
 * the shadows of all. */
void gt_ranges_cut(struct gt_ranges *ranges);

/* Hands every range that is open to @take, as if it ended now. */
void gt_ranges_each_open(const struct gt_ranges *ranges,
			 void (*take)(void *context, const struct gt_event *event), void *context);

/* Copies those that are open, @max at most. Returns how many. */
uint32_t gt_ranges_keep(const struct gt_ranges *ranges, struct gt_open_range *ret_open,
			uint32_t max);

/* For recovery: opens one again, from the outermost of a thread inwards. Its bytes may be anything;
 * its domain is one of this process. */
void gt_ranges_reopen(struct gt_ranges *ranges, const struct gt_open_range *open);

/* Whether the range that @record begins is open: it has been opened again. */
bool gt_ranges_has(const struct gt_ranges *ranges, const struct gt_nvtx_record *record);

/* The newest collective of each communicator. */
const struct gt_range_collectives *gt_ranges_collectives(const struct gt_ranges *ranges);

/* The @i-th of those that a launch has under launch->library. False: there are no more. */
bool gt_ranges_library(const struct gt_ranges *ranges, uint64_t number, uint32_t i,
		       struct gt_library_call *ret_call);

/* The name that the program gave to a thread, or NULL. */
const struct gt_string *gt_ranges_thread_name(struct gt_ranges *ranges, uint32_t tid);

/* How many threads of the autograd engine there have been so far, and whether this is one, which
 * runs nothing else: the forward operators of its launches must be handed over before them. */
uint32_t gt_ranges_backward_threads(const struct gt_ranges *ranges);
bool gt_ranges_runs_backward(const struct gt_ranges *ranges, uint32_t tid);

/* Ranges that have begun and not ended: they are written when they end. */
uint32_t gt_ranges_open(const struct gt_ranges *ranges);

/* Ranges that were written without all of their GPU work, for want of memory. */
uint64_t gt_ranges_unshadowed(const struct gt_ranges *ranges);

/* How much of the room for ranges is taken, in thousandths, while the oldest still waits for its
 * GPU work; else 0. When it is full the oldest are written without what is missing. */
uint32_t gt_ranges_fill(const struct gt_ranges *ranges);

/* For recovery: ids of ranges from now on are none of those that the dead process gave. */
void gt_ranges_new_ids(struct gt_ranges *ranges);

/* For recovery, behind gt_ranges_new_ids: the calls of libraries whose kernels may be in the spool
 * of @view. */
struct gt_spool_view;
void gt_ranges_restore_libraries(struct gt_ranges *ranges, const struct gt_spool_view *view);

/* Ranges, marks and samples that are missing in the trace for lack of room. */
uint64_t gt_ranges_lost(const struct gt_ranges *ranges);

#endif
