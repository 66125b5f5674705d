// SPDX-License-Identifier: Apache-2.0
//
// A busy program that is easily disturbed: threads that allocate, load and unload a library, take
// signals, and wait in every way, with and without a time limit, while the main one launches
// kernels. Each compares what it sees with what must be so. Ends at the end of its standard input.
//
// usage: busy    prints "ready", then "launches=N" and "errors=N: first one"
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <unistd.h>

#include <cuda_runtime.h>

__global__ void add(int *sum, int n)
{
	*sum += n;
}

static std::atomic<bool> ends;
static std::atomic<int> errors, signals;
static std::mutex first_lock;
static std::string first;

static void check(bool good, const char *what)
{
	if (good)
		return;
	int error = errno;
	errors++;
	std::lock_guard<std::mutex> hold(first_lock);
	if (first.empty())
		first = std::string(what) + ": " + strerror(error);
}

static double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void block_signals()
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

static void allocate()
{
	block_signals();
	unsigned n = 1;
	std::vector<std::string> kept(64);
	while (!ends) {
		n = n * 1103515245 + 12345;
		kept[n >> 16 & 63] = std::string((n >> 8 & 0xffff) + 1, 'x');
		free(realloc(malloc(n & 0xfff), 100000));
		check(kept[n >> 16 & 63].back() == 'x', "memory");
	}
}

static void load()
{
	block_signals();
	while (!ends) {
		void *handle = dlopen("libresolv.so.2", RTLD_NOW);
		check(handle && dlsym(handle, "ns_name_ntop"), "dlopen");
		if (handle)
			dlclose(handle);
		usleep(200);
	}
}

// Waits that no signal ends here: EINTR would be ours.
static void sleep_exactly()
{
	block_signals();
	while (!ends) {
		double before = now();
		timespec pause = {0, 50000000};
		check(nanosleep(&pause, nullptr) == 0, "nanosleep");
		check(now() - before >= 0.05, "nanosleep was short");
		before = now();
		check(poll(nullptr, 0, 30) == 0 && now() - before >= 0.03, "poll");
		timeval limit = {0, 30000};
		before = now();
		check(select(0, nullptr, nullptr, nullptr, &limit) == 0 && now() - before >= 0.03, "select");
		int fd = epoll_create1(EPOLL_CLOEXEC);
		epoll_event event;
		before = now();
		check(epoll_wait(fd, &event, 1, 20) == 0 && now() - before >= 0.02, "epoll_wait");
		close(fd);
		std::mutex lock;
		std::condition_variable never;
		std::unique_lock<std::mutex> hold(lock);
		before = now();
		check(never.wait_for(hold, std::chrono::milliseconds(20)) == std::cv_status::timeout &&
			      now() - before >= 0.02, "condition");
	}
}

// The values that one thread writes are those that the other reads, in their order.
static int ends_of_pipe[2];
static void write_values()
{
	block_signals();
	for (unsigned n = 0; !ends; n++) {
		check(write(ends_of_pipe[1], &n, sizeof(n)) == sizeof(n), "write");
		usleep(3000);
	}
	close(ends_of_pipe[1]);
}

static void read_values()
{
	unsigned value, n = 0;
	ssize_t got;
	block_signals();
	while ((got = read(ends_of_pipe[0], &value, sizeof(value))) == sizeof(value))
		check(value == n++, "values");
	check(got == 0, "read");
}

static void on_signal(int)
{
	signals++;
}

// With SA_RESTART: read goes on, nanosleep ends early.
static pthread_t interrupted;
static int quiet[2];
static void take_signals()
{
	char byte;
	check(read(quiet[0], &byte, 1) == 1, "read with SA_RESTART");
}

static void send_signals()
{
	block_signals();
	int sent = 0;
	for (; !ends; sent++) {
		int seen = signals;
		pthread_kill(interrupted, SIGUSR1);
		for (int i = 0; i < 4000 && signals == seen; i++)
			usleep(500);
		check(signals == seen + 1, "signal");
	}
}

static void *vector_registers(void *)
{
	block_signals();
	volatile double sum = 0;
	while (!ends) {
		double a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b = 0;
		usleep(2000);
		for (int i = 0; i < 8; i++)
			b += a[i];
		sum = sum + b;
		check(b == 36, "vector registers");
	}
	return nullptr;
}

int main()
{
	int *sum, total = 0, launches = 0, found;
	struct sigaction action = {};

	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	action.sa_handler = on_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &action, nullptr);
	check(!pipe(ends_of_pipe) && !pipe(quiet), "pipe");
	cudaMalloc(&sum, sizeof(*sum));
	cudaMemset(sum, 0, sizeof(*sum));

	std::thread taker(take_signals);
	interrupted = taker.native_handle();
	block_signals();
	std::vector<std::thread> threads;
	for (auto run : {allocate, allocate, load, sleep_exactly, write_values, read_values, send_signals})
		threads.emplace_back(run);
	pthread_t vectors;
	pthread_create(&vectors, nullptr, vector_registers, nullptr);

	printf("ready\n");
	fflush(stdout);
	pollfd input = {STDIN_FILENO, POLLIN, 0};
	for (found = 0; !found; launches++) {
		add<<<1, 1>>>(sum, 1);
		cudaStreamSynchronize(0);
		total++;
		found = poll(&input, 1, 1);
		check(found >= 0, "poll of the input");
	}
	cudaMemcpy(&found, sum, sizeof(found), cudaMemcpyDeviceToHost);
	check(getenv("BUSY_SIMULATED") || found == total, "sum");
	ends = true;
	for (auto &thread : threads)
		thread.join();
	// The one that takes signals ends after the one that sends them, or the last signal is lost.
	check(write(quiet[1], "x", 1) == 1, "write");
	taker.join();
	pthread_join(vectors, nullptr);
	for (char **word = environ; *word; word++)
		check(!strstr(*word, "gputrace"), *word);
	printf("launches=%d\nerrors=%d: %s\n", launches, errors.load(), first.c_str());
	return errors != 0;
}
