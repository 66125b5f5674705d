/* SPDX-License-Identifier: Apache-2.0
 *
 * The stack of a recorded call: native frames, and Python frames where there are some. Drain
 * thread.
 */
#ifndef GT_PIPELINE_STACKS_H
#define GT_PIPELINE_STACKS_H

#include "collectors/call/call.h"

struct gt_session;
struct gt_stack;

/* NULL: the call has none, or it was lost or refused. */
const struct gt_stack *gt_stacks_of_call(struct gt_session *session,
					 const struct gt_call_record *record);

/* The same of a sample, which always carries its frames. */
const struct gt_stack *gt_stacks_of_sample(struct gt_session *session,
					   const struct gt_call_record *record);

/* The same of a thread that broke, with the frames at its near end that are ours. */
const struct gt_stack *gt_stacks_of_crash(struct gt_session *session,
					  const struct gt_call_record *record);

/* Takes note of modules that have come or gone: an interpreter may be among them. */
void gt_stacks_refresh_modules(struct gt_session *session);

/* An interpreter may have come. */
void gt_stacks_find_python(struct gt_session *session);

#endif
