/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI as a source of events: starts it in the fixed order of REQ-5, fetches its records, reports
 * its errors. One per process, as CUPTI's own state is global; it is never finalized or closed.
 */
#ifndef GT_COLLECTORS_CUPTI_CUPTI_H
#define GT_COLLECTORS_CUPTI_CUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#include "collectors/cupti/buffers.h"
#include "core/config.h"
#include "core/schema/ledger.h"

struct gt_translate;

/* What was found, and what it refused. */
struct gt_cupti_status {
	uint32_t version;   /* cuptiGetVersion */
	char path[256];     /* of libcupti */
	char why[384];      /* why it is not available, empty otherwise */
	char refused[256];  /* kinds and attributes that it refused: "MEMSET: CUPTI_ERROR_... (14)"
			     */
	char graphs[192];   /* of --graphs, unless that is node: "whole", "off", "node: why" */
	char hw_trace[192]; /* of --hw-trace, unless that is off: "on", "off: why" */
};

/* What CUPTI's part calls, on application threads. */
struct gt_cupti_user {
	/* Once, when the driver is up: an exit handler registered from then on runs before the
	 * driver's own. May be NULL. */
	void (*on_init_finished)(void);
	/* CUPTI reports a fatal error; inside its callback. */
	void (*on_failed)(void);
	/* gt_cupti_fetch_asked on a thread of ours, and waits for it, but not for long. False: it
	 * is not over yet. */
	bool (*fetch)(bool forced);
};

/*
 * Finds CUPTI, subscribes, enables kinds and callbacks. Session start, inside cuInit or at the
 * first hooked call (@in_init: the former). @waits: no kind is enabled before gt_cupti_begin. 0, or
 * a negative errno with status->why set: then nothing is active. -EBUSY: another tool was first;
 * collectors/cupti/watch.h tries again later.
 * @config and @status are kept.
 */
int gt_cupti_start(const struct gt_config *config, bool in_init, bool waits,
		   const struct gt_cupti_user *user, struct gt_cupti_status *ret_status);

/* After a start with @waits, or _rest: GPU work is recorded from now on, or as soon as CUPTI is
 * ours again. May block inside CUPTI. Drain thread. */
void gt_cupti_begin(struct gt_cupti_status *status);

/* Until the next gt_cupti_begin: as gt_cupti_cease. Drain thread. */
void gt_cupti_rest(void);

/* Unsubscribes, behind _rest and a flush: gt_cupti_begin subscribes again, and status->why says why
 * it could not. May block inside CUPTI. Drain thread. */
void gt_cupti_part_with(void);

/* A completed buffer that is being read. */
struct gt_cupti_reading {
	struct gt_cupti_buffer buffer;
	CUpti_Activity *last; /* not translated yet: its end is known with the next record */
};

/* Drain thread: _begin starts with the oldest completed buffer, _part reads some records of it, so
 * that other work can be done in between. _begin is false when there is none, _part after the last
 * part of its buffer. @records is increased. */
bool gt_cupti_read_begin(struct gt_cupti_reading *ret_reading, struct gt_translate *translate);
bool gt_cupti_read_part(struct gt_cupti_reading *reading, struct gt_translate *translate,
			uint64_t *records);

/* Asks CUPTI for its buffers, except one with work in progress, which CUPTI keeps
 * (cupti_activity.h, cuptiActivityFlushAll). @forced: all, and records of unfinished work are lost.
 * May block inside CUPTI; hold no lock of ours. Not from buffer or resource callbacks. While
 * another thread flushes it waits, for a second at most. False: it returned without. */
bool gt_cupti_flush(bool forced);

/* The flush that is repeated while the program runs: gt_cupti_flush(false), but nothing with a
 * CUPTI whose flush may crash. Records then come with full buffers, and at the end. */
void gt_cupti_flush_regularly(void);

/* CUPTI's clock (collectors/cupti/library/timestamp.h). -ENOSYS: it does not tell, or is not to be
 * called. Drain thread. */
struct gt_cupti_timestamp;
int gt_cupti_read_clock(struct gt_cupti_timestamp *ret_stamp);

/* The longest flush so far, in ns. Any thread. */
uint64_t gt_cupti_flush_longest(void);

/* From now on no new work is recorded, and drops are not counted; records of work under way still
 * come. False: kernels cannot be disabled, and those under way may hold back others' records. May
 * block inside CUPTI. */
bool gt_cupti_cease(void);

/* How long work in progress is awaited when CUPTI's records will not come to us later. */
#define GT_CUPTI_PATIENCE_NS   50000000u

/* The same for another tool, which asked for what takes the records of such work. */
#define GT_CUPTI_UNFINISHED_NS 500000000u

/* Fetches all buffers. Waits up to @patience_ns for those with work in progress; @forced: then
 * fetches these, too, and records of that work are lost. As gt_cupti_flush. */
void gt_cupti_fetch(uint64_t patience_ns, bool forced);

/* The same before a call of the program after which records are lost: not on its thread, where a
 * flush may hang (struct gt_cupti_user). @forced: the call ends the last context. */
void gt_cupti_fetch_aside(bool forced);

/* What the thread of ours does then: forces nothing out if there are several contexts by then. */
void gt_cupti_fetch_asked(bool forced);

/* Around a call that gives CUPTI another clock: it gives what it has not delivered by then no times
 * (seen with 13.0.1), so all is fetched before. Work in progress is awaited, but not for long; what
 * that leaves over is counted apart (struct gt_translate). The thread that changes it. */
void gt_cupti_clock_changing(void);
void gt_cupti_clock_changed(void);

/* How often that was not over in time. Any thread. */
uint64_t gt_cupti_fetches_late(void);

/* Drain thread: adds drops of CUPTI and of the buffers to the ledger. */
void gt_cupti_count(struct gt_ledger *ledger);

/* The last flush is over, or what is dropped later is not wanted: if nothing new is recorded, what
 * CUPTI drops from now on does not count. The thread that flushes. */
void gt_cupti_settle_dropped(void);

/* A fatal error reported by CUPTI since the last call; NULL: none. */
const char *gt_cupti_fatal(void);

/* What CUPTI reported of itself. */
struct gt_cupti_notice {
	bool is_warning; /* else an error that is not fatal */
	char text[256];  /* result and message */
	uint64_t more;   /* that came before this one was taken; their texts are not kept */
};

/* False: nothing since the last call. Drain thread. */
bool gt_cupti_notice_take(struct gt_cupti_notice *ret_notice);

/* Whether CUPTI has given up the hardware event system since the last call; then @status says why.
 * Drain thread. */
bool gt_cupti_lost_hw_trace(struct gt_cupti_status *status);

/* --unified-memory that CUPTI was not ready for is tried again; CUPTI is about to end: it is not
 * any more. Drain thread. */
void gt_cupti_unified_poll(void);
void gt_cupti_unified_give_up(void);

/* The same for --unified-memory, which CUPTI refused. */
bool gt_cupti_unified_refused(char *ret_why, size_t size);

/* Detaches for another tool: fetches all records and unsubscribes. Any thread, not in a
 * callback. */
void gt_cupti_yield(void);

/* From now on the callbacks do nothing, and no buffer is handed out. */
void gt_cupti_stop(void);

/* CUPTI's name of a call that our table does not know, without its _vNNNN; or NULL. */
const char *gt_cupti_call_name(int domain, uint32_t cbid);

/* Device and id of the stream with this handle in the calling thread's context. Application
 * threads, not in a callback. -ENOENT: CUPTI does not know it or is not running. */
int gt_cupti_find_stream(void *handle, uint32_t *ret_device, uint32_t *ret_stream);

#endif
