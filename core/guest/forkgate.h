/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps our code out of the loader while the program forks. A child inherits the loader's locks as
 * they are: one that another thread holds at that moment for our sake would never be released
 * there, and the child's first dlopen would hang (glibc resets some of them, not that of
 * dl_iterate_phdr).
 */
#ifndef GT_CORE_GUEST_FORKGATE_H
#define GT_CORE_GUEST_FORKGATE_H

#include <stdbool.h>

/* Around every call that takes a lock of the loader, or of the program's allocator. The drain
 * thread: false means that the program is forking, come back later. The first call of a process
 * registers the handlers around fork. */
bool gt_forkgate_try(void);

/* The same, but a running fork is waited for, at most 0.2 s. The drain thread. */
bool gt_forkgate_wait(void);

/* The same for application threads at first sight of something: waits for a running fork, at most
 * 0.2 s. */
void gt_forkgate_enter(void);

/* Undoes gt_forkgate_enter. */
void gt_forkgate_leave(void);

/* Whether the program is forking just now. A fork that a signal comes to begins anew, on older
 * kernels each time. */
bool gt_forkgate_is_closed(void);

#endif
