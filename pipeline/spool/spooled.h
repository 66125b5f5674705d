/* SPDX-License-Identifier: Apache-2.0
 *
 * The session's part of the spool (core/spool.h): what recovery must know beside rings, buffers and
 * stores, and the order in which things become free. Nothing leaves a ring or a buffer before the
 * text made of it is in the file, so a process can be killed at any moment: what is in the spool
 * and not in the file is missing, what is in both is left out by who puts them together. Session
 * start, then drain thread.
 */
#ifndef GT_PIPELINE_SPOOL_SPOOLED_H
#define GT_PIPELINE_SPOOL_SPOOLED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/call/kernel_names.h"
#include "collectors/cupti/records/translate.h"
#include "core/config.h"
#include "core/correlate.h"
#include "core/guest/clock.h"
#include "core/losses.h"
#include "core/schema/ledger.h"
#include "core/schema/metadata.h"
#include "core/schema/open_range.h"
#include "core/schema/os_call.h"

struct gt_recorder_store;

/* GPU operations may be delivered late by this much and still find their place in order. Together
 * with the flush period it is less than the second that a process without a spool may lose. */
#define GT_SPOOLED_SETTLE_NS 100000000u

/* What the closed files of a trace in several say in their ledgers, all together. */
struct gt_spooled_claims {
	uint64_t segment[GT_SEGMENT_COUNT_]; /* of the last of them */
	struct gt_ledger ledger;
};

/* The records of all buffers that are marked as read, and of those that are not in the spool. */
struct gt_spooled_read {
	struct gt_ledger ledger; /* only what gt_spooled_copy_read copies */
	struct gt_correlate_answers answered;
	/* of those that wait for their call: not counted in full */
	uint64_t *keys;
	uint64_t capacity, count;
	uint64_t unlisted; /* others, for which there was no room, but those of nodes of graphs */
	uint64_t seen;     /* how many were looked at */
	uint64_t moves;    /* when: struct gt_spooled_waiting */
	bool is_short;     /* there was no room then */
};

#define GT_SPOOLED_RANGES 256u

/* Ranges whose beginnings are in no ring any more. Some may be in a ring, too. */
struct gt_spooled_ranges {
	uint32_t count;
	struct gt_open_range at[GT_SPOOLED_RANGES];
};

/* As it lies in the spool; pointers in it are addresses of the dead process. */
struct gt_spooled {
	uint32_t has_cupti;
	uint32_t metadata_generation;
	char unwinder[32];
	uint32_t context_device[GT_TRANSLATE_CONTEXTS];
	uint64_t open_ranges; /* whose beginnings are in no ring any more, nor here: */
	struct gt_spooled_ranges ranges[2];
	_Atomic uint32_t last_ranges; /* which of the two is whole */
	struct gt_clock clock;
	struct gt_metadata metadata;
	struct gt_ledger ledger;
	struct gt_spooled_read read[2];
	_Atomic uint32_t last_read; /* which of the two is whole */
	struct gt_losses lost;      /* what was to be in the file, and is neither there nor here */
	struct gt_spooled_claims claims[2];
	_Atomic uint32_t claim; /* which of the two is whole */
	uint32_t closing_claim; /* which will be, once the file that is being closed is */
	struct gt_translate_notes notes;
	struct gt_kernel_names kernels;
	const struct gt_recorder_store *recorder; /* NULL: there is none */
	struct gt_os_tally os_calls;
	uint64_t ranges_lost;         /* beside those that the blocks of threads count */
	uint64_t given_up;            /* as in struct gt_call_join */
	_Atomic uint64_t range_ended; /* MONOTONIC ns, of --capture-range; 0: it has not */
	/* calls and operations of files that were removed while they may be here, too */
	_Atomic uint64_t removed_early;
};

/* Records that wait for their call; @key tells one from another, also when it is read again from
 * its buffer. */
struct gt_spooled_waiting {
	uint64_t count;
	uint64_t moves; /* changes when there is another one at an index */
	uint64_t (*key)(const void *context, uint64_t index);
	bool (*is_plain)(uint64_t key); /* it is of no node of a graph */
	const void *context;
	struct gt_correlate_answers answered; /* of those that do not wait */
};

