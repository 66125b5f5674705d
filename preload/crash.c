/* SPDX-License-Identifier: Apache-2.0
 *
 * Crash handlers, see the header. What runs in a handler is atomics, futexes and the system calls
 * named here: async-signal-safe, and little stack is used.
 */
#include "preload/crash.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "collectors/cupti/relay.h"
#include "core/config.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/guest/futex.h"
#include "core/guest/seccomp.h"
#include "core/guest/signal_stack.h"
#include "core/guest/text.h"
#include "core/thread.h"
#include "pipeline/drain.h"
#include "pipeline/sources/crash_stack.h"

#define MS_NS        1000000ull

/* A program that goes on after each, as runtimes do that turn a fault into an exception of their
 * language, would wait for the drain thread at every one. */
#define SURVIVED_MAX 16u

/* A stack has run over when what could not be touched lies this near to where it stood. */
#define OVER_BYTES   (64u << 10)

static const struct {
	int number;
	const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"},
	       {SIGABRT, "SIGABRT"},
	       {SIGBUS, "SIGBUS"},
	       {SIGFPE, "SIGFPE"},
	       {SIGILL, "SIGILL"}};

#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static struct {
	struct sigaction old[SIGNALS];
	uint64_t timeout_ns;
	_Atomic uint32_t survived;   /* signals after which the program may go on */
	_Atomic uint32_t busy;       /* tid of the thread whose crash is being written */
	struct gt_crash_report note; /* belongs to that thread */
	char text[128];
} crash;

static size_t slot_of(int number)
{
	size_t i = 0;

	while (i < SIGNALS - 1 && signals[i].number != number)
		i++;
	return i;
}

/* A handler of the program may mend what is broken, and the program goes on. */
static bool is_last(const struct sigaction *old)
{
	return !(old->sa_flags & SA_SIGINFO) && old->sa_handler == SIG_DFL;
}

/* The calling thread's block. NULL: it has none. */
static const struct gt_thread *known_thread(void)
{
	const struct gt_thread *self = gt_thread_self;

	return self && gt_thread_is_known(self) ? self : NULL;
}

/* pc in the form of a return address. */
static struct gt_unwind_regs regs_of(const ucontext_t *context)
{
	const greg_t *regs = context->uc_mcontext.gregs;

	return (struct gt_unwind_regs){.pc = (uint64_t)regs[REG_RIP] + 1,
				       .sp = (uint64_t)regs[REG_RSP],
				       .fp = (uint64_t)regs[REG_RBP]};
}

/* On a stack that ran over, and with no signal stack but the one that we lent, no handler of the
 * program could run: the kernel would end it. */
static bool only_ours_can_run(const siginfo_t *info, const ucontext_t *context)
{
	const struct gt_thread *self = known_thread();
	uint64_t sp = regs_of(context).sp, address = (uint64_t)info->si_addr;

	return self && info->si_code > 0 && info->si_signo == SIGSEGV &&
	       gt_signal_stack_holds(self->signal_stack, __builtin_frame_address(0)) &&
	       address - sp + OVER_BYTES < 2 * OVER_BYTES;
}

static bool ends_program(size_t slot, const siginfo_t *info, const ucontext_t *context)
{
	return is_last(&crash.old[slot]) || only_ours_can_run(info, context);
}

static void describe(size_t slot, const siginfo_t *info)
{
	const char *more = atomic_load(&crash.survived) == SURVIVED_MAX
				   ? "; the next that the program survives are left out"
				   : "";

	if (info->si_code > 0)
		gt_text_format(crash.text, sizeof(crash.text), "%s at address 0x%lx%s",
			       signals[slot].name, (unsigned long)info->si_addr, more);
	else
		gt_text_format(crash.text, sizeof(crash.text), "%s sent by process %d%s",
			       signals[slot].name, (int)info->si_pid, more);
}

static void write_out(size_t slot, const siginfo_t *info, const ucontext_t *context, uint32_t tid)
{
	describe(slot, info);
	crash.note = (struct gt_crash_report){.tid = tid,
					      .cause = signals[slot].name,
					      .what = crash.text,
					      .is_last = ends_program(slot, info, context),
					      .regs = regs_of(context),
					      .thread = known_thread()};
	gt_cupti_relay_pause(true);
	gt_drain_crash(&crash.note, crash.timeout_ns);
	gt_cupti_relay_pause(false);
}

