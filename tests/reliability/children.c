/* SPDX-License-Identifier: Apache-2.0
 *
 * Children of every kind. Each process prints one line after its GPU work, so that the traces can
 * be counted; a forked child that must not use CUDA prints CUDA's error and its number of threads.
 * Exit status 0 if all children ended as expected.
 */
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/descriptors.h"
#include "tests/gate.h"
#include "tests/reliability/device.h"

#define ROUNDS  10
#define WORKERS 8

extern char **environ;

static char *self;
static struct device device;
static _Atomic int stop;
static bool has_own_files; /* under descriptors that were closed before */

static void use_cuda(void)
{
	open_device(&device);
	for (int i = 0; i < ROUNDS; i++)
		one_round(&device);
	check((int)cudaDeviceSynchronize(), "cudaDeviceSynchronize");
	printf("used cuda\n");
	if (!has_own_files)
		print_descriptors();
	fflush(stdout);
}

static int threads_here(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *entry;
	int count = 0;

	while (dir && (entry = readdir(dir)))
		count += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return count;
}

static void wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child || status)
		exit(90);
}

static pid_t fork_or_die(void)
{
	pid_t child;

	fflush(stdout);
	child = fork();
	if (child < 0)
		exit(91);
	return child;
}

static void before(void)
{
	pid_t child = fork_or_die();

	use_cuda();
	if (child)
		wait_for(child);
}

/* CUDA does not survive fork: the child gets an error, and no additional thread. */
static void after(void)
{
	pid_t child;

	use_cuda();
	child = fork_or_die();
	if (!child) {
		printf("child: error %d, %d thread\n", (int)cudaMemset(device.data, 0, 16),
		       threads_here());
		exit(0);
	}
	wait_for(child);
	use_cuda();
}

static void by_vfork(void)
{
	pid_t child;

	use_cuda();
	child = vfork();
	if (!child) {
		execl(self, self, "leaf", (char *)NULL);
		_exit(92);
	}
	wait_for(child);
}

static void by_spawn(void)
{
	static char leaf[] = "leaf";
	char *arguments[] = {self, leaf, NULL};
	pid_t child;

	use_cuda();
	if (posix_spawn(&child, self, NULL, NULL, arguments, environ))
		exit(93);
	wait_for(child);
}

static void twice(void)
{
	pid_t child = fork_or_die();

	if (!child) {
		pid_t grandchild = fork_or_die();

		if (!grandchild) {
			use_cuda();
			exit(0);
		}
		wait_for(grandchild);
		exit(0);
	}
	wait_for(child);
	use_cuda();
}

static void workers(void)
{
	pid_t children[WORKERS];

	for (int i = 0; i < WORKERS; i++) {
		children[i] = fork_or_die();
		if (!children[i]) {
			use_cuda();
			exit(0);
		}
	}
	use_cuda();
	for (int i = 0; i < WORKERS; i++)
		wait_for(children[i]);
}

/* Closes every descriptor and takes the numbers for files of its own, which must stay untouched. */
static void daemonize(void)
{
	struct rlimit limit;
	char name[] = "/tmp/gt-daemon-XXXXXX";
	int file, dull, keep;

	use_cuda();
	usleep(500000); /* until the tracer has read new modules: docs, "Limits" */
	keep = 1;
	has_own_files = true;
	getrlimit(RLIMIT_NOFILE, &limit);
	for (int fd = 0; fd < (int)(limit.rlim_cur < 4096 ? limit.rlim_cur : 4096); fd++)
		if (fd != keep)
			close(fd);
	dull = open("/dev/null", O_RDWR);
	dup2(dull, 2);
	file = mkstemp(name);
	unlink(name);
	for (int fd = 3; fd < 1024; fd++)
		if (fd != file)
			dup2(file, fd);
	use_cuda();
	usleep(1200000); /* until the tracer has written */
	use_cuda();
	printf("the files of the program hold %ld bytes\n", (long)lseek(file, 0, SEEK_END));
}

static void by_exec(void)
{
	use_cuda();
	wait_at_gate(1); /* until it is in the file */
	execl(self, self, "leaf", (char *)NULL);
	exit(94);
}

