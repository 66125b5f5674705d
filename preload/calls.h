/* SPDX-License-Identifier: Apache-2.0
 *
 * From the rings of the application threads to events. Drain thread.
 */
#ifndef GT_PRELOAD_CALLS_H
#define GT_PRELOAD_CALLS_H

#include <stdint.h>

struct gt_session;

/* Empties every ring and emits its calls. Returns how many records there were. */
uint64_t gt_calls_drain(struct gt_session *session);

#endif
