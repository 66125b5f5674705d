/* SPDX-License-Identifier: Apache-2.0
 *
 * The activity buffers: a fixed set of slots with an atomic state each, so that CUPTI's two buffer
 * callbacks (application threads, CUPTI's locks held: REQ-24) only change a state. The drain thread
 * reads completed buffers in order of completion. Their size follows the rate of records
 * (collectors/cupti/memory/pace.h), their memory comes from collectors/cupti/memory/blocks.h.
 */
#ifndef GT_COLLECTORS_CUPTI_BUFFERS_H
#define GT_COLLECTORS_CUPTI_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/cupti/memory/slots.h"
#include "core/schema/ledger.h"

/* A completed activity buffer. */
struct gt_cupti_buffer {
	uint8_t *data;
	size_t valid; /* bytes that CUPTI filled */
	bool foreign; /* a copy of another tool's buffer: pointers in its records are that tool's */
	uint64_t order;   /* of completion */
	uint64_t request; /* which request it answered, from 1 on */
	uint64_t sampled; /* its reader's: gt_clock_newest of the clock it is read by; 0: unknown */
};

/* @buffer_bytes: size of a buffer at most; @max_bytes: of all together, and one buffer has at most
 * half of it. @per_thread: CUPTI fills one for each thread, who requests it. @null_is_safe: this
 * CUPTI accepts a NULL buffer (12.9 and later). -ENOMEM. Session start. */
int gt_cupti_buffers_start(size_t buffer_bytes, size_t max_bytes, bool per_thread,
			   bool null_is_safe);

/* From now on every request is answered with the discard buffer or none, and not counted; until
 * _resume. */
void gt_cupti_buffers_stop(void);
void gt_cupti_buffers_resume(void);

/* CUPTI's callbacks: lock-free, no CUPTI call, no allocation except a rare mmap when no spare is
 * left. _complete returns false for a buffer that is not ours: it was copied and still belongs to
 * its owner. */
void gt_cupti_buffers_request(uint8_t **ret_buffer, size_t *ret_size, size_t *ret_max_records);
bool gt_cupti_buffers_complete(uint8_t *buffer, size_t valid);

/* Drain thread: the reading of a full buffer begins, at @now (trace ns). Before any of its work is
 * written: recovery takes its times by the same clock. */
void gt_cupti_buffers_begin(const struct gt_cupti_buffer *buffer, uint64_t now);

/* There is a spool, and @buffer has found no room in it. */
bool gt_cupti_buffers_are_outside(const struct gt_cupti_buffer *buffer);

/* Drain thread: the oldest completed buffer. False: none. Undo with _recycle, at the trace time
 * @now; its @valid may be less by then: what could not be read, which recovery would count again.
 */
bool gt_cupti_buffers_next(struct gt_cupti_buffer *ret_buffer);
void gt_cupti_buffers_recycle(const struct gt_cupti_buffer *buffer, uint64_t now);

/* Cost of reading a buffer with @valid bytes, in bytes: an empty one costs something, too. */
static inline size_t gt_cupti_buffer_cost(size_t valid)
{
	return valid + 4096;
}

/* The order that the next completed buffer will have. Any thread. */
uint64_t gt_cupti_buffers_order(void);

/* Drain thread: whether a buffer before @order is still to be read. */
bool gt_cupti_buffers_wait_before(uint64_t order);

/* Cost of all buffers that wait to be read. */
size_t gt_cupti_buffers_waiting(void);

/* Whether CUPTI holds many nearly empty buffers, as many short threads leave them, and may run out
 * before the next flush. True once for each batch that it has asked for. Drain thread. */
bool gt_cupti_buffers_are_many(void);

/* Drain thread: all work that was read before @until (trace ns) is in the file. Until then buffers
 * in the spool are kept for recovery. */
void gt_cupti_buffers_release(uint64_t until);

/* Drain thread: prepares memory for coming requests. Before a buffer is freed that recovery may
 * need, @spill(@context) is called, once, to bring what was read into the file; NULL: not needed.
 */
void gt_cupti_buffers_prepare(void (*spill)(void *context), void *context);

/* Counters of activity buffers since the start. */
struct gt_cupti_buffer_counts {
	uint64_t requested;
	uint64_t completed;
	uint64_t foreign;         /* completed, but not ours */
	uint64_t discarded;       /* requests answered with the discard buffer */
	uint64_t discarded_bytes; /* returned in it */
	uint64_t crowded;         /* of the discarded ones: not memory was short, but buffers */
};

/* The counters now. Any thread. */
struct gt_cupti_buffer_counts gt_cupti_buffers_count(void);

/* CUPTI was to return all buffers that answered the first @requests requests: those that it still
 * has count as not returned from now on. Any thread. */
void gt_cupti_buffers_demanded(uint64_t requests);

/* Whether CUPTI still has one of the buffers that answered the first @requests requests: after a
 * flush, one with work in progress. Any thread. */
bool gt_cupti_buffers_held(uint64_t requests);

/* A buffer that CUPTI has, and writes into. */
struct gt_cupti_lent {
	const uint8_t *data;
	size_t bytes;
};

/* Each of them. Drain thread, which frees buffers. */
void gt_cupti_buffers_each_lent(void (*take)(void *context, const struct gt_cupti_lent *lent),
				void *context);

/* Bytes of the buffers that CUPTI has, at least of one: what it can hold without another
 * request. */
size_t gt_cupti_buffers_lent_bytes(void);

/* Buffers that CUPTI has had so far may have gone to another tool and are no longer counted. */
void gt_cupti_buffers_forget(void);

/* Brings the counts in @ledger up to date: those that only grow. The owner of the ledger. */
void gt_cupti_buffers_report_delivered(struct gt_ledger *ledger);

/* The same, and what has not come back or is not read now: for a ledger that is closed. */
void gt_cupti_buffers_report(struct gt_ledger *ledger);

#endif