static char lister[] = "ls", descriptors[] = "/proc/self/fd";
static char *list[] = {lister, descriptors, NULL};

/* Starts programs that list their open descriptors, in three ways. */
static void start_listers(void)
{
	pid_t child;

	use_cuda();
	wait_at_gate(1); /* until it is in the file: the file is open */
	if (posix_spawnp(&child, lister, NULL, NULL, list, environ))
		exit(93);
	wait_for(child);
	child = fork_or_die();
	if (child)
		wait_for(child);
	execvp(lister, list);
	_exit(92);
}

/* A child that exits normally, running the exit handlers it inherited. */
static void idle(void)
{
	pid_t child;

	use_cuda();
	wait_at_gate(1);
	child = fork_or_die();
	if (!child)
		exit(0);
	wait_for(child);
}

static void *load_as_ever(void *unused)
{
	(void)unused;
	check((int)cudaFree(NULL), "cudaFree");
	while (!stop) {
		one_round(&device);
		check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
	}
	return NULL;
}

static void wait_for_stream(void)
{
	check((int)cudaStreamSynchronize(device.stream), "cudaStreamSynchronize");
}

/* A function that calls its first argument, within a frame. */
#ifdef __aarch64__
static const uint32_t caller[] = {0xa9bf7bfd, 0xd63f0000, 0xa8c17bfd, 0xd65f03c0};
#else
static const uint8_t caller[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
#endif
#define CALLERS ((size_t)1 << 15)

/* Calls from new code each time, like that of a just-in-time compiler: the tracer looks up each
 * address on this thread. */
static void *load_anew(void *unused)
{
	(void)unused;
	check((int)cudaFree(NULL), "cudaFree");
	while (!stop) {
		const size_t size = CALLERS * sizeof(caller);
		char *code = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		check(code == MAP_FAILED, "mmap");
		for (size_t i = 0; i < CALLERS; i++)
			memcpy(code + i * sizeof(caller), caller, sizeof(caller));
		__builtin___clear_cache(code, code + size);
		for (size_t i = 0; i < CALLERS && !stop; i++)
			((void (*)(void (*)(void)))(void *)(code + i * sizeof(caller)))(
				wait_for_stream);
		munmap(code, size);
	}
	return NULL;
}

static int see(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)info;
	(void)size;
	return unused != NULL;
}

/* Forks while other threads @load: the child may hold no lock of ours or, through us, of the
 * loader, and must end. */
static void storm(int forks, void *(*load)(void *))
{
	pthread_t threads[2];
	int wrong = 0;

	use_cuda();
	wait_at_gate(1); /* until it is in the file, which the calls of the storm may fill before
			    their work comes */
	for (int i = 0; i < 2; i++)
		check(pthread_create(&threads[i], NULL, load, NULL), "pthread_create");
	for (int i = 0; i < forks; i++) {
		pid_t child = fork();
		int status;

		if (!child) {
			alarm(60);
			dl_iterate_phdr(see, NULL);
			if (i % 3 == 0)
				_exit(threads_here() != 1);
			if (i % 3 == 1)
				exit(cudaMemset(device.data, 0, 16) == cudaSuccess);
			execlp("true", "true", (char *)NULL);
			_exit(1);
		}
		wrong += waitpid(child, &status, 0) != child || status;
	}
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%d forks, %d wrong\n", forks, wrong);
}

int main(int argc, char **argv)
{
	const struct {
		const char *name;
		void (*run)(void);
	} ways[] = {{"leaf", use_cuda},      {"before", before},    {"after", after},
		    {"vfork", by_vfork},     {"spawn", by_spawn},   {"twice", twice},
		    {"workers", workers},    {"daemon", daemonize}, {"exec", by_exec},
		    {"list", start_listers}, {"idle", idle}};

	note_descriptors();
	self = argv[0];
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (!strcmp(argv[1], ways[i].name))
			ways[i].run();
	}
	if (argc > 2 && !strcmp(argv[1], "storm"))
		storm(atoi(argv[2]), load_as_ever);
	if (argc > 2 && !strcmp(argv[1], "storm-again"))
		storm(atoi(argv[2]), load_anew);
	return 0;
}
