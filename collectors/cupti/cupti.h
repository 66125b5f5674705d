/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI as a source: start in the fixed order of REQ-5, fetch what it has, say what went wrong. One
 * per process; CUPTI's own state is global, and it is never unsubscribed, finalized or closed.
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

/* Which CUPTI was found, and what it refused. */
struct gt_cupti_status {
	uint32_t version;  /* cuptiGetVersion */
	char path[256];    /* of libcupti */
	char why[256];     /* why it could not be had, empty otherwise */
	char refused[256]; /* kinds and attributes that it refused: "MEMSET=14 ..." */
};

/*
 * Finds CUPTI, subscribes, enables kinds and callbacks. Session start, inside cuInit or at the
 * first hooked call. @on_init_finished is called once on an application thread when the driver is
 * up (there, and not before, an exit handler runs before the driver's own); @on_failed when CUPTI
 * reports a fatal error, inside its callback. 0, or a negative errno with status->why set: then
 * nothing of it is active. -EBUSY: another tool was first; it may be had later
 * (collectors/cupti/watch.h). @config and @status are kept.
 */
int gt_cupti_start(const struct gt_config *config, void (*on_init_finished)(void),
		   void (*on_failed)(void), struct gt_cupti_status *ret_status);

/* A completed buffer that is being read. */
struct gt_cupti_reading {
	struct gt_cupti_buffer buffer;
	CUpti_Activity *last; /* its end is known when the next one is: not translated yet */
};

/* Drain thread: begins with the oldest completed buffer, which is then read in parts until it is
 * over: others want to be looked after meanwhile. _begin is false when there is none, _part when
 * that was the last of its buffer. @records counts up. */
bool gt_cupti_read_begin(struct gt_cupti_reading *ret_reading);
bool gt_cupti_read_part(struct gt_cupti_reading *reading, struct gt_translate *translate,
			uint64_t *records);

/* Asks CUPTI for its buffers, but for one with work that is under way: that one stays with it
 * (cupti_activity.h, cuptiActivityFlushAll). @forced: all, and the records of that work are lost.
 * May block inside CUPTI; hold no lock of ours. Not from buffer or resource callbacks. */
void gt_cupti_flush(bool forced);

/* The same, forced only if a buffer stayed there: when what CUPTI has will not be ours to fetch any
 * more. */
void gt_cupti_fetch(void);

/* Drain thread: adds what CUPTI and the buffers dropped to the ledger's keys. */
void gt_cupti_count(struct gt_ledger *ledger);

/* A fatal error that CUPTI reported since the last call, once; NULL: none. */
const char *gt_cupti_fatal(void);

/* Makes room for another tool: fetches what CUPTI has and unsubscribes. Any thread, not in a
 * callback. */
void gt_cupti_yield(void);

/* From now on the callbacks do nothing, and no buffer is handed out. */
void gt_cupti_stop(void);

/* Name of a call that our table does not know, as CUPTI gives it without its _vNNNN; or NULL. */
const char *gt_cupti_call_name(int domain, uint32_t cbid);

/* Where the stream with this handle is, of the calling thread's context. Application threads, not
 * in a callback. -ENOENT: CUPTI does not know it or does not run. */
int gt_cupti_find_stream(void *handle, uint32_t *ret_device, uint32_t *ret_stream);

#endif
