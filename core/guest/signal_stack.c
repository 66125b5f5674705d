/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The page below the stack is not accessible.
 */
#include "core/guest/signal_stack.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

#include "core/guest/memory.h"
#include "core/guest/seccomp.h"

#define PAGE_BYTES 4096u

static void *make(void)
{
	void *memory = gt_memory_reserve(GT_SIGNAL_STACK_BYTES);

	if (memory && mprotect(memory, PAGE_BYTES, PROT_NONE)) {
		gt_memory_unreserve(memory, GT_SIGNAL_STACK_BYTES);
		return NULL;
	}
	return memory;
}

void gt_signal_stack_lend(void **memory)
{
	int saved = errno;
	stack_t stack;

	if (sigaltstack(NULL, &stack) || !(stack.ss_flags & SS_DISABLE))
		goto out;
	if (!*memory)
		*memory = make();
	if (!*memory)
		goto out;
	stack = (stack_t){.ss_sp = (char *)*memory + PAGE_BYTES,
			  .ss_size = GT_SIGNAL_STACK_BYTES - PAGE_BYTES};
	sigaltstack(&stack, NULL);
out:
	errno = saved;
}

/* The kernel refuses while the thread runs on it: a handler may call pthread_exit. */
void gt_signal_stack_reclaim(void **memory)
{
	const stack_t none = {.ss_flags = SS_DISABLE};
	int saved = errno;
	stack_t stack;

	if (!*memory)
		return;
	if (!gt_seccomp_permits_now(GT_SYS_sigaltstack) ||
	    (!sigaltstack(NULL, &stack) && gt_signal_stack_holds(*memory, stack.ss_sp) &&
	     sigaltstack(&none, NULL)))
		*memory = NULL;
	errno = saved;
}

bool gt_signal_stack_holds(const void *memory, const void *address)
{
	const char *start = memory, *at = address;

	return start && at >= start && at < start + GT_SIGNAL_STACK_BYTES;
}
