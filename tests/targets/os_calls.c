/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks in calls of the operating system for known times (ms), between kernels; prints what it
 * saw, which must be the same with and without the tracer.
 *
 *   target_os_calls waits FILE   each call once, from blocked_in()
 *   target_os_calls more FILE    the rarer ones, until a time is up or another thread acts
 *   target_os_calls signals      a handler that reads and writes, EINTR, errno
 *   target_os_calls children     fork, vfork, and a thread that is cancelled in read()
 *   target_os_calls cost [N]     ns of a write of nothing, of the fastest of some rounds
 *   target_os_calls ended        threads that end right behind a call, in ranges that nobody ends
 */
#include <cuda.h>
#include <errno.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 20

static CUdeviceptr memory;
static CUcontext context;

static void start_cuda(void)
{
	CUdevice device;

	if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) ||
	    cuCtxSetCurrent(context) || cuMemAlloc(&memory, 4096))
		exit(2);
}

static void work(void)
{
	if (cuMemsetD8(memory, 0, 4096) || cuCtxSynchronize())
		exit(2);
}

static void say(const char *what, long result)
{
	int error = errno;

	printf("%s %ld %s\n", what, result, result < 0 ? strerror(error) : "");
}

static void rest(int ms)
{
	struct timespec time = {0, ms * 1000000L};

	nanosleep(&time, NULL);
}

static struct timespec later(int ms)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	now.tv_nsec += ms * 1000000L;
	now.tv_sec += now.tv_nsec / 1000000000L;
	now.tv_nsec %= 1000000000L;
	return now;
}

/* ---- waits ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static int pipe_ends[2], socket_ends[2];
static bool signalled;

/* The other side of a wait, MS later. */
/* Whether the main thread waits in a system call. */
static int main_waits(void)
{
	char name[64], word[16] = "";
	FILE *file;
	int known;

	snprintf(name, sizeof(name), "/proc/self/task/%d/syscall", (int)getpid());
	file = fopen(name, "re");
	if (!file)
		return 1; /* it cannot be told */
	known = fscanf(file, "%15s", word);
	fclose(file);
	return known != 1 || strcmp(word, "running") != 0;
}

/* From when the main thread has begun to wait, however long that takes on a busy machine. */
static void rest_beside_main(void)
{
	for (int seen = 0, tries = 0; seen < 3 && tries < 2000; tries++) {
		seen = main_waits() ? seen + 1 : 0;
		rest(1);
	}
	rest(MS);
}

static void *other_side(void *what)
{
	rest_beside_main();
	if (!strcmp(what, "read"))
		return write(pipe_ends[1], "hello", 5) == 5 ? NULL : what;
	if (!strcmp(what, "recv"))
		return send(socket_ends[1], "hello you", 9, 0) == 9 ? NULL : what;
	if (!strcmp(what, "pthread_cond_wait")) {
		pthread_mutex_lock(&mutex);
		signalled = true;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
	}
	if (!strcmp(what, "sem_wait"))
		sem_post(&semaphore);
	return NULL;
}

static void *hold_mutex(void *unused)
{
	pthread_mutex_lock(&mutex);
	sem_post(&semaphore);
	rest_beside_main();
	pthread_mutex_unlock(&mutex);
	return unused;
}

