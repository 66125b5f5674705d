/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. In the handler there are atomics, a futex and the calls named here:
 * async-signal-safe.
 */
#include "pipeline/dump_signal.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/config.h"
#include "core/guest/forkguard.h"
#include "core/guest/log.h"
#include "core/guest/seccomp.h"

/* As --dump-signal lists them. */
static const struct {
	int number;
	const char *name, *reason;
} signals[] = {{0, "", ""}, {SIGUSR1, "SIGUSR1", "SIGUSR1"}, {SIGUSR2, "SIGUSR2", "SIGUSR2"}};

static struct {
	void (*_Atomic on_signal)(const char *reason); /* NULL: there is no session */
	_Atomic bool is_asked;                         /* before there was one */
	size_t chosen;                                 /* 0: none */
} dump_signal;

/* As without us. The signal comes again when this handler is left. */
static void end_by_default(int number, siginfo_t *info)
{
	struct sigaction initial = {.sa_handler = SIG_DFL};

	sigaction(number, &initial, NULL);
	syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, info);
}

/* Somebody who meant the processes of the job, and not only this one: kill by a person, a
 * scheduler, ... */
static bool is_from_elsewhere(const siginfo_t *info)
{
	return (info->si_code == SI_USER || info->si_code == SI_QUEUE ||
		info->si_code == SI_TKILL) &&
	       info->si_pid != getpid() && info->si_pid != getppid();
}

/* A forked child without a session: what it sends itself, or its parent does, is the program's own
 * use of the signal. */
static void answer_in_child(int number, siginfo_t *info)
{
	if (is_from_elsewhere(info))
		atomic_store(&dump_signal.is_asked, true);
	else
		end_by_default(number, info);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	void (*ask)(const char *) = atomic_load(&dump_signal.on_signal);
	int saved = errno;

	(void)context;
	if (gt_forkguard_is_child())
		answer_in_child(number, info);
	else if (ask)
		ask(signals[dump_signal.chosen].reason);
	else
		atomic_store(&dump_signal.is_asked, true);
	errno = saved;
}

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_signal;
}

static bool is_default(const struct sigaction *action)
{
	return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == SIG_DFL;
}

static void take(size_t chosen)
{
	struct sigaction ours = {.sa_sigaction = on_signal,
				 .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	dump_signal.chosen = chosen;
	sigfillset(&ours.sa_mask);
	sigaction(signals[chosen].number, &ours, NULL);
}

void gt_dump_signal_arm(size_t chosen)
{
	struct sigaction now;

	if (chosen && !sigaction(signals[chosen].number, NULL, &now) && is_default(&now))
		take(chosen);
}

void gt_dump_signal_disarm(void)
{
	struct sigaction initial = {.sa_handler = SIG_DFL}, now;
	size_t chosen = dump_signal.chosen;

	dump_signal.chosen = 0;
	if (chosen && !sigaction(signals[chosen].number, NULL, &now) && is_ours(&now))
		sigaction(signals[chosen].number, &initial, NULL);
}

/* NULL: nothing is in the way. */
static const char *refusal(size_t chosen)
{
	struct sigaction now;

	if (sigaction(signals[chosen].number, NULL, &now) || (!is_default(&now) && !is_ours(&now)))
		return "the program has %s for itself: --dump-signal does nothing";
	if (!gt_seccomp_permits_now(GT_SYS_rt_sigreturn))
		return "the program has a seccomp filter: --dump-signal=%s does nothing";
	return NULL;
}

void gt_dump_signal_start(const struct gt_config *config, void (*handle)(const char *reason))
{
	size_t chosen = (size_t)gt_config_number(config, GT_CONFIG_DUMP_SIGNAL);
	const char *why = chosen ? refusal(chosen) : NULL;

	if (why)
		gt_log_say(why, signals[chosen].name);
	if (!chosen || why) {
		gt_dump_signal_disarm();
		return;
	}
	atomic_store(&dump_signal.on_signal, handle);
	take(chosen);
	if (atomic_exchange(&dump_signal.is_asked, false))
		handle(signals[chosen].reason);
}

void gt_dump_signal_watch(void)
{
	struct sigaction now;

	if (!dump_signal.chosen || sigaction(signals[dump_signal.chosen].number, NULL, &now) ||
	    is_ours(&now))
		return;
	gt_log_say("the program has taken %s for itself: it asks for no dump any more",
		   signals[dump_signal.chosen].name);
	dump_signal.chosen = 0;
}
