/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes an event the same in the trace that a process left and in what was recovered from its
 * spool. Names of calls, ranges and kernels do not count: they may come from CUPTI or from memory
 * of the process, which recovery has not got. Pure functions.
 */
#ifndef GT_RECOVER_JOIN_KEY_H
#define GT_RECOVER_JOIN_KEY_H

#include <stdint.h>

#include "core/schema/event.h"

/* A number that is not 0. Several events of one trace may have the same: ranges around the same
 * work, notes of one moment. */
uint64_t gt_join_key(const struct gt_event *event);

#endif
