/* SPDX-License-Identifier: Apache-2.0
 *
 * --sample-cpu: starting and ending the sampler (collectors/sampler/sampler.h), and its records as
 * events.
 */
#ifndef GT_PIPELINE_SAMPLES_H
#define GT_PIPELINE_SAMPLES_H

struct gt_call_record;
struct gt_session;

/* Starts the sampler's thread if --sample-cpu asks for it. Session start. */
void gt_samples_start(struct gt_session *session);

/* Ends it; it touches no thread from then on. The exiting thread; bounded. */
void gt_samples_stop(void);

/* A record of the sampler. Drain thread. */
void gt_samples_take(struct gt_session *session, const struct gt_call_record *record);

/* Says once when threads that run can no longer be sampled. Drain thread. */
void gt_samples_report(struct gt_session *session);

/* Fills the ledger. Drain thread. */
void gt_samples_count(struct gt_session *session);

#endif
