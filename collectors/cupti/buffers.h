/* SPDX-License-Identifier: Apache-2.0
 *
 * The activity buffers: a fixed set of slots with an atomic state each, so that CUPTI's two buffer
 * callbacks (application threads, CUPTI's locks held: REQ-24) only change a state. The drain thread
 * reads completed buffers in the order of completion. Their size is what the pace of the records
 * asks for (collectors/cupti/pace.h), their memory comes from collectors/cupti/blocks.h.
 */
#ifndef GT_COLLECTORS_CUPTI_BUFFERS_H
#define GT_COLLECTORS_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/ledger.h"

/* More than CUPTI has, and wait to be read, at any time: they are small only while records come
 * slowly. */
#define GT_CUPTI_BUFFERS_MAX 2048u

/* A completed activity buffer. */
struct gt_cupti_buffer {
	uint8_t *data;
	size_t valid; /* bytes that CUPTI filled */
	bool foreign; /* a copy of another tool's, which has what its records point to */
};

/* At most @buffer_bytes of each, and at most half of the @max_bytes of all together. @null_is_safe:
 * this CUPTI survives a NULL buffer (12.9 and later). -ENOMEM. Session start. */
int gt_cupti_buffers_start(size_t buffer_bytes, size_t max_bytes, bool null_is_safe);

/* Nobody will read any more: from now on every request is answered as if the cap was reached. */
void gt_cupti_buffers_stop(void);

/* CUPTI's callbacks: lock-free, no call of CUPTI, no allocation but a rare mmap when no spare is
 * left. _complete is false for a buffer that was not handed out here: it was read, and is still its
 * owner's. */
void gt_cupti_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records);
bool gt_cupti_buffers_complete(uint8_t *buffer, size_t valid);

/* Drain thread: the oldest completed buffer. False: none. Give it back with _recycle, at the trace
 * time @now. */
bool gt_cupti_buffers_next(struct gt_cupti_buffer *ret_buffer);
void gt_cupti_buffers_recycle(const struct gt_cupti_buffer *buffer, uint64_t now);

/* What a buffer with @valid bytes costs to read, in bytes: that of looking for it is worth some. */
static inline size_t gt_cupti_buffer_cost(size_t valid)
{
	return valid + 4096;
}

/* That of all that wait to be read. */
size_t gt_cupti_buffers_waiting(void);

/* Drain thread: all work that was read before @until (trace ns) is in the file. A buffer of the
 * spool is kept until then, so that recovery finds what was not. */
void gt_cupti_buffers_release(uint64_t until);

/* Drain thread: has memory ready, so that request finds some. */
void gt_cupti_buffers_prepare(void);

/* For recovery: a buffer of a spool. */
struct gt_cupti_spooled {
	const uint8_t *data;
	size_t valid;
	uint64_t order;  /* of completion */
	bool foreign;    /* as above */
	bool unfinished; /* CUPTI still had it: @valid bytes at most, zero behind its records */
};

struct gt_spool_view;
/* Calls @found for each completed buffer of a spool, oldest first. */
void gt_cupti_buffers_each(const struct gt_spool_view *view,
			   void (*found)(void *context, const struct gt_cupti_spooled *buffer),
			   void *context);

/* Counters of activity buffers since the start. */
struct gt_cupti_buffer_counts {
	uint64_t requested;
	uint64_t completed;
	uint64_t foreign;         /* completed, but not handed out by us */
	uint64_t discarded;       /* requests answered with the discard buffer */
	uint64_t discarded_bytes; /* that came back in it */
};

/* The counters now. Any thread. */
struct gt_cupti_buffer_counts gt_cupti_buffers_count(void);

/* CUPTI is about to be told to give back what it has. */
void gt_cupti_buffers_flushing(void);

/* After that: has it kept one, for work that is under way? Any thread. */
bool gt_cupti_buffers_kept(void);

/* Bytes of the buffers that CUPTI has, at least of one: what it can hold without asking for another
 * one. */
size_t gt_cupti_buffers_given(void);

/* Those that CUPTI has had so far may have gone to another tool, and no longer count there. */
void gt_cupti_buffers_forget(void);

/* Counts so far, and what has not come back or was not read, as of now. Whoever holds the
 * ledger. */
void gt_cupti_buffers_report(struct gt_ledger *ledger);

#endif
