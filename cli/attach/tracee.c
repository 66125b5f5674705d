/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. The order of the requests matters: after each of them the thread can be left
 * alone. Where a call ends it is stopped in the kernel's signal handling, where a system call that
 * was interrupted is begun again with the time that was left.
 */
#include "cli/attach/tracee.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/attach/image.h"
#include "cli/attach/maps.h"

#define RED_ZONE              128u
#define STOP_MS               1000u
#define LOCK_MS               100u /* a thread is kept so long by the loading of another one */
#define POLL_NS               100000
#define USER_CODE             0x33u
#define DIRECTION_FLAG        0x400u
#define TRAP_FLAG             0x100u

/* Bytes of a stack that are searched for the frame of a signal handler. */
#define SEARCH_BYTES          32768u

/* In it, in words: the return address comes first, then the kernel's ucontext. */
#define SP_WORD               21u
#define SIGNALS_WORD          38u

/* The kernel's own errors of interrupted system calls. */
#define ERESTARTSYS           512
#define ERESTARTNOINTR        513
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static long request(const struct gt_tracee *tracee, int what, uintptr_t address, uintptr_t data)
{
	return ptrace((enum __ptrace_request)what, tracee->tid, (void *)address, (void *)data);
}

/* The next stop. -ETIMEDOUT: none until @until. -ESRCH: there will be none. */
static int await(struct gt_tracee *tracee, uint64_t until, int *ret_status)
{
	const struct timespec pause = {.tv_nsec = POLL_NS};
	pid_t found;

	while (!(found = waitpid(tracee->tid, ret_status, __WALL | WNOHANG))) {
		if (now_ms() >= until)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	if (found == tracee->tid && WIFSTOPPED(*ret_status))
		return 0;
	tracee->is_gone = true;
	return -ESRCH;
}

static bool is_event(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP;
}

/* The stop that PTRACE_INTERRUPT asked for; else one of job control. */
static bool is_interrupt(int status)
{
	return is_event(status) && WSTOPSIG(status) == SIGTRAP;
}

static bool is_syscall(int status)
{
	return WSTOPSIG(status) == (SIGTRAP | 0x80);
}

static int get_registers(const struct gt_tracee *tracee, struct user_regs_struct *ret_regs)
{
	struct iovec vector = {.iov_base = ret_regs, .iov_len = sizeof(*ret_regs)};

	return request(tracee, PTRACE_GETREGSET, NT_PRSTATUS, (uintptr_t)&vector) ? -errno : 0;
}

static int set_registers(const struct gt_tracee *tracee, const struct user_regs_struct *regs)
{
	struct iovec vector = {.iov_base = (void *)(uintptr_t)regs, .iov_len = sizeof(*regs)};

	return request(tracee, PTRACE_SETREGSET, NT_PRSTATUS, (uintptr_t)&vector) ? -errno : 0;
}

static int get_context(struct gt_tracee *tracee)
{
	struct gt_context *context = &tracee->context;
	struct iovec vector = {.iov_base = context->xstate, .iov_len = sizeof(context->xstate)};
	int error = get_registers(tracee, &context->regs);

	if (error)
		return error;
	if (request(tracee, PTRACE_GETREGSET, NT_X86_XSTATE, (uintptr_t)&vector) ||
	    request(tracee, PTRACE_GETSIGMASK, sizeof(context->signals),
		    (uintptr_t)&context->signals))
		return -errno;
	context->xstate_bytes = vector.iov_len;
	return 0;
}

/* Signals that the thread has not blocked and will see next. */
static bool has_signals(const struct gt_tracee *tracee)
{
	char name[64], line[256];
	uint64_t signals, pending = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/task/%d/status", (int)tracee->pid, (int)tracee->tid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "SigPnd: %" SCNx64, &signals) == 1 ||
		    sscanf(line, "ShdPnd: %" SCNx64, &signals) == 1)
			pending |= signals;
	if (file)
		fclose(file);
	return !file || pending & ~tracee->context.signals;
}