/* Until the crash of thread @other is written. Signals that come meanwhile, a profiler's for
 * example, end single waits. */
static void wait_for(uint32_t other)
{
	uint64_t until = gt_clock_now() + crash.timeout_ns, now;

	while (atomic_load(&crash.busy) == other && (now = gt_clock_now()) < until)
		gt_futex_wait(&crash.busy, other, until - now);
}

static bool is_one_of_many(size_t slot, const siginfo_t *info, const ucontext_t *context)
{
	if (ends_program(slot, info, context))
		return false;
	if (atomic_load_explicit(&crash.survived, memory_order_relaxed) >= SURVIVED_MAX)
		return true;
	return atomic_fetch_add(&crash.survived, 1) >= SURVIVED_MAX;
}

/* Threads that crash at the same time wait for the first, as its end would be theirs. A crash in
 * here is passed on. */
static void report(size_t slot, const siginfo_t *info, const ucontext_t *context)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid), other = 0;

	if (!gt_forkguard_holds() || is_one_of_many(slot, info, context))
		return;
	if (atomic_compare_exchange_strong(&crash.busy, &other, tid)) {
		write_out(slot, info, context, tid);
		atomic_store(&crash.busy, 0);
		gt_futex_wake(&crash.busy);
	} else if (other != tid) {
		wait_for(other);
	}
}

/* The default: a fault comes again when its instruction does, now without a handler; what was sent
 * is sent again, by whoever it was, and comes when this handler is left. */
static void end_by_default(int number, siginfo_t *info, const struct sigaction *old)
{
	sigaction(number, old, NULL);
	if (info->si_code <= 0)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info);
}

static void pass_on(int number, siginfo_t *info, void *context, size_t slot)
{
	struct sigaction old = crash.old[slot], initial = {.sa_handler = SIG_DFL};

	if (ends_program(slot, info, context)) {
		end_by_default(number, info, is_last(&old) ? &old : &initial);
		return;
	}
	if (old.sa_flags & (int)SA_RESETHAND) {
		crash.old[slot] = initial;
		sigaction(number, &initial, NULL);
	}
	if (old.sa_flags & SA_SIGINFO)
		old.sa_sigaction(number, info, context);
	else
		old.sa_handler(number);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	size_t slot = slot_of(number);
	int saved = errno;

	report(slot, info, context);
	errno = saved;
	pass_on(number, info, context, slot);
}

/* With the flags and the mask of the handler that it stands before; before none, on the alternate
 * stack if the thread has one, for the other may be what broke. */
static void take_over(size_t slot)
{
	struct sigaction *old = &crash.old[slot], ours = {0};

	if (sigaction(signals[slot].number, NULL, old))
		return;
	if (!(old->sa_flags & SA_SIGINFO) && old->sa_handler == SIG_IGN)
		return;
	ours.sa_sigaction = on_signal;
	ours.sa_mask = old->sa_mask;
	ours.sa_flags = is_last(old) ? SA_ONSTACK : old->sa_flags & ~(int)SA_RESETHAND;
	ours.sa_flags |= SA_SIGINFO;
	sigaction(signals[slot].number, &ours, NULL);
}

void gt_crash_start(const struct gt_config *config)
{
	struct sigaction now;

	if (!gt_config_bool(config, GT_CONFIG_ON_CRASH))
		return;
	atomic_store(&crash.survived, 0);
	crash.timeout_ns = (uint64_t)gt_config_number(config, GT_CONFIG_EXIT_TIMEOUT) * MS_NS;
	if (!gt_seccomp_permits_now(GT_SYS_rt_sigreturn))
		return;
	for (size_t i = 0; i < SIGNALS; i++) {
		/* a forked child that starts a session of its own has them already */
		if (!sigaction(signals[i].number, NULL, &now) && now.sa_sigaction == on_signal)
			continue;
		take_over(i);
	}
}