/* Keeps the spool of a session. Given: all but the first. */
struct gt_spooling {
	struct gt_spooled *spooled; /* what the spool holds of the session; NULL: there is none */
	const struct gt_clock *clock;
	struct gt_metadata *metadata;
	struct gt_ledger *ledger;
	const uint32_t *context_device; /* the translator's, GT_TRANSLATE_CONTEXTS */
	const _Atomic bool *has_cupti;
};

/* Makes the spool, if it is wanted and can be had. Before the stores, which lie in it. @folder: of
 * the trace. */
void gt_spooling_start(struct gt_spooling *spooling, const struct gt_config *config,
		       const char *folder);

/* What the session has learned while it started is kept too. Before its first round. As all below
 * it does nothing where there is no spool. */
void gt_spooling_begun(const struct gt_spooling *spooling);

/* The range that makes the window has ended at @time, CLOCK_MONOTONIC ns; 0: the window begins. Any
 * thread. */
void gt_spooling_range_ended(const struct gt_spooling *spooling, uint64_t time);

/* Launches of lost calls of whose work no record is awaited any more. */
void gt_spooling_given_up(const struct gt_spooling *spooling, uint64_t launches);

/* Where the recorder keeps its events. */
void gt_spooling_recorder(const struct gt_spooling *spooling,
			  const struct gt_recorder_store *recorder);

/* After each look at the clocks, before anything is converted by it: an event that was written is
 * known again by its times when it comes out of the spool. */
void gt_spooling_clock(const struct gt_spooling *spooling);

/* The clock of CUPTI that was read, before its first record is. */
void gt_spooling_cupti_clock(const struct gt_spooling *spooling);

/* Brings metadata and counts up to date. @ledger: all that would be in the ledger of a file closed
 * now, but for what the file itself counts. */
void gt_spooling_update(const struct gt_spooling *spooling, const struct gt_ledger *ledger);

/* The counts of records of buffers are final, but for those that are @waiting for their call.
 * Before a buffer is marked as read, and before one leaves the spool; not while one that is in the
 * spool is half read. */
void gt_spooling_read(const struct gt_spooling *spooling, const struct gt_spooled_waiting *waiting);

/* A file with @events calls and operations is removed although they may be here, too. */
void gt_spooling_removed(const struct gt_spooling *spooling, uint64_t events);

/* What is in files that were removed is not here any more. */
void gt_spooling_removed_left(const struct gt_spooling *spooling);

/* Copies what gt_spooling_read keeps up to date. */
void gt_spooled_copy_read(struct gt_ledger *to, const struct gt_ledger *from);

/* Adds the same. */
void gt_spooled_add_read(struct gt_ledger *to, const struct gt_ledger *from);

/* The records of rings are counted. Before they leave their rings. */
void gt_spooling_rings(const struct gt_spooling *spooling);

/* Of a spool: the one that is whole. */
const struct gt_spooled_read *gt_spooled_read(const struct gt_spooled *spooled);

/* Adds what gt_spooling_rings keeps up to date. */
void gt_spooled_add_rings(struct gt_ledger *to, const struct gt_ledger *from);

/* Where those that are open now are to be put, before their beginnings leave their rings; they
 * count once _kept is called. There is a spool. */
struct gt_spooled_ranges *gt_spooling_ranges(const struct gt_spooling *spooling);
void gt_spooling_ranges_kept(const struct gt_spooling *spooling);

/* What is lost so far. Before the records that it was made of leave the spool. */
void gt_spooling_lost(const struct gt_spooling *spooling, const struct gt_losses *lost);

/* The files up to that with @segment (GT_SEGMENT_COUNT_) are closed; @claimed is the sum of their
 * ledgers. */
void gt_spooling_claim(const struct gt_spooling *spooling, const uint64_t *segment,
		       const struct gt_ledger *claimed);

/* The same of the next one, for recovery, just before it is closed; what comes then is for another
 * file. */
void gt_spooling_closing(const struct gt_spooling *spooling, const uint64_t *segment,
			 const struct gt_ledger *claimed);

/* Where the translator leaves its notes; NULL: there is no spool. */
struct gt_translate_notes *gt_spooling_notes(const struct gt_spooling *spooling);

/* Bytes of the build-id of this library as hexadecimal text. */
void gt_spooled_build_id(char *ret_text, uint32_t size);

#endif
