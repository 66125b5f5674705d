/* SPDX-License-Identifier: Apache-2.0
 *
 * What the cupti_*.c files share.
 */
#ifndef GT_COLLECTORS_CUPTI_INTERNAL_H
#define GT_COLLECTORS_CUPTI_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "collectors/cupti/cupti.h"
#include "collectors/cupti/load.h"

/* "CUPTI for " and the name that a subscriber gave itself. */
#define GT_CUPTI_NAME_BYTES 64

/* The state of CUPTI in this process. */
struct gt_cupti {
	struct gt_cupti_api api;
	const struct gt_config *config;
	CUpti_SubscriberHandle subscriber;
	_Atomic bool subscribed; /* the handle is ours */
	_Atomic bool active;     /* callbacks do something */
	_Atomic bool away;       /* the buffer callbacks are another tool's, or nobody's */
	_Atomic bool shared;     /* external ids stand for the callbacks that we do not have */
	_Atomic bool silent;     /* callbacks of calls flush where it is due, and record nothing */
	bool has_buffers;
	void (*on_init_finished)(void);
	void (*on_failed)(void);
	_Atomic bool init_finished;
	_Atomic(const char *) fatal; /* message of a fatal state callback */
	_Atomic bool dead;           /* after a fatal error: never call it again */
};

/* CUPTI's state is global, so is ours. */
extern struct gt_cupti gt_cupti;

/* The subscriber's callback. Application threads. */
void CUPTIAPI gt_cupti_callback(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				const void *data);

/* False while CUPTI has nothing of ours: then it is not called. */
bool gt_cupti_can_be_asked(void);

/*
 * Subscribes, registers the buffers, enables callbacks and kinds. The starting thread, later the
 * drain thread. 0; -EBUSY: another tool has subscribed; another negative errno. @status: why, what
 * was refused.
 */
int gt_cupti_attach(struct gt_cupti_status *status);

/* The same for the buffers and the kinds alone, when the subscription is still ours. */
int gt_cupti_attach_buffers(struct gt_cupti_status *status);

/* Another tool is about to register its buffer callbacks: fetches everything and stops collecting.
 * On its thread, inside its call. */
void gt_cupti_yield_buffers(void);

/* What another tool was seen to have in CUPTI. */
struct gt_cupti_other {
	CUpti_SubscriberHandle subscriber; /* NULL: none */
	uint64_t kinds;                    /* a bit each, of the first 64 */
	bool registered;                   /* the buffer callbacks are its own */
	bool clock;                        /* so is the clock */
};

/* In place of cuptiFinalize: CUPTI will not call that tool any more, nor write to a buffer of its.
 * On its thread, inside its call. False: we have never had anything in CUPTI, or no longer; nothing
 * was done. */
bool gt_cupti_detach(const struct gt_cupti_other *other);

/* Buffers and kinds are ours, the subscription is not: from now on CUPTI's records say which of its
 * correlation ids belongs to which call of the hooks. Once more with false: no longer. */
void gt_cupti_share(bool shared);

/* Unsubscribes, if subscribed. Any thread; of two at once one does it. */
void gt_cupti_unsubscribe(void);

/* False: CUPTI no longer knows our subscription (another tool called cuptiFinalize). Drain
 * thread. */
bool gt_cupti_is_subscribed(void);

#endif
