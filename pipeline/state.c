/* SPDX-License-Identifier: Apache-2.0
 *
 * The session of this process and who records its calls, see session.h. Data alone.
 */
#include "pipeline/session.h"

_Atomic int gt_session_state = GT_SESSION_IDLE;

struct gt_session gt_session;
