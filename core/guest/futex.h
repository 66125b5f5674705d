/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting and waking on a 32-bit word; the drain thread sleeps on one. Not for hot paths.
 */
#ifndef GT_CORE_GUEST_FUTEX_H
#define GT_CORE_GUEST_FUTEX_H

#include <stdatomic.h>
#include <stdint.h>

/* Sleeps while *word == value, at most @timeout_ns. May return early. errno is kept. */
void gt_futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);

/* Wakes all waiters on @word. errno is kept. */
void gt_futex_wake(_Atomic uint32_t *word);

#endif
