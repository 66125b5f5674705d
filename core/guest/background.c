/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "core/guest/background.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/guest/clock.h"
#include "core/guest/forkgate.h"
#include "core/guest/futex.h"
#include "core/guest/seccomp.h"
#include "core/guest/sys.h"

#define PROCESSORS   "\nCpus_allowed:\t"

#define ENTER_MAX_NS 200000000u

/* Modules whose thread-local variables are made at a thread's first access. */
#define LAZY_MODULES 16
#define LAZY_PATH    512

static _Atomic uint32_t entered; /* futex: threads that did */

#define OURS_MAX 8

/* Our threads, in the process that started them. */
static struct {
	_Atomic int pid;
	_Atomic int tids[OURS_MAX]; /* 0: free */
	_Atomic uint64_t ended;     /* processor time of those that have left, ns */
} threads;

static struct {
	cpu_set_t processors;
	bool known;
} at_load;

/* The bits of one word of the mask, "0000000f", that has @first as its lowest processor. */
static void add_processors(uint64_t word, size_t first)
{
	for (size_t i = 0; i < 32 && first + i < CPU_SETSIZE; i++)
		if (word >> i & 1)
			CPU_SET(first + i, &at_load.processors);
}

/* Words of 32 processors with commas between them, the highest first. */
static bool parse_processors(const char *mask)
{
	size_t words = 1, length = strcspn(mask, "\n");

	for (size_t i = 0; i < length; i++)
		words += mask[i] == ',';
	while (words--) {
		uint64_t word = 0;

		for (; *mask && strchr("0123456789abcdef", *mask); mask++)
			word = word << 4 |
			       (uint64_t)(*mask <= '9' ? *mask - '0' : *mask - 'a' + 10);
		add_processors(word, words * 32);
		mask += *mask == ',';
	}
	return CPU_COUNT(&at_load.processors) > 0;
}

void gt_background_save_affinity(const char *status)
{
	const char *line = strstr(status, PROCESSORS);

	CPU_ZERO(&at_load.processors);
	at_load.known = line && parse_processors(line + strlen(PROCESSORS));
}

static int add_thread_locals(struct dl_phdr_info *info, size_t size, void *sum)
{
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*(size_t *)sum += info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
	return 0;
}

/* glibc places the thread-local variables of the program and its libraries inside the stack of a
 * new thread. Upper bound, bytes. */
static size_t thread_local_bytes(void)
{
	size_t sum = 0;

	gt_forkgate_lock();
	dl_iterate_phdr(add_thread_locals, &sum);
	gt_forkgate_unlock();
	return sum;
}

/* The program may lower its limits as soon as its first CUDA call has returned. */
static void await_entry(uint32_t before)
{
	uint64_t until = gt_clock_now() + ENTER_MAX_NS, now;

	while (atomic_load(&entered) == before && (now = gt_clock_now()) < until)
		gt_futex_wait(&entered, before, until - now);
}

/* Blocks all signals, so no handler of the program runs on our thread and a broken output is an
 * error code, not SIGPIPE or SIGXFSZ (REQ-66, 83). */
int gt_background_spawn(void *(*run)(void *), void *argument, size_t stack_bytes)
{
	pthread_attr_t attributes;
	sigset_t all, old;
	pthread_t thread;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, stack_bytes + thread_local_bytes());
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

int gt_background_start(void *(*run)(void *), void *argument, size_t stack_bytes)
{
	uint32_t before = atomic_load(&entered);
	int error = gt_background_spawn(run, argument, stack_bytes);

	if (!error)
		await_entry(before);
	return error;
}

/* A realtime policy is inherited from the starting thread. Our threads may run for long and must
 * not keep the program off the processor. */
static void drop_realtime(void)
{
	const struct sched_param none = {0};
	int policy;

	if (!gt_seccomp_permits(GT_SYS_sched_getscheduler))
		return;
	policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
	if (policy == SCHED_FIFO || policy == SCHED_RR)
		sched_setscheduler(0, SCHED_OTHER, &none);
}

struct lazy_modules {
	size_t count;
	char paths[LAZY_MODULES][LAZY_PATH];
};

