/* SPDX-License-Identifier: Apache-2.0
 *
 * The drain thread's answers to `gputrace attach` (core/window/attached.h).
 */
#ifndef GT_PIPELINE_ATTACHMENT_H
#define GT_PIPELINE_ATTACHMENT_H

struct gt_pipeline;

/* A window has begun: the file that it is recorded into, or why there is none. */
void gt_attachment_begun(const struct gt_pipeline *p);

/* Between two steps: a wish for what is already so. */
void gt_attachment_idle(const struct gt_pipeline *p);

#endif
