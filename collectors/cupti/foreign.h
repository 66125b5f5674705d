/* SPDX-License-Identifier: Apache-2.0
 *
 * What other users of CUPTI in this process were seen to do. Tools linked with libcupti are seen at
 * their calls (preload/cupti_hooks.c); tools that use dlopen and dlsym are not, and are noticed by
 * their effect on our records (collectors/cupti/watch.c).
 *
 * Reported on application threads, a few times per session of the other tool; read on the drain
 * thread.
 */
#ifndef GT_COLLECTORS_CUPTI_FOREIGN_H
#define GT_COLLECTORS_CUPTI_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>

#include <cupti.h>

/* The buffers change hands: only one thread at a time gives or takes them. False: another one takes
 * long; the caller goes on all the same. Application threads, drain thread. */
bool gt_cupti_foreign_hold(void);
void gt_cupti_foreign_let_go(bool held);

/* A tool subscribes. @library: file name of the caller, for messages. */
void gt_cupti_foreign_subscribing(const char *library);
void gt_cupti_foreign_subscribed(void *subscriber); /* its handle */
void gt_cupti_foreign_unsubscribed(void);

/* It is about to register its own buffer callbacks, with @completed: records that CUPTI holds for
 * us are fetched first. */
void gt_cupti_foreign_registering(const char *library, CUpti_BuffersCallbackRequestFunc requested,
				  CUpti_BuffersCallbackCompleteFunc completed);

/* CUPTI has become ours while it collects: its callbacks and kinds go through us from now on
 * (collectors/cupti/relay.h). */
void gt_cupti_foreign_adopt(void);

/* A buffer that is not ours was completed after the callbacks became ours again: a tool that
 * disabled its last kind looks done, but flushes afterwards. Passes it on; no-op if no tool was
 * seen to register or it was detached. Any thread on which CUPTI completes buffers. */
void gt_cupti_foreign_return(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid);

/* An activity kind was enabled or disabled. */
void gt_cupti_foreign_kind(uint32_t kind, bool enabled);

/*
 * It calls cuptiFinalize, which would also end our use of CUPTI, while our threads may be inside
 * CUPTI (REQ-21). True: only that tool was detached, do not call CUPTI. False: CUPTI has nothing of
 * ours, pass the call on and report success with _finalized.
 */
bool gt_cupti_foreign_finalizing(const char *library);
void gt_cupti_foreign_finalized(void);

/* Its clock now stamps the records. */
void gt_cupti_foreign_clock(const char *library, CUpti_TimestampCallbackFunc timestamp);

/* Summary of what other tools were seen to do. */
struct gt_cupti_foreign {
	uint64_t changes;       /* number of events above */
	uint64_t disabled;      /* kinds disabled */
	uint64_t registered_at; /* CLOCK_MONOTONIC ns: its buffer callbacks, the last time */
	uint64_t detached;      /* times that a tool was detached and CUPTI was not */
	bool subscribed;
	bool collects; /* its callbacks are registered, and its kinds are enabled or not yet */
	bool has_kinds;
	bool clock;
};

/* A consistent copy. Any thread. */
struct gt_cupti_foreign gt_cupti_foreign_get(void);

/* File name of the tool that was seen last, or "". Valid for ever. */
const char *gt_cupti_foreign_library(void);

#endif
