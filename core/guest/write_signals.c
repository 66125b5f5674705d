/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/guest/write_signals.h"

#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/seccomp.h"

#define KERNEL_SIGSET_BYTES 8

static void fill(sigset_t *signals)
{
	sigemptyset(signals);
	sigaddset(signals, SIGXFSZ);
	sigaddset(signals, SIGPIPE);
}

void gt_write_signals_block(struct gt_write_signals *ret_before)
{
	sigset_t signals;

	fill(&signals);
	pthread_sigmask(SIG_BLOCK, &signals, &ret_before->mask);
	sigemptyset(&ret_before->pending);
	if (!sigismember(&ret_before->mask, SIGXFSZ) && !sigismember(&ret_before->mask, SIGPIPE))
		return; /* none can have been pending */
	if (gt_seccomp_permits(GT_SYS_rt_sigpending))
		sigpending(&ret_before->pending);
	else
		fill(&ret_before->pending);
}

/* Consumes the signals that our writes raised. */
static void take_back(const struct gt_write_signals *before)
{
	const struct timespec at_once = {0};
	sigset_t ours;

	fill(&ours);
	if (sigismember(&before->pending, SIGXFSZ))
		sigdelset(&ours, SIGXFSZ);
	if (sigismember(&before->pending, SIGPIPE))
		sigdelset(&ours, SIGPIPE);
	while (syscall(SYS_rt_sigtimedwait, &ours, NULL, &at_once, KERNEL_SIGSET_BYTES) > 0)
		continue;
}

/* What must not be taken back stays blocked, as it would end the program. */
void gt_write_signals_restore(const struct gt_write_signals *before, bool failed)
{
	if (failed && !gt_seccomp_permits(GT_SYS_rt_sigtimedwait))
		return;
	if (failed)
		take_back(before);
	pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
}
