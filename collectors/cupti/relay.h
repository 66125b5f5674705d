/* SPDX-License-Identifier: Apache-2.0
 *
 * --coexist=share: CUPTI stays ours, and tools that are linked with libcupti get through us what
 * they ask CUPTI for: callbacks (relay_calls.c) and copies of records (relay.c). For them there is
 * still one subscriber, one pair of buffer callbacks and one set of kinds, so that two such tools
 * are to each other what they are without us. What a tool asked for while CUPTI was not ours, it
 * asked CUPTI itself (collectors/cupti/foreign.h).
 *
 * Callbacks come on the thread that CUPTI calls. Copies are made, and buffers requested and
 * returned, on the drain thread, as on a thread of CUPTI's; a tool's flush waits for it.
 */
#ifndef GT_COLLECTORS_CUPTI_RELAY_H
#define GT_COLLECTORS_CUPTI_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/* A domain that stands for all of them. */
#define GT_CUPTI_ALL_DOMAINS CUPTI_CB_DOMAIN_FORCE_INT

/* ---- what tools ask for: any thread of theirs ---- */

/* Whether tools are served from here: CUPTI is ours, and they may share it. */
bool gt_cupti_relay_is_on(void);

/* Whether @target is a function of our CUPTI: a process may have two. */
bool gt_cupti_relay_serves(const void *target);

/* Each returns false when the call is CUPTI's to answer, else the answer is in @ret_result. */
bool gt_cupti_relay_subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			      void *user, CUptiResult *ret_result);
bool gt_cupti_relay_unsubscribe(CUpti_SubscriberHandle subscriber, CUptiResult *ret_result);
bool gt_cupti_relay_enable_callback(bool enable, CUpti_SubscriberHandle subscriber,
				    CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				    CUptiResult *ret_result);
bool gt_cupti_relay_enable_domain(bool enable, CUpti_SubscriberHandle subscriber,
				  CUpti_CallbackDomain domain, CUptiResult *ret_result);
bool gt_cupti_relay_callback_state(uint32_t *ret_enabled, CUpti_SubscriberHandle subscriber,
				   CUpti_CallbackDomain domain, CUpti_CallbackId cbid,
				   CUptiResult *ret_result);

/* Buffer callbacks. False: they were registered with CUPTI. */
bool gt_cupti_relay_register(CUpti_BuffersCallbackRequestFunc requested,
			     CUpti_BuffersCallbackCompleteFunc completed);

/* The same for callbacks that were registered before CUPTI was ours: nothing is flushed. */
bool gt_cupti_relay_take(CUpti_BuffersCallbackRequestFunc requested,
			 CUpti_BuffersCallbackCompleteFunc completed);

/* True: CUPTI need not be asked to enable or disable @kind, as it is on for us. */
bool gt_cupti_relay_keeps_kind(CUpti_ActivityKind kind);

/* CUPTI agreed. False: the kind was the tool's own in CUPTI. */
bool gt_cupti_relay_kind(CUpti_ActivityKind kind, bool enabled);

/* Returns when the tool has its records; after a forced flush all, those of unfinished work
 * excepted. */
bool gt_cupti_relay_flush(uint32_t flag, CUptiResult *ret_result);

/* Records that the tool lacks, since the last such call. */
bool gt_cupti_relay_dropped(size_t *ret_dropped, CUptiResult *ret_result);

/* The tool's clock stamps the records; NULL: CUPTI's own. */
void gt_cupti_relay_clock(CUpti_TimestampCallbackFunc timestamp);

/* Whether CUPTI has it from the tool already: libkineto registers it with each session. */
bool gt_cupti_relay_has_clock(CUpti_TimestampCallbackFunc timestamp);

/* The tool called cuptiFinalize: it is not called any more, and its buffers are not touched. */
void gt_cupti_relay_forget(void);

/* ---- our side ---- */

/* Whether tools are to be served, once CUPTI is ours. By default not where the nodes of graphs are
 * withheld: a tool would lack them without a word. It is refused, which it can tell its user. */
struct gt_config;
bool gt_cupti_relay_may_serve(const struct gt_config *config);

/* After attaching: enables what the tool has enabled, too. */
void gt_cupti_relay_restore(void);

/* Counts what CUPTI reported as dropped: the tool has not got it either. */
void gt_cupti_relay_add_dropped(size_t dropped);

/* While a crash is written the tool is not called: its locks may be held for ever.
 * Async-signal-safe. */
void gt_cupti_relay_pause(bool paused);

/* Drain thread, before each part of a buffer and when there is none: answers flushes. */
void gt_cupti_relay_serve(void);

/* Kinds that are or were on for the tool alone, a bit each. */
uint64_t gt_cupti_relay_kinds(void);

/* Drain thread: whether this record of the buffer with this @order is copied for the tool; the
 * copy. @record has @size bytes. */
bool gt_cupti_relay_wants(const CUpti_Activity *record, uint64_t order);
void gt_cupti_relay_put(const CUpti_Activity *record, size_t size);

/* The exiting thread, after the last record: the tool gets its last buffer. */
void gt_cupti_relay_close(void);

/* Whether a tool has callbacks, for CUPTI's callback; then, the tool's. */
bool gt_cupti_relay_has_callbacks(void);
void gt_cupti_relay_callback(CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data);

/* The part of _forget and _restore that is about callbacks. */
void gt_cupti_relay_forget_callbacks(void);
void gt_cupti_relay_restore_callbacks(void);

#endif
