/* SPDX-License-Identifier: Apache-2.0
 *
 * A signal stack for a thread that has none, so that a handler can run when the thread's own stack
 * overflowed. It is lent: a thread that has or sets one of its own is left alone, and the memory
 * serves another thread when this one ends. The calling thread; a few system calls. errno is kept.
 */
#ifndef GT_CORE_GUEST_SIGNAL_STACK_H
#define GT_CORE_GUEST_SIGNAL_STACK_H

#include <stdbool.h>

/* Room for a signal's handler and its callees. Untouched pages cost nothing. */
#define GT_SIGNAL_STACK_BYTES (256u << 10)

/* Lends *memory to the calling thread: NULL, or memory returned by an earlier thread. No-op if the
 * thread has a signal stack. */
void gt_signal_stack_lend(void **memory);

/* The thread ends. If it runs on this very stack, the memory stays with it and *memory becomes
 * NULL. */
void gt_signal_stack_reclaim(void **memory);

/* Whether @address is in the lent stack. */
bool gt_signal_stack_holds(const void *memory, const void *address);

#endif
