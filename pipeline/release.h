/* SPDX-License-Identifier: Apache-2.0
 *
 * When ring records and activity buffers are free again: with a spool, only when what was made of
 * them is in the file (docs/internals/recovery.md). Drain thread.
 */
#ifndef GT_PIPELINE_RELEASE_H
#define GT_PIPELINE_RELEASE_H

struct gt_session;

/* After each round over the rings: writes the text made of them, then gives their records back. */
void gt_release_rings(struct gt_session *session);

/* After each round: GPU work that is old enough is written, its buffers are given back, and the
 * spool's metadata brought up to date. Does nothing without a spool. */
void gt_release_buffers(struct gt_session *session);

#endif
