/* SPDX-License-Identifier: Apache-2.0
 *
 * What programs do with their threads, signals and descriptors that a tracer can disturb:
 *
 *   guest cancelled    threads are cancelled in their first calls of CUDA and after them
 *   guest signalled    a signal that is blocked once CUDA is used, and waited for
 *   guest stderr FILE  descriptor 2 becomes a file of data
 *   guest limited N:V  resource limit N becomes V right after the first call
 *   guest crowded N    N threads use CUDA and wait; how many descriptors are left to the program
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/reliability/device.h"

static struct device device;

static void use_cuda(void)
{
	open_device(&device);
	one_round(&device);
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

static void *begin(void *unused)
{
	check((int)cudaFree(NULL),
	      "cudaFree"); /* nothing else here is a place to be cancelled at */
	for (;;) {
		check((int)cudaStreamSynchronize(NULL), "cudaStreamSynchronize");
		pthread_testcancel();
	}
	return unused;
}

/* The first thread starts CUDA and the tracer; its cancellation is requested before that. */
static int cancelled(const char *unused)
{
	pthread_t thread;
	void *result;

	(void)unused;
	for (int i = 0; i < 20; i++) {
		check(pthread_create(&thread, NULL, begin, NULL), "pthread_create");
		check(pthread_cancel(thread), "pthread_cancel");
		check(pthread_join(thread, &result), "pthread_join");
		if (result != PTHREAD_CANCELED)
			return 1;
	}
	use_cuda();
	puts("all of them");
	print_descriptors();
	return 0;
}

static int signalled(const char *unused)
{
	sigset_t set;
	int which = 0;

	(void)unused;
	use_cuda();
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	check(pthread_sigmask(SIG_BLOCK, &set, NULL), "pthread_sigmask");
	for (int i = 0; i < 50; i++) { /* the kernel offers a signal to the threads in turn */
		check(kill(getpid(), SIGTERM), "kill");
		check(sigwait(&set, &which), "sigwait");
	}
	printf("asked to end by %d\n", which);
	print_descriptors();
	return 0;
}

static int with_data(const char *path)
{
	close(STDERR_FILENO);
	if (open(path, O_WRONLY | O_CREAT, 0600) != STDERR_FILENO)
		return 1;
	use_cuda();
	return write(STDERR_FILENO, "data", 4) != 4;
}

static int limited(const char *which)
{
	struct rlimit limit;
	char *end;
	int resource = (int)strtol(which, &end, 10);

	check((int)cudaFree(NULL), "cudaFree");
	getrlimit((__rlimit_resource_t)resource, &limit);
	limit.rlim_cur = strtoul(end + 1, NULL, 10);
	check(setrlimit((__rlimit_resource_t)resource, &limit), "setrlimit");
	for (int i = 0; i < 50; i++, usleep(1000))
		check((int)cudaStreamSynchronize(NULL), "cudaStreamSynchronize");
	puts("lived");
	return 0;
}

static pthread_barrier_t crowd;

static void *wait_in_crowd(void *unused)
{
	check((int)cudaStreamSynchronize(NULL), "cudaStreamSynchronize");
	pthread_barrier_wait(&crowd);
	pthread_barrier_wait(&crowd);
	return unused;
}

/* Not counted is what the tracer has open for a moment. */
static int count_free_descriptors(void)
{
	int count = 0;

	for (int i = 0; i < 50; i++, usleep(1000))
		while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
			count++;
	return count;
}

static int crowded(const char *threads)
{
	pthread_t thread;
	unsigned int count = (unsigned int)atoi(threads);

	use_cuda();
	check(pthread_barrier_init(&crowd, NULL, count + 1), "pthread_barrier_init");
	for (unsigned int i = 0; i < count; i++) {
		check(pthread_create(&thread, NULL, wait_in_crowd, NULL), "pthread_create");
		check(pthread_detach(thread), "pthread_detach");
	}
	pthread_barrier_wait(&crowd);
	usleep(300000); /* samples are taken of all of them */
	printf("%d\n", count_free_descriptors());
	pthread_barrier_wait(&crowd);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(const char *argument);
	} ways[] = {{"cancelled", cancelled},
		    {"signalled", signalled},
		    {"stderr", with_data},
		    {"limited", limited},
		    {"crowded", crowded}};

	note_descriptors();
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run(argc > 2 ? argv[2] : NULL);
	return 2;
}