/* A frame of the kernel in which fewer signals are blocked than now, or an old one that looks so.
 */
static bool is_frame(const struct gt_tracee *tracee, const uint64_t *words, size_t count,
		     uint64_t at)
{
	uint64_t signals = words[SIGNALS_WORD], now = tracee->context.signals;

	return words[0] == tracee->way.restore && count > SIGNALS_WORD && words[SP_WORD] > at &&
	       signals != now && !(signals & ~now);
}

/* In a handler, which may have broken into the allocator. */
static bool is_in_handler(const struct gt_tracee *tracee, const struct gt_mapping *stack)
{
	static uint64_t words[SEARCH_BYTES / sizeof(uint64_t) + SIGNALS_WORD + 1];
	uint64_t sp = tracee->context.regs.rsp, bytes = stack->end - sp;

	if (bytes > SEARCH_BYTES)
		bytes = SEARCH_BYTES;
	if (gt_memory_read(tracee->pid, sp, words, bytes))
		return true;
	for (size_t i = 0, count = bytes / sizeof(words[0]); i < count; i++)
		if (is_frame(tracee, words + i, count - i, sp + i * sizeof(words[0])))
			return true;
	return false;
}

/* Room for a frame and the functions that run on it; and what is on it. */
static bool stack_will_do(const struct gt_tracee *tracee)
{
	uint64_t sp = tracee->context.regs.rsp;
	const struct gt_mapping *stack;
	struct gt_maps maps;
	bool fits;

	if (gt_maps_read(tracee->pid, &maps))
		return false;
	stack = gt_maps_at(&maps, sp);
	fits = stack && stack->writes &&
	       sp - stack->start > RED_ZONE + tracee->context.xstate_bytes + 4096 &&
	       !is_in_handler(tracee, stack);
	gt_maps_free(&maps);
	return fits;
}

/* The kernel lets the system call go on, or we do. */
static bool goes_on(struct gt_tracee *tracee, long number)
{
	const struct user_regs_struct *regs = &tracee->context.regs;
	unsigned char code[2];

	if ((long)regs->orig_rax != number || regs->cs != USER_CODE ||
	    gt_memory_read(tracee->pid, regs->rip - 2, code, sizeof(code)) || code[0] != 0x0f ||
	    code[1] != 0x05)
		return false;
	tracee->again = *regs;
	tracee->again.rip -= sizeof(code);
	tracee->again.rax = regs->orig_rax;
	tracee->again.orig_rax = (unsigned long long)-1;
	tracee->begins_again = (long)regs->rax == -EINTR;
	if (tracee->begins_again)
		return gt_waiting_ends_with_eintr(number) && !has_signals(tracee);
	return (long)regs->rax == -ERESTARTSYS || (long)regs->rax == -ERESTARTNOINTR ||
	       (long)regs->rax == -ERESTARTNOHAND || (long)regs->rax == -ERESTART_RESTARTBLOCK;
}

/* Its signals are its own until then. */
static int await_interrupt(struct gt_tracee *tracee, uint64_t until)
{
	int status, error;

	while (!(error = await(tracee, until, &status)) && !is_interrupt(status)) {
		int signal = is_event(status) || is_syscall(status) ? 0 : WSTOPSIG(status);

		if (is_event(status)) /* stopped by job control */
			return -EAGAIN;
		request(tracee, PTRACE_CONT, 0, (uintptr_t)signal);
	}
	return error;
}

/* A thread that cannot be stopped in time is in the kernel: it is left as it is. */
static void leave(struct gt_tracee *tracee)
{
	if (!tracee->is_gone)
		request(tracee, PTRACE_DETACH, 0, 0);
	tracee->is_gone = true;
}

