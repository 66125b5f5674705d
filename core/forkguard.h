/* SPDX-License-Identifier: Apache-2.0
 *
 * Tells a forked child from the process that started the session, with one load and no system call
 * (REQ-41): a page that the kernel wipes in the child (MADV_WIPEONFORK), and, on kernels before
 * 4.14, a pthread_atfork handler that clears it. Any thread.
 */
#ifndef GT_CORE_FORKGUARD_H
#define GT_CORE_FORKGUARD_H

#include <stdbool.h>
#include <stdint.h>

extern const volatile uint64_t *gt_forkguard_page;

/* Arms the guard for the calling process. -ENOMEM. */
int gt_forkguard_arm(void);

/* True in the process that armed the guard; false in a forked child and before arming. */
static inline bool gt_forkguard_holds(void)
{
	return gt_forkguard_page && *gt_forkguard_page;
}

/* True in a forked child of the process that armed it. */
static inline bool gt_forkguard_is_child(void)
{
	return gt_forkguard_page && !*gt_forkguard_page;
}

#endif
