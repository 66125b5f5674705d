/* SPDX-License-Identifier: Apache-2.0
 *
 * --sample-cpu: the records of the sampler (collectors/sampler/sampler.h) as events.
 */
#ifndef GT_PIPELINE_SAMPLES_H
#define GT_PIPELINE_SAMPLES_H

struct gt_call_record;
struct gt_session;

/* A record of the sampler. Drain thread. */
void gt_samples_take(struct gt_session *session, const struct gt_call_record *record);

#endif
