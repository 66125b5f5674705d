/* SPDX-License-Identifier: Apache-2.0
 *
 * Who records the calls of this process, see the header. Data alone.
 */
#include "pipeline/sources/state.h"

_Atomic int gt_session_state = GT_SESSION_IDLE;
