/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the operating system where they are delicate. What it prints must be the same with and
 * without --osrt.
 *
 *   reliability_os_calls dying N    10 naps; then N threads nap at once, and SIGKILL
 *   reliability_os_calls signals    a handler that makes calls interrupts calls; errno, EINTR
 *   reliability_os_calls cancelled  threads that are cancelled in calls, or must not be
 *   reliability_os_calls children   of vfork, that call, and that exec
 *   reliability_os_calls strict     a thread in the strict mode of seccomp, without a clock
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/reliability/device.h"

#define NAP_US    8000
#define ROUNDS    300
#define MAX_DYING 100
#define EACH      6
#define CHILDREN  20

static struct device device;
static int ends[2];

static void say(const char *what, long value)
{
	printf("%s %ld\n", what, value);
	fflush(stdout);
}

static void make_pipe(void)
{
	if (pipe2(ends, O_NONBLOCK | O_CLOEXEC))
		exit(90);
}

/* ---- dying ---- */

static _Atomic int awake, may_start;

static void *nap(void *unused)
{
	while (!atomic_load(&may_start))
		sched_yield();
	usleep(NAP_US);
	atomic_fetch_add(&awake, 1);
	for (;;)
		sched_yield();
	return unused;
}

static void die(int threads)
{
	pthread_t thread;

	for (int i = 0; i < 10; i++)
		usleep(NAP_US);
	usleep(300000);
	one_round(&device);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, nap, NULL))
			exit(91);
	atomic_store(&may_start, 1);
	while (atomic_load(&awake) < threads)
		sched_yield();
	kill(getpid(), SIGKILL);
}

/* ---- signals ---- */

static _Atomic int handled;

/* Only functions that are safe in a handler; leaves errno as it was. */
static void on_alarm(int number)
{
	struct timespec short_time = {0, 20000};
	int saved = errno;
	char c = 0;

	(void)number;
	if (write(ends[1], "x", 1) == 1 && read(ends[0], &c, 1) == 1 && c == 'x')
		atomic_fetch_add(&handled, 1);
	nanosleep(&short_time, NULL);
	poll(NULL, 0, 0);
	close(open("/dev/null", O_RDONLY | O_CLOEXEC));
	errno = saved;
}

static int wrong_reads(int empty)
{
	char c;
	int wrong = 0;

	errno = 0;
	wrong += read(-1, &c, 1) != -1 || errno != EBADF;
	errno = 0;
	wrong += read(empty, &c, 1) != -1 || errno != EAGAIN;
	errno = EDOM;
	wrong += write(empty + 1, "y", 1) != 1 || read(empty, &c, 1) != 1 || errno != EDOM;
	return wrong;
}

static int wrong_waits(void)
{
	struct timespec time = {0, 1000000}, left = {0, 0};
	int wrong = 0, result;

	errno = 0;
	result = nanosleep(&time, &left);
	/* what is left counts the timer's slack, too */
	wrong += result && (errno != EINTR || left.tv_nsec > 2 * time.tv_nsec);
	errno = 0;
	result = poll(NULL, 0, 1);
	wrong += result && (result != -1 || errno != EINTR);
	errno = EDOM;
	result = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	wrong += (result && result != EINTR) || errno != EDOM;
	return wrong;
}

static int wrong_locks(void)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	struct timespec past = {1, 0};
	int wrong = 0;

	errno = EDOM;
	wrong += pthread_mutex_lock(&mutex) != 0;
	wrong += pthread_mutex_timedlock(&mutex, &past) != ETIMEDOUT;
	wrong += pthread_mutex_unlock(&mutex) != 0;
	return wrong + (errno != EDOM);
}

static void interrupt(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval every = {{0, 400}, {0, 400}}, never = {{0, 0}, {0, 0}};
	int empty[2], reads = 0, waits = 0, locks = 0;

	if (pipe2(empty, O_NONBLOCK | O_CLOEXEC) || empty[1] != empty[0] + 1)
		exit(92);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		reads += wrong_reads(empty[0]);
		waits += wrong_waits();
		locks += wrong_locks();
		if (i % 20 == 0)
			one_round(&device);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGALRM, &action, NULL);
	say("wrong reads", reads);
	say("wrong waits", waits);
	say("wrong locks", locks);
	say("handled some", atomic_load(&handled) > 10);
}

/* ---- cancelled ---- */

static _Atomic int inside, cleaned;
static pthread_mutex_t never_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never_cond = PTHREAD_COND_INITIALIZER;
static sem_t never_sem;
static int silent[2];

static void wait_in_read(void)
{
	char c;

	if (read(silent[0], &c, 1))
		return;
}

static void wait_in_poll(void)
{
	struct pollfd fd = {.fd = silent[0], .events = POLLIN};

	poll(&fd, 1, -1);
}

static void wait_in_nanosleep(void)
{
	struct timespec time = {1000, 0};

	nanosleep(&time, NULL);
}

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void wait_in_cond(void)
{
	pthread_mutex_lock(&never_mutex);
	pthread_cleanup_push(unlock, &never_mutex);
	pthread_cond_wait(&never_cond, &never_mutex);
	pthread_cleanup_pop(1);
}

