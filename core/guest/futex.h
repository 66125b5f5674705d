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

/* The answer of gt_futex_wait_both. */
enum gt_futex_woken {
	GT_FUTEX_ELSE,    /* the time is over, or another reason: @word may have changed */
	GT_FUTEX_SHARED,  /* *shared has changed */
	GT_FUTEX_UNKNOWN, /* the kernel cannot (before Linux 5.16), or *shared is not there */
};

/* gt_futex_wait that also ends when *shared, memory that other processes map, is no longer
 * @shared_value and somebody has called the kernel's FUTEX_WAKE on it. The kernel alone reads
 * *shared, which may be cut. errno is kept. */
enum gt_futex_woken gt_futex_wait_both(_Atomic uint32_t *word, uint32_t value, const void *shared,
				       uint32_t shared_value, uint64_t timeout_ns);

/* Wakes all waiters on @word. errno is kept. */
void gt_futex_wake(_Atomic uint32_t *word);

#endif
