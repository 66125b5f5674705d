/* SPDX-License-Identifier: Apache-2.0
 *
 * Who records the calls of this process. Read by every hook: one load.
 */
#ifndef GT_PIPELINE_SOURCES_STATE_H
#define GT_PIPELINE_SOURCES_STATE_H

#include <stdatomic.h>

/* Who records calls. */
enum gt_session_state {
	GT_SESSION_IDLE,  /* nothing has used CUDA */
	GT_SESSION_CUPTI, /* callbacks record, hooks only pass through */
	GT_SESSION_HOOKS, /* no CUPTI: hooks record */
	GT_SESSION_OFF,   /* ended, refused, or a forked child: everything passes through */
};

/* An enum gt_session_state. Changed by the start, the end and coexistence only. */
extern _Atomic int gt_session_state;

#endif
