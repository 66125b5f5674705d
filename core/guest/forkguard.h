/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells a forked child from the process that started the session, with one load and no system call
 * (REQ-41): a page that the kernel wipes in the child (MADV_WIPEONFORK) or, before Linux 4.14, a
 * pthread_atfork handler that clears it. Any thread.
 */
#ifndef GT_CORE_GUEST_FORKGUARD_H
#define GT_CORE_GUEST_FORKGUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* NULL until the guard is armed; other threads may read it meanwhile. */
extern const volatile uint64_t *_Atomic gt_forkguard_page;

/* Arms the guard for the calling process. -ENOMEM. */
int gt_forkguard_arm(void);

/* True in the process that armed the guard; false in a forked child and before arming. */
static inline bool gt_forkguard_holds(void)
{
	const volatile uint64_t *page =
		atomic_load_explicit(&gt_forkguard_page, memory_order_acquire);

	return page && *page;
}

/* True in a forked child of the process that armed the guard. */
static inline bool gt_forkguard_is_child(void)
{
	const volatile uint64_t *page =
		atomic_load_explicit(&gt_forkguard_page, memory_order_acquire);

	return page && !*page;
}

#endif
