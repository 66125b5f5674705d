/* SPDX-License-Identifier: Apache-2.0
 *
 * A signal stack for a thread that has none, so that a handler can run when the thread's own stack
 * has run over. It is lent: a thread that has or sets one of its own is left alone, and the memory
 * serves another thread when this one ends. The calling thread; a few system calls. errno is kept.
 */
#ifndef GT_CORE_GUEST_SIGNAL_STACK_H
#define GT_CORE_GUEST_SIGNAL_STACK_H

#include <stdbool.h>

/* What one signal's handler and those that it calls may need. Untouched pages cost nothing. */
#define GT_SIGNAL_STACK_BYTES (256u << 10)

/* *memory: NULL, or what an earlier thread gave back. Does nothing where there is a signal
 * stack. */
void gt_signal_stack_lend(void **memory);

/* The thread ends. Where it does so on this very stack the memory stays as it is, and *memory
 * becomes NULL. */
void gt_signal_stack_take_back(void **memory);

/* Whether @address is in the stack that was lent. */
bool gt_signal_stack_holds(const void *memory, const void *address);

#endif