int gt_tracee_stop(pid_t pid, const struct gt_waiting_thread *waiting,
		   const struct gt_way_back *way, struct gt_tracee *ret_tracee)
{
	struct gt_tracee *tracee = ret_tracee;
	int error;

	memset(tracee, 0, sizeof(*tracee));
	tracee->pid = pid;
	tracee->tid = waiting->tid;
	tracee->way = *way;
	if (request(tracee, PTRACE_SEIZE, 0, PTRACE_O_TRACESYSGOOD))
		return errno == ESRCH ? -EAGAIN : -errno;
	if (request(tracee, PTRACE_INTERRUPT, 0, 0))
		return -EAGAIN; /* it has ended */
	error = await_interrupt(tracee, now_ms() + STOP_MS);
	if (!error)
		error = get_context(tracee);
	if (!error && goes_on(tracee, waiting->number) && stack_will_do(tracee))
		return 0;
	if (!error && tracee->begins_again && !has_signals(tracee))
		error = set_registers(tracee, &tracee->again) ? -EAGAIN : -EINTR;
	leave(tracee);
	return error == -ESRCH || error == -EINTR ? error : -EAGAIN;
}

void gt_tracee_release(struct gt_tracee *tracee)
{
	struct gt_context *context = &tracee->context;
	struct iovec vector = {.iov_base = context->xstate, .iov_len = context->xstate_bytes};

	if (tracee->is_gone)
		return;
	request(tracee, PTRACE_SETREGSET, NT_X86_XSTATE, (uintptr_t)&vector);
	request(tracee, PTRACE_SETSIGMASK, sizeof(context->signals), (uintptr_t)&context->signals);
	set_registers(tracee, tracee->begins_again ? &tracee->again : &context->regs);
	leave(tracee);
}

/* ---- a call ---- */

/* Signals come when it is over; those that it causes itself do not wait. */
static uint64_t all_signals(void)
{
	static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	uint64_t signals = ~(uint64_t)0;

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		signals &= ~((uint64_t)1 << (own[i] - 1));
	return signals;
}

static int begin(struct gt_tracee *tracee, uint64_t function, const uint64_t *arguments,
		 uint64_t top, struct gt_return_frame *ret_frame)
{
	struct user_regs_struct regs = tracee->context.regs;
	uint64_t signals = all_signals();
	int error;

	error = gt_return_frame_make(&tracee->context, &tracee->again, &tracee->way,
				     top ? top : regs.rsp - RED_ZONE, ret_frame);
	if (!error)
		error = gt_memory_write(tracee->pid, ret_frame->sp, ret_frame->stack,
					ret_frame->bytes);
	if (error)
		return error;
	regs.rip = function;
	regs.rsp = ret_frame->sp;
	regs.rdi = arguments[0];
	regs.rsi = arguments[1];
	regs.rdx = arguments[2];
	regs.rcx = arguments[3];
	regs.r8 = arguments[4];
	regs.r9 = arguments[5];
	regs.rax = 0;
	regs.orig_rax = (unsigned long long)-1;
	regs.eflags &= ~(unsigned long long)(DIRECTION_FLAG | TRAP_FLAG);
	error = set_registers(tracee, &regs);
	if (!error)
		request(tracee, PTRACE_SETSIGMASK, sizeof(signals), (uintptr_t)&signals);
	return error;
}

/* What a call has done so far. */
struct progress {
	uint64_t mark_sp;
	uint64_t lock;  /* that it asks for; 0: none yet */
	bool has_begun; /* it has made other system calls than to wait for that one lock */
	bool is_in_syscall;
	bool is_over;
};

static void see_syscall(const struct gt_tracee *tracee, struct progress *progress)
{
	struct user_regs_struct regs;
	bool is_wait;

	if (get_registers(tracee, &regs))
		return;
	progress->is_over = regs.orig_rax == SYS_sched_yield && regs.rsp == progress->mark_sp;
	progress->is_in_syscall = !progress->is_in_syscall;
	is_wait = regs.orig_rax == SYS_futex && (regs.rsi & FUTEX_CMD_MASK) == FUTEX_WAIT;
	if (!progress->lock && is_wait)
		progress->lock = regs.rdi;
	if (!is_wait || regs.rdi != progress->lock)
		progress->has_begun = true;
}

