/* SPDX-License-Identifier: Apache-2.0
 *
 * What other users of CUPTI in this process were seen to do. Those that are linked with libcupti
 * are seen at the moment of the call (preload/cupti_hooks.c); those that find it by dlopen and
 * dlsym are not, and are known by what becomes of our own records (collectors/cupti/watch.c).
 *
 * Told on application threads, a few times a session of the other tool; asked on the drain thread.
 */
#ifndef GT_COLLECTORS_CUPTI_FOREIGN_H
#define GT_COLLECTORS_CUPTI_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

/* @library: file name of who calls, remembered for messages. */
void gt_cupti_foreign_subscribing(const char *library);
void gt_cupti_foreign_subscribed(void *subscriber); /* the handle that it was given */
void gt_cupti_foreign_unsubscribed(void);

/* It is about to register its own buffer callbacks, @completed one of them: what CUPTI holds of
 * ours is fetched before. */
void gt_cupti_foreign_registering(const char *library, CUpti_BuffersCallbackCompleteFunc completed);

/* A buffer that is not ours was completed after the callbacks became ours again: with its last kind
 * off a tool looks done, and only then flushes. Nothing happens when nobody was seen to register,
 * or was detached. Whichever thread CUPTI completes buffers on. */
void gt_cupti_foreign_return(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid);

/* An activity kind was enabled or disabled. */
void gt_cupti_foreign_kind(uint32_t kind, bool enabled);

/*
 * It calls cuptiFinalize, which would end what we have in CUPTI too, on its thread while ours may
 * be inside CUPTI (REQ-21). True: it alone was detached, CUPTI must not be. False: nothing of ours
 * is in CUPTI, so the call is passed on; _finalized tells that it has succeeded.
 */
bool gt_cupti_foreign_finalizing(const char *library);
void gt_cupti_foreign_finalized(void);

/* Its clock stamps the records from now on. */
void gt_cupti_foreign_clock(const char *library);

/* What other tools were seen to do, summed up. */
struct gt_cupti_foreign {
	uint64_t changes;  /* everything above, counted */
	uint64_t disabled; /* kinds disabled */
	uint64_t detached; /* times that one was, and CUPTI was not */
	bool subscribed;
	bool collects; /* its callbacks are registered, and its kinds are on or were not yet */
	bool has_kinds;
	bool clock;
};

/* A consistent copy. Any thread. */
struct gt_cupti_foreign gt_cupti_foreign_get(void);

/* Who was seen last: a file name, or "". Valid for ever. */
const char *gt_cupti_foreign_library(void);

#endif
