/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts what the tracer does on a launching thread: system calls (a seccomp filter on that thread
 * alone traps each), allocations and locks (interposed here), each attributed to the innermost
 * frame outside libc. `hotpath warm` counts after the call sites are known, `hotpath cold` from the
 * first call on, to show that the counters work.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/reliability/device.h"

#define ROUNDS    1000
#define LAST_PASS 2
#define FRAMES    24

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void __libc_free(void *memory);

static __thread int counting __attribute__((tls_model("initial-exec")));
static int system_calls, allocations, locks;
static _Atomic int done;
static volatile int first_pass;
static struct device device;

static int is_in(const void *address, const char *library)
{
	Dl_info info;

	return dladdr(address, &info) && info.dli_fname && strstr(info.dli_fname, library);
}

/* Outside counted code: dladdr takes a lock, backtrace may allocate. */
static int is_the_tracers(void)
{
	void *frames[FRAMES];
	int count = backtrace(frames, FRAMES);

	for (int i = 0; i < count; i++) {
		if (is_in(frames[i], "libgputrace.so")) {
			if (getenv("HOTPATH_SHOW"))
				backtrace_symbols_fd(frames, count, 2);
			return 1;
		}
		if (is_in(frames[i], "libcu")) /* by the simulated device */
			return 0;
	}
	return 0;
}

static void note(int *counter)
{
	if (!counting)
		return;
	counting = 0;
	*counter += is_the_tracers();
	counting = 1;
}

void *malloc(size_t size)
{
	note(&allocations);
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	note(&allocations);
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	note(&allocations);
	return __libc_realloc(old, size);
}

void free(void *memory)
{
	__libc_free(memory);
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t *);

	if (!real)
		real = (int (*)(pthread_mutex_t *))dlsym(RTLD_NEXT, "pthread_mutex_lock");
	note(&locks);
	return real(mutex);
}

/* The only instruction whose system calls are allowed, recognized by the address after it. */
__asm__(".text\n"
	"let_through:\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %r11\n"
	"	mov 0(%r11), %rdi\n"
	"	mov 8(%r11), %rsi\n"
	"	mov 16(%r11), %rdx\n"
	"	mov 24(%r11), %r10\n"
	"	mov 32(%r11), %r8\n"
	"	mov 40(%r11), %r9\n"
	"	syscall\n"
	"after_let_through:\n"
	"	ret\n");
long let_through(long number, const long arguments[6]);
extern const char after_let_through[];

/* Counts a trapped call and makes it. */
static void on_system_call(int number, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	long arguments[6] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};

	(void)number;
	note(&system_calls);
	r[REG_RAX] = let_through(info->si_syscall, arguments);
}

static void trap_system_calls(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, instruction_pointer)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(uintptr_t)after_let_through, 4, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
	struct sigaction action = {.sa_sigaction = on_system_call,
				   .sa_flags = SA_SIGINFO | SA_NODEFER};

	sigaction(SIGSYS, &action, NULL);
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0), "seccomp");
}

static __attribute__((noinline)) void rounds(int count)
{
	for (int i = 0; i < count; i++)
		one_round(&device);
}

/* Not inlined, with a first pass unknown to the compiler: counted calls must come from the same
 * addresses as those before, not from a copy of the loop. */
static __attribute__((noinline)) void begin_pass(int pass)
{
	if (pass != LAST_PASS)
		return;
	trap_system_calls();
	counting = 1;
}

static void *launch(void *unused)
{
	void *frames[FRAMES];

	(void)unused;
	backtrace(frames, FRAMES); /* opens libgcc_s the first time */
	check((int)cudaFree(NULL), "cudaFree");
	for (int pass = first_pass; pass <= LAST_PASS; pass++) {
		begin_pass(pass);
		rounds(ROUNDS);
	}
	counting = 0;
	done = 1;
	syscall(SYS_exit, 0); /* ends this thread; other system calls are trapped */
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	first_pass = argc > 1 && !strcmp(argv[1], "warm") ? 0 : LAST_PASS;
	open_device(&device);
	check(pthread_create(&thread, NULL, launch, NULL), "pthread_create");
	while (!done)
		usleep(1000);
	printf("%d rounds: %d system calls, %d allocations, %d locks\n", ROUNDS, system_calls,
	       allocations, locks);
	fflush(stdout);
	_exit(0); /* the driver waits for nobody */
}