/* The loader's first lock is in its own data; what it locks later, it does after system calls. */
static bool has_not_begun(const struct gt_tracee *tracee, const struct progress *progress)
{
	const struct gt_mapping *found;
	struct gt_maps maps;
	bool is_loaders;

	if (progress->has_begun || !progress->lock || !progress->is_in_syscall ||
	    gt_maps_read(tracee->pid, &maps))
		return false;
	found = gt_maps_at(&maps, progress->lock);
	is_loaders = found && strstr(found->path, "/ld-");
	gt_maps_free(&maps);
	return is_loaders;
}

static bool is_fault(int signal)
{
	return signal == SIGSEGV || signal == SIGBUS || signal == SIGILL || signal == SIGABRT ||
	       signal == SIGFPE;
}

static int follow(struct gt_tracee *tracee, uint64_t until, struct progress *progress)
{
	int status, error;

	while (!progress->is_over) {
		int signal = 0;

		error = await(tracee, until, &status);
		if (error)
			return error;
		if (is_syscall(status))
			see_syscall(tracee, progress);
		else if (!is_event(status))
			signal = WSTOPSIG(status);
		if (is_fault(signal))
			return -EFAULT;
		if (!progress->is_over)
			request(tracee, PTRACE_SYSCALL, 0, (uintptr_t)signal);
	}
	return 0;
}

/* From a stop at a system call into one in the signal handling. */
static int settle(struct gt_tracee *tracee)
{
	request(tracee, PTRACE_INTERRUPT, 0, 0);
	request(tracee, PTRACE_CONT, 0, 0);
	return await_interrupt(tracee, now_ms() + STOP_MS);
}

/* Out of the lock, if it still waits for it. -EBUSY: it does, and is stopped in the signal
 * handling. 0: it is stopped somewhere behind the lock, @progress knows where. */
static int take_back(struct gt_tracee *tracee, struct progress *progress)
{
	struct user_regs_struct regs;
	int status, error;

	request(tracee, PTRACE_INTERRUPT, 0, 0);
	error = await(tracee, now_ms() + STOP_MS, &status);
	if (error)
		return error;
	if (is_syscall(status))
		see_syscall(tracee, progress);
	error = get_registers(tracee, &regs);
	if (error || regs.orig_rax != SYS_futex || (long)regs.rax != -ERESTARTSYS)
		return error;
	if (is_syscall(status))
		error = settle(tracee);
	return error ? error : -EBUSY;
}

/* As long as it waits for the loader, it is not for long. */
static int follow_lock(struct gt_tracee *tracee, struct progress *progress, unsigned limit_ms)
{
	uint64_t now = now_ms();
	int error = follow(tracee, now + (limit_ms < LOCK_MS ? limit_ms : LOCK_MS), progress);

	if (error == -ETIMEDOUT && has_not_begun(tracee, progress)) {
		error = take_back(tracee, progress);
		if (error || progress->is_over)
			return error;
		progress->has_begun = true; /* it has the lock by now */
		request(tracee, PTRACE_SYSCALL, 0, 0);
		error = -ETIMEDOUT;
	}
	return error == -ETIMEDOUT ? follow(tracee, now + limit_ms, progress) : error;
}

int gt_tracee_call(struct gt_tracee *tracee, uint64_t function,
		   const uint64_t arguments[GT_CALL_ARGUMENTS], uint64_t top, unsigned limit_ms)
{
	static struct gt_return_frame frame;
	struct progress progress = {.is_over = false};
	int error = begin(tracee, function, arguments, top, &frame);

	if (error)
		return error;
	progress.mark_sp = frame.sp + sizeof(uint64_t);
	request(tracee, PTRACE_SYSCALL, 0, 0);
	error = follow_lock(tracee, &progress, limit_ms);
	if (error == -ETIMEDOUT) {
		/* a thread that runs cannot be let go: it is stopped for that, wherever it is */
		request(tracee, PTRACE_INTERRUPT, 0, 0);
		if (!await_interrupt(tracee, now_ms() + STOP_MS))
			leave(tracee);
		tracee->is_gone = true;
	}
	return error ? error : settle(tracee);
}
