/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files of collectors/cupti/.
 */
#ifndef GT_COLLECTORS_CUPTI_INTERNAL_H
#define GT_COLLECTORS_CUPTI_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collectors/cupti/cupti.h"
#include "collectors/cupti/library/load.h"

/* "CUPTI for " and the name that a subscriber gives itself. */
#define GT_CUPTI_NAME_BYTES 64

#define GT_CUPTI_DOMAINS    16
#define GT_CUPTI_CBIDS      1024

/* A set of callbacks: a bit per domain and id. Any thread. */
struct gt_cupti_callbacks {
	_Atomic uint64_t bits[GT_CUPTI_DOMAINS][GT_CUPTI_CBIDS / 64];
};

/* Whether the set has it; false for what does not exist. */
static inline bool gt_cupti_callbacks_has(const struct gt_cupti_callbacks *set, uint32_t domain,
					  uint32_t cbid)
{
	return domain < GT_CUPTI_DOMAINS && cbid < GT_CUPTI_CBIDS &&
	       atomic_load_explicit(&set->bits[domain][cbid / 64], memory_order_relaxed) >>
			       cbid % 64 &
		       1;
}

/* False: no such callback. */
static inline bool gt_cupti_callbacks_set(struct gt_cupti_callbacks *set, uint32_t domain,
					  uint32_t cbid, bool wanted)
{
	uint64_t bit = (uint64_t)1 << cbid % 64;

	if (!domain || domain >= GT_CUPTI_DOMAINS || !cbid || cbid >= GT_CUPTI_CBIDS)
		return false;
	if (wanted)
		atomic_fetch_or(&set->bits[domain][cbid / 64], bit);
	else
		atomic_fetch_and(&set->bits[domain][cbid / 64], ~bit);
	return true;
}

/* What CUPTI records of graphs; chosen once. */
enum gt_cupti_graphs {
	GT_CUPTI_GRAPHS_UNKNOWN,
	GT_CUPTI_GRAPHS_NODES,
	GT_CUPTI_GRAPHS_WHOLE,
	GT_CUPTI_GRAPHS_LOST, /* CUPTI was detached: NODES, which has not been said yet */
};

/* The state of CUPTI in this process. */
struct gt_cupti {
	struct gt_cupti_api api;
	const struct gt_config *config;
	CUpti_SubscriberHandle subscriber;
	_Atomic bool subscribed; /* we are subscribed */
	_Atomic bool active;     /* callbacks do something */
	_Atomic bool away;       /* the buffer callbacks are another tool's, or none are set */
	_Atomic bool shared;     /* external ids replace the callbacks that we do not have */
	_Atomic bool ceased;     /* a window or the process is ending: new work is not recorded */
	_Atomic bool settled;    /* nor missed: what CUPTI drops from now on does not count */
	_Atomic bool silent;     /* callbacks of calls only flush where due, they record nothing */
	_Atomic bool reads_blocks;    /* what calls do with memory: --memory */
	_Atomic bool records_retains; /* cuDevicePrimaryCtxRetain is recorded, too */
	_Atomic bool serves;    /* what other tools ask for goes through us, while CUPTI is ours */
	_Atomic uint64_t kinds; /* that we have enabled, a bit each */
	_Atomic uint32_t flushing;        /* futex: 1: a thread is in FlushAll or GetNumDropped */
	_Atomic uint64_t flush_longest;   /* ns */
	_Atomic uint64_t dropped;         /* records, told by CUPTI and not yet in the ledger */
	struct gt_cupti_callbacks wanted; /* callbacks that we have enabled */
	_Atomic int graphs;               /* enum gt_cupti_graphs */
	bool is_late;                     /* the start is over */
	bool may_have_graphs;             /* they may have been made before the start */
	bool driver_was_up;               /* when CUPTI was started */
	bool hears_init;  /* subscribed before: CU_INIT_FINISHED or a new context will be told */
	bool waits;       /* no kinds yet: gt_cupti_begin. Starting thread, then drain thread */
	pthread_t rested; /* who called gt_cupti_rest, while it waits */
	bool parted;      /* unsubscribed until the next gt_cupti_begin. Drain thread */
	bool has_buffers;
	struct gt_cupti_user user;
	_Atomic uint64_t fetches_late;
	/* requests for buffers until another tool changed CUPTI's clock: they may hold work that
	 * has no times for that. UINT64_MAX: it is being changed */
	_Atomic uint64_t clock_changed;
	_Atomic uint32_t detaching; /* threads that wait for gt_cupti_fetch_detaching */
	_Atomic bool init_finished;
	_Atomic bool unified_waits;  /* until CUPTI is ready for it: --unified-memory */
	_Atomic int unified_early;   /* what CUPTI said then */
	_Atomic int unified_refused; /* CUPTI's reason, not yet told; 0: none */
	_Atomic int hw_trace_lost;   /* CUPTI's reason, not yet told; 0: none */
	_Atomic(const char *) fatal; /* message of a fatal state callback */
	_Atomic bool dead;           /* after a fatal error: never call it again */
};

/* Global, as CUPTI's own state is. */
extern struct gt_cupti gt_cupti;

/* The subscriber's callback. Application threads. */
void CUPTIAPI gt_cupti_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data);

/* Whole graphs are recorded no longer, if no window follows. */
void gt_cupti_end_graphs(void);

/* cuptiActivityFlushAll, one at a time: see gt_cupti_flush. */
bool gt_cupti_flush_all(bool forced);

/* False while CUPTI has nothing of ours: then it is not called. */
bool gt_cupti_is_usable(void);

/*
 * Subscribes, registers the buffers, enables callbacks and kinds. The starting thread, later the
 * drain thread. 0; -EBUSY: another tool is subscribed; another negative errno. @status: why, and
 * what was refused.
 */
int gt_cupti_attach(struct gt_cupti_status *status);

/* The same for buffers and kinds only, while we are still subscribed. */
int gt_cupti_attach_buffers(struct gt_cupti_status *status);

/* Another tool is about to register its buffer callbacks: fetches everything and stops collecting.
 * On its thread, inside its call. */
void gt_cupti_yield_buffers(void);

/* What another tool has in CUPTI, as far as seen. */
struct gt_cupti_other {
	CUpti_SubscriberHandle subscriber; /* NULL: none */
	uint64_t kinds;                    /* a bit each, of the first 64 */
	bool registered;                   /* the buffer callbacks are the tool's */
	bool clock;                        /* the clock is the tool's */
};

/* In place of cuptiFinalize: from now on CUPTI neither calls that tool nor writes to its buffers.
 * On its thread, inside its call. False: CUPTI has nothing of ours; nothing was done. */
bool gt_cupti_detach(const struct gt_cupti_other *other);

/* Buffers and kinds are ours, the subscription is not: CUPTI's records then link its correlation
 * ids to calls of the hooks by external ids. False: no longer. */
void gt_cupti_share(bool shared);

/* gt_cupti_fetch_aside, all records, whatever contexts there are: CUPTI will not be ours. */
void gt_cupti_fetch_detaching(void);

/* Unsubscribes, if subscribed. Any thread; safe to call twice at once. */
void gt_cupti_unsubscribe(void);

/* False: CUPTI no longer knows our subscription (another tool called cuptiFinalize). Drain
 * thread. */
bool gt_cupti_is_subscribed(void);

#endif