/* The innermost function of the program in each stack. */
__attribute__((noinline)) static void blocked_in(const char *what)
{
	struct pollfd nothing = {.fd = pipe_ends[0], .events = POLLIN};
	struct timespec time = {0, MS * 1000000L}, until = later(MS);
	struct timeval half = {0, MS * 1000};
	pthread_t thread;
	char data[16];
	long result = 0;

	if (!strcmp(what, "pthread_mutex_lock")) {
		pthread_create(&thread, NULL, hold_mutex, NULL);
		sem_wait(&semaphore);
		result = pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	} else {
		pthread_create(&thread, NULL, other_side, (void *)what);
	}
	if (!strcmp(what, "read"))
		result = read(pipe_ends[0], data, sizeof(data));
	else if (!strcmp(what, "recv"))
		result = recv(socket_ends[0], data, sizeof(data), 0);
	else if (!strcmp(what, "poll"))
		result = poll(&nothing, 1, MS);
	else if (!strcmp(what, "select"))
		result = select(0, NULL, NULL, NULL, &half);
	else if (!strcmp(what, "usleep"))
		result = usleep(MS * 1000);
	else if (!strcmp(what, "nanosleep"))
		result = nanosleep(&time, NULL);
	else if (!strcmp(what, "clock_nanosleep"))
		result = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	else if (!strcmp(what, "sem_wait"))
		result = sem_wait(&semaphore);
	else if (!strcmp(what, "pthread_join"))
		result = pthread_join(thread, NULL);
	if (!strncmp(what, "pthread_cond", 12)) {
		pthread_mutex_lock(&mutex);
		if (strcmp(what, "pthread_cond_wait") != 0)
			result = pthread_cond_timedwait(&cond, &mutex, &until);
		else
			while (!signalled)
				result = pthread_cond_wait(&cond, &mutex);
		pthread_mutex_unlock(&mutex);
	}
	say(what, result);
	if (strcmp(what, "pthread_join") != 0)
		pthread_join(thread, NULL);
}

static void wait_for_events(void)
{
	int set = epoll_create1(0), event = eventfd(0, 0);
	struct epoll_event wanted = {.events = EPOLLIN}, got;

	epoll_ctl(set, EPOLL_CTL_ADD, event, &wanted);
	say("epoll_wait", epoll_wait(set, &got, 1, MS));
	rest(100); /* it is looked up while it is open */
	close(event);
	close(set);
}

static void wait_for_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		rest(MS);
		_exit(3);
	}
	say("waitpid", waitpid(pid, NULL, 0) == pid);
}

/* A file is not slow, but a large one takes its time. */
static void read_file(const char *path)
{
	static char data[8 << 20];
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	say("write file", write(fd, data, sizeof(data)));
	say("pread file", pread(fd, data, sizeof(data), 0));
	rest(100); /* it is looked up while it is open */
	close(fd);
}

static void wait_in_all(const char *path)
{
	static const char *const calls[] = {"read",
					    "recv",
					    "poll",
					    "select",
					    "usleep",
					    "nanosleep",
					    "clock_nanosleep",
					    "sem_wait",
					    "pthread_join",
					    "pthread_mutex_lock",
					    "pthread_cond_wait",
					    "pthread_cond_timedwait"};

	sem_init(&semaphore, 0, 0);
	if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends))
		exit(2);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		work();
		blocked_in(calls[i]);
	}
	work();
	wait_for_events();
	wait_for_child();
	read_file(path);
	work();
	rest(100); /* descriptors are looked up later */
}

/* ---- more ---- */

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_t main_thread;
static sem_t held, released;

