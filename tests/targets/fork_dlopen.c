/* SPDX-License-Identifier: Apache-2.0
 *
 * Forks many times while another thread launches, and loads a library in each child: a lock of the
 * loader that a thread of the tracer held at the fork would never be released there.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define FORKS 1500

static _Atomic int stop;
static void *memory;

static void *launch(void *unused)
{
	while (!atomic_load(&stop)) {
		for (int i = 0; i < 200; i++)
			cudaMemset(memory, i, 4);
		usleep(1);
	}
	return unused;
}

static int child_hangs(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		alarm(20); /* ends a child in which the lock is held */
		dlopen("libresolv.so.2", RTLD_NOW);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

int main(void)
{
	pthread_t thread;
	int hangs = 0;

	if (cudaMalloc(&memory, 4096))
		return 1;
	pthread_create(&thread, NULL, launch, NULL);
	for (int i = 0; i < FORKS && hangs == 0; i++)
		hangs += child_hangs();
	atomic_store(&stop, 1);
	pthread_join(thread, NULL);
	printf("%d children hung\n", hangs);
	return hangs != 0;
}