static void wait_in_sem(void)
{
	sem_wait(&never_sem);
}

/* Reaches a point of cancellation again and again, mostly not while it waits. */
static void write_for_ever(void)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	while (write(null, "x", 1) == 1)
		;
}

static void clean(void *unused)
{
	(void)unused;
	atomic_fetch_add(&cleaned, 1);
}

static void *be_cancelled(void *wait_in)
{
	pthread_cleanup_push(clean, NULL);
	atomic_fetch_add(&inside, 1);
	((void (*)(void))wait_in)();
	pthread_cleanup_pop(0);
	return NULL;
}

/* It cannot be cancelled until it has its byte. */
static void *refuse(void *unused)
{
	struct pollfd fd = {.fd = ends[0], .events = POLLIN};
	int old;
	char c = 0;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	atomic_fetch_add(&inside, 1);
	poll(&fd, 1, -1);
	if (read(ends[0], &c, 1) != 1)
		exit(93);
	pthread_setcancelstate(old, NULL);
	return c == 'z' ? unused : NULL;
}

static void cancel_all(const char *what, void (*wait_in)(void))
{
	pthread_t threads[EACH];
	int cancelled = 0;
	void *result;

	atomic_store(&inside, 0);
	atomic_store(&cleaned, 0);
	for (int i = 0; i < EACH; i++)
		if (pthread_create(&threads[i], NULL, be_cancelled, (void *)wait_in))
			exit(94);
	while (atomic_load(&inside) < EACH)
		sched_yield();
	usleep(3000);
	for (int i = 0; i < EACH; i++)
		pthread_cancel(threads[i]);
	for (int i = 0; i < EACH; i++) {
		pthread_join(threads[i], &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	printf("%s: %d cancelled, %d cleaned\n", what, cancelled, atomic_load(&cleaned));
	one_round(&device);
}

static void cancel(void)
{
	pthread_t thread;
	void *result = NULL;

	if (pipe2(silent, O_CLOEXEC))
		exit(95);
	sem_init(&never_sem, 0, 0);
	cancel_all("read", wait_in_read);
	cancel_all("poll", wait_in_poll);
	cancel_all("nanosleep", wait_in_nanosleep);
	cancel_all("pthread_cond_wait", wait_in_cond);
	cancel_all("sem_wait", wait_in_sem);
	cancel_all("write", write_for_ever);
	atomic_store(&inside, 0);
	if (pthread_create(&thread, NULL, refuse, &device))
		exit(94);
	while (!atomic_load(&inside))
		sched_yield();
	pthread_cancel(thread);
	usleep(3000);
	if (write(ends[1], "z", 1) != 1)
		exit(96);
	pthread_join(thread, &result);
	say("refused", result == &device);
	say("the lock is free", pthread_mutex_trylock(&never_mutex));
}

/* ---- children ---- */

static volatile long seen;

/* The exit status of a child of vfork that makes calls. */
__attribute__((noinline)) static int call_in_child(void)
{
	pid_t pid = vfork();
	int status = 0;

	if (!pid) {
		usleep(500);
		seen += write(ends[1], "v", 1);
		_exit(7);
	}
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : -1;
}

__attribute__((noinline)) static int exec_in_child(void)
{
	pid_t pid = vfork();
	int status = 0;

	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(8);
	}
	return waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : -1;
}

static void fork_often(void)
{
	long called = 0, executed = 0;
	char c;

	for (int i = 0; i < CHILDREN; i++) {
		called += call_in_child() == 7 && read(ends[0], &c, 1) == 1;
		executed += exec_in_child() == 0;
		one_round(&device);
	}
	say("called", called);
	say("seen", seen);
	say("executed", executed);
}

static void *confine(void *unused)
{
	(void)unused;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0))
		exit(92);
	for (int i = 0; i < EACH; i++)
		if (write(ends[1], "s", 1) != 1)
			break;
	for (;;)
		syscall(SYS_exit, 0);
	return NULL;
}

static void write_confined(void)
{
	pthread_t thread;
	char c;

	check(pthread_create(&thread, NULL, confine, NULL), "pthread_create");
	check(pthread_join(thread, NULL), "pthread_join");
	for (int i = 0; i < EACH; i++)
		check(read(ends[0], &c, 1) != 1 || c != 's', "read");
	say("confined", EACH);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	sigset_t alarm, old;

	/* threads of the driver are not interrupted */
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, &old);
	open_device(&device);
	one_round(&device);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	make_pipe();
	if (!strcmp(what, "dying") && argc > 2)
		die(atoi(argv[2]));
	else if (!strcmp(what, "signals"))
		interrupt();
	else if (!strcmp(what, "cancelled"))
		cancel();
	else if (!strcmp(what, "children"))
		fork_often();
	else if (!strcmp(what, "strict"))
		write_confined();
	else
		return 1;
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	return 0;
}