static void *hold_locks(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_rwlock_wrlock(&rwlock);
	sem_post(&held);
	sem_wait(&released);
	pthread_rwlock_unlock(&rwlock);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static struct timespec soon(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	now.tv_nsec += MS * 1000000L;
	now.tv_sec += now.tv_nsec / 1000000000L;
	now.tv_nsec %= 1000000000L;
	return now;
}

#define TIMED(name, ...)                                                                           \
	do {                                                                                       \
		struct timespec wall = soon(CLOCK_REALTIME), steady = soon(CLOCK_MONOTONIC);       \
                                                                                                   \
		(void)wall, (void)steady;                                                          \
		say(#name, name(__VA_ARGS__));                                                     \
		work();                                                                            \
	} while (0)

static void wait_for_locks(void)
{
	pthread_t thread;

	sem_init(&held, 0, 0);
	sem_init(&released, 0, 0);
	pthread_create(&thread, NULL, hold_locks, NULL);
	sem_wait(&held);
	TIMED(pthread_mutex_timedlock, &mutex, &wall);
	TIMED(pthread_mutex_clocklock, &mutex, CLOCK_MONOTONIC, &steady);
	TIMED(pthread_rwlock_timedrdlock, &rwlock, &wall);
	TIMED(pthread_rwlock_timedwrlock, &rwlock, &wall);
	TIMED(pthread_rwlock_clockrdlock, &rwlock, CLOCK_MONOTONIC, &steady);
	TIMED(pthread_rwlock_clockwrlock, &rwlock, CLOCK_MONOTONIC, &steady);
	TIMED(pthread_timedjoin_np, thread, NULL, &wall);
	TIMED(pthread_clockjoin_np, thread, NULL, CLOCK_MONOTONIC, &steady);
	TIMED(sem_timedwait, &held, &wall);
	TIMED(sem_clockwait, &held, CLOCK_MONOTONIC, &steady);
	sem_post(&released);
	pthread_join(thread, NULL);
}

static void ignore(int number)
{
	(void)number;
}

/* MS later: a signal for the main thread alone, or data. */
static void *act(void *what)
{
	struct iovec part = {(void *)"hello", 5};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};

	rest_beside_main();
	if (!strcmp(what, "signal"))
		pthread_kill(main_thread, SIGUSR1);
	else if (!strcmp(what, "pipe"))
		return pwritev2(pipe_ends[1], &part, 1, -1, 0) == 5 ? NULL : what;
	else if (!strcmp(what, "socket"))
		return sendmmsg(socket_ends[1], &message, 1, 0) == 1 ? NULL : what;
	return NULL;
}

#define UNTIL(other, name, ...)                                                                    \
	do {                                                                                       \
		pthread_t thread;                                                                  \
                                                                                                   \
		pthread_create(&thread, NULL, act, (void *)(other));                               \
		say(#name, name(__VA_ARGS__));                                                     \
		pthread_join(thread, NULL);                                                        \
		work();                                                                            \
	} while (0)

static void wait_for_signals(void)
{
	struct sigaction action = {.sa_handler = ignore};
	struct timespec time = {0, MS * 1000000L};
	sigset_t mine, old;
	int number;

	main_thread = pthread_self();
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&mine);
	sigaddset(&mine, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &mine, &old);
	UNTIL("signal", sigwait, &mine, &number);
	UNTIL("signal", sigwaitinfo, &mine, NULL);
	UNTIL("nothing", sigtimedwait, &mine, NULL, &time);
	UNTIL("signal", sigsuspend, &old);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void wait_for_data(const char *path)
{
	char data[16];
	struct iovec part = {data, sizeof(data)};
	struct mmsghdr message = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
	struct timespec time = {0, MS * 1000000L};
	int set = epoll_create1(0), null = open("/dev/null", O_WRONLY), copy, file;
	struct epoll_event got;
	pid_t pid;

	UNTIL("pipe", preadv2, pipe_ends[0], &part, 1, -1, 0);
	UNTIL("pipe", splice, pipe_ends[0], NULL, null, NULL, 5, 0);
	UNTIL("socket", recvmmsg, socket_ends[0], &message, 1, 0, NULL);
	UNTIL("nothing", epoll_pwait2, set, &got, 1, &time, NULL);
	pid = fork();
	if (!pid) {
		rest(MS);
		_exit(3);
	}
	say("wait3", wait3(NULL, 0, NULL) == pid);
	file = creat(path, 0600);
	close(file);
	file = open(path, O_RDWR);
	say("ftruncate", ftruncate(file, 8 << 20));
	copy = open(path, O_RDWR);
	say("copy_file_range", copy_file_range(file, NULL, copy, &(off64_t){9 << 20}, 1 << 20, 0));
	rest(100); /* it is looked up while it is open */
	close(copy);
	close(file);
	close(set);
	close(null);
}

static void wait_in_more(const char *path)
{
	if (pipe(pipe_ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, socket_ends))
		exit(2);
	work();
	wait_for_locks();
	wait_for_signals();
	wait_for_data(path);
	work();
	rest(100);
}

/* ---- signals ---- */

static volatile sig_atomic_t handled;

/* Both above the threshold of the test and below it. */
static void on_alarm(int number)
{
	struct timespec time = {0, 1000000};
	char c;

	(void)number;
	handled += write(pipe_ends[1], "x", 1) == 1 && read(pipe_ends[0], &c, 1) == 1;
	nanosleep(&time, NULL);
	errno = ERANGE;
}

static void interrupt_all(void)
{
	struct sigaction action = {.sa_handler = on_alarm};
	struct itimerval every = {{0, 3000}, {0, 3000}}, never = {{0, 0}, {0, 0}};
	int other[2], interrupted = 0;
	struct timespec time = {0, 30000000};
	char c;

	if (pipe(pipe_ends) || pipe(other))
		exit(2);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 20; i++) {
		errno = 0;
		interrupted += read(other[0], &c, 1) == -1 && errno == ERANGE;
		errno = 0;
		interrupted += nanosleep(&time, NULL) == -1 && errno == ERANGE;
		work();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGALRM, &action, NULL);
	say("interrupted", interrupted);
	say("handled", handled >= 40);
	errno = 0;
	say("bad descriptor", read(-1, &c, 1));
	say("closed", close(other[0]) + close(other[1]));
	errno = EXDEV;
	usleep(2000);
	say("errno is kept", errno == EXDEV);
}

/* ---- children ---- */

static void clean(void *lock)
{
	pthread_mutex_unlock(lock);
}

static void *read_for_ever(void *unused)
{
	char c;

	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(clean, &mutex);
	if (read(pipe_ends[0], &c, 1) == 1)
		exit(2);
	pthread_cleanup_pop(1);
	return unused;
}

static void *wait_for_ever(void *unused)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(clean, &mutex);
	pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(1);
	return unused;
}