static int add_lazy(struct dl_phdr_info *info, size_t size, void *context)
{
	struct lazy_modules *lazy = context;
	size_t length = strlen(info->dlpi_name);

	if (size < sizeof(*info) || !info->dlpi_tls_modid || info->dlpi_tls_data)
		return 0;
	if (length && length < LAZY_PATH && lazy->count < LAZY_MODULES)
		memcpy(lazy->paths[lazy->count++], info->dlpi_name, length + 1);
	return 0;
}

/* As in the ABI of thread-local variables. */
struct tls_index {
	size_t module, offset;
};
extern void *__tls_get_addr(struct tls_index *index);

/* The module stays loaded meanwhile. */
static void make_thread_locals(const char *path)
{
	void *handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
	struct tls_index index = {0};

	if (!handle)
		return;
	if (dlinfo(handle, RTLD_DI_TLS_MODID, &index.module) == 0 && index.module)
		__tls_get_addr(&index);
	dlclose(handle);
}

/* The loader makes CUPTI's thread-local variables at a thread's first call of it, and ends the
 * process if there is no memory by then (RLIMIT_AS, RLIMIT_DATA). LeakSanitizer hooks that and
 * crashes in its check at exit; a program with it has no limit on its address space. */
static void make_all_thread_locals(void)
{
	struct lazy_modules lazy = {0};

	gt_forkgate_lock();
	if (!gt_forkgate_symbol(RTLD_DEFAULT, "__lsan_do_leak_check"))
		dl_iterate_phdr(add_lazy, &lazy);
	for (size_t i = 0; i < lazy.count; i++)
		make_thread_locals(lazy.paths[i]);
	gt_forkgate_unlock();
}

/* A forked child has none of its parent's. */
static void note_thread(void)
{
	int pid = getpid(), tid = (int)syscall(SYS_gettid), none;

	if (atomic_exchange(&threads.pid, pid) != pid) {
		atomic_store(&threads.ended, 0);
		for (int i = 0; i < OURS_MAX; i++)
			atomic_store(&threads.tids[i], 0);
	}
	for (int i = 0; i < OURS_MAX; i++) {
		none = 0;
		if (atomic_compare_exchange_strong(&threads.tids[i], &none, tid))
			return;
	}
}

/* Of a thread of this process, by the number that the kernel gives such a clock
 * (clock_getcpuclockid(3)). */
static uint64_t time_of(int tid)
{
	struct timespec ts;

	if (clock_gettime((clockid_t)(~(unsigned int)tid << 3 | 6), &ts))
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

void gt_background_leave(void)
{
	int tid = (int)syscall(SYS_gettid);

	for (int i = 0; i < OURS_MAX; i++)
		if (atomic_load(&threads.tids[i]) == tid) {
			atomic_fetch_add(&threads.ended, time_of(tid));
			atomic_store(&threads.tids[i], 0);
		}
}

uint64_t gt_background_time(void)
{
	uint64_t sum = atomic_load(&threads.ended);

	for (int i = 0; i < OURS_MAX; i++) {
		int tid = atomic_load(&threads.tids[i]);

		if (tid)
			sum += time_of(tid);
	}
	return sum;
}

void gt_background_enter(const char *name)
{
	note_thread();
	gt_seccomp_watch();
	if (gt_seccomp_permits(GT_SYS_prctl))
		prctl(PR_SET_NAME, name, 0, 0, 0);
	drop_realtime();
	if (at_load.known &&
	    gt_seccomp_permits(GT_SYS_sched_setaffinity)) /* do not inherit the starting thread's
							     pinning (REQ-66) */
		sched_setaffinity(0, sizeof(at_load.processors), &at_load.processors);
	make_all_thread_locals();
	atomic_fetch_add(&entered, 1);
	gt_futex_wake(&entered);
}

/* While other threads run, an exited main thread stays as a zombie. Its root folder, which is that
 * of /proc/self, is gone. (get_robust_list shows the same, but a seccomp filter may kill for it.)
 */
static bool main_thread_is_gone(void)
{
	struct stat st;

	return gt_sys_fstatat(AT_FDCWD, "/proc/self/root", &st, 0) == -ENOENT;
}

bool gt_background_is_alone(uint32_t ours)
{
	return main_thread_is_gone() && gt_sys_threads() == ours + 1;
}

void gt_background_end_for_main(void)
{
	int status = gt_sys_first_thread_status();

	if (status)
		syscall(SYS_exit_group, status);
}