static void cancel(const char *what, void *(*run)(void *))
{
	pthread_t thread;
	void *result;

	pthread_create(&thread, NULL, run, NULL);
	rest(MS);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	say(what, result == PTHREAD_CANCELED);
	say("the lock is free", pthread_mutex_trylock(&mutex));
	pthread_mutex_unlock(&mutex);
}

static void be_vforked(void)
{
	static volatile int seen;
	pid_t pid = vfork();

	if (!pid) {
		usleep(2000);
		seen = write(pipe_ends[1], "v", 1) == 1;
		_exit(seen ? 4 : 5);
	}
	int status;
	char c;

	waitpid(pid, &status, 0);
	say("vfork", WEXITSTATUS(status));
	say("its byte", read(pipe_ends[0], &c, 1));
}

static void be_forked(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		usleep(2000);
		_exit(write(pipe_ends[1], "f", 1) == 1 ? 6 : 7);
	}
	waitpid(pid, &status, 0);
	say("fork", WEXITSTATUS(status));
	rest(2);
	say("still alive", 1);
}

static void make_children(void)
{
	if (pipe(pipe_ends))
		exit(2);
	work();
	cancel("cancelled in read", read_for_ever);
	cancel("cancelled in pthread_cond_wait", wait_for_ever);
	be_vforked();
	be_forked();
	work();
}

/* ---- cost ---- */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void measure(int count)
{
	uint64_t best = UINT64_MAX;
	int fd = open("/dev/null", O_WRONLY);

	work();
	rest(100);
	for (int round = 0; round < 20; round++) {
		uint64_t begin = now_ns(), each;

		for (int i = 0; i < count; i++)
			if (write(fd, "", 1) != 1)
				exit(2);
		each = (now_ns() - begin) / (uint64_t)count;
		best = each < best ? each : best;
		rest(60); /* the tracer takes what was reported */
	}
	printf("%lu ns\n", (unsigned long)best);
}

/* ---- ended ---- */

static void *leave_open(void *unused)
{
	if (cuCtxSetCurrent(context))
		exit(2);
	work();
	nvtxRangePushA("left open");
	nvtxRangePushA("left open inside");
	rest(5 * MS); /* by its end what came before has been read */
	return unused;
}

static void end_threads(void)
{
	pthread_t thread;

	work();
	for (int i = 0; i < 3; i++) {
		pthread_create(&thread, NULL, leave_open, NULL);
		pthread_join(thread, NULL);
	}
	rest(5 * MS);
	say("ended", 0);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOLBF, 0);
	start_cuda();
	if (!strcmp(what, "waits") && argc > 2)
		wait_in_all(argv[2]);
	else if (!strcmp(what, "more") && argc > 2)
		wait_in_more(argv[2]);
	else if (!strcmp(what, "signals"))
		interrupt_all();
	else if (!strcmp(what, "children"))
		make_children();
	else if (!strcmp(what, "ended"))
		end_threads();
	else if (!strcmp(what, "cost"))
		measure(argc > 2 ? atoi(argv[2]) : 100);
	else
		return 1;
	return 0;
}
