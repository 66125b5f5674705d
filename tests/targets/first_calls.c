/* SPDX-License-Identifier: Apache-2.0
 *
 * First calls of a library while the loader is busy. Linked with one cuBLAS (LINKED), or with none:
 * then each plug-in brings one for itself alone. Prints what each call returned.
 *
 *   first_calls constructor PLUG WAITING   by a thread that WAITING's constructor waits for
 *   first_calls own PLUG                   by a thread that the constructor of PLUG waits for
 *   first_calls fork PLUG WAITING          in children of a process that opens and closes WAITING
 *   first_calls closing PLUG WAITING       in a thread, WAITING being opened and closed all the
 * time first_calls scopes PLUG GLOBAL PLUG    of a plug-in, before and after one was opened for all
 *   first_calls cost PLUG                  ns of the first calls of its functions, and of later
 * ones
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FORKS   60
#define PATIENT 20000 /* ms */

#ifdef LINKED
int cublasGetProperty(int what, int *value);
int (*const linked)(int what, int *value) = cublasGetProperty; /* needed */
#endif

typedef int (*call_fn)(int function);

void in_constructor(call_fn call);

static call_fn first;
static _Atomic int go, done;

static void nap(void)
{
	nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void *call_one(void *context)
{
	(void)context;
	while (!atomic_load(&go))
		nap();
	atomic_store(&done, first(0));
	return NULL;
}

/* Called by what is opened, or nothing is to be waited for. */
void in_constructor(call_fn call)
{
	pthread_t thread;
	int i = 0;

	if (atomic_load(&go))
		return;
	if (call) {
		first = call;
		pthread_create(&thread, NULL, call_one, NULL);
		pthread_detach(thread);
	}
	atomic_store(&go, 1);
	for (; i < PATIENT && !atomic_load(&done); i++)
		nap();
	printf("%s: %d\n", i < PATIENT ? "in time" : "late", atomic_load(&done));
}

static void *open_plug(const char *path, int mode)
{
	void *handle = dlopen(path, RTLD_NOW | mode);

	if (!handle) {
		puts(dlerror());
		exit(1);
	}
	return handle;
}

static call_fn call_of(const char *path)
{
	return (call_fn)dlsym(open_plug(path, RTLD_LOCAL), "call");
}

static int constructor(char **paths)
{
	pthread_t thread;

	first = call_of(paths[0]);
	pthread_create(&thread, NULL, call_one, NULL);
	open_plug(paths[1], RTLD_LOCAL);
	return pthread_join(thread, NULL);
}

static void *churn(void *path)
{
	while (!atomic_load(&done))
		dlclose(open_plug(path, RTLD_LOCAL));
	return NULL;
}

static int in_child(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		alarm(PATIENT / 1000);
		_exit(first(0) + first(1) + first(2));
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int forks(char **paths)
{
	pthread_t thread;
	int sum = 0;

	first = call_of(paths[0]);
	atomic_store(&go, 1);
	pthread_create(&thread, NULL, churn, paths[1]);
	for (int i = 0; i < FORKS && sum >= 0; i++) {
		int one = in_child();

		sum = one < 0 ? -1 : sum + one;
	}
	atomic_store(&done, 1);
	printf("%d\n", sum);
	return pthread_join(thread, NULL);
}

static int closing(char **paths)
{
	pthread_t thread;
	int sum = 0;

	atomic_store(&go, 1);
	pthread_create(&thread, NULL, churn, paths[1]);
	for (int i = 0; i < FORKS; i++) {
		void *handle = open_plug(paths[0], RTLD_LOCAL);

		sum += ((call_fn)dlsym(handle, "call"))(i % 3);
		dlclose(handle);
	}
	atomic_store(&done, 1);
	printf("%d\n", sum);
	return pthread_join(thread, NULL);
}

static int scopes(char **paths)
{
	call_fn one;

	atomic_store(&go, 1);
	one = call_of(paths[0]);
	printf("%d\n", one(0));
	open_plug(paths[1], RTLD_GLOBAL);
	printf("%d %d\n", call_of(paths[2])(0), one(0));
	return 0;
}

static long ns_of(call_fn call, int function)
{
	struct timespec from, to;

	clock_gettime(CLOCK_MONOTONIC, &from);
	call(function);
	clock_gettime(CLOCK_MONOTONIC, &to);
	return (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
}

static int cost(char **paths)
{
	call_fn call;

	atomic_store(&go, 1);
	call = call_of(paths[0]);
	for (int i = 0; i < 6; i++)
		printf("%s %d: %ld ns\n", i < 3 ? "first" : "later", i % 3, ns_of(call, i % 3));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **paths);
		int paths;
	} modes[] = {{"constructor", constructor, 2},
		     {"fork", forks, 2},
		     {"closing", closing, 2},
		     {"scopes", scopes, 3},
		     {"cost", cost, 1}};

	if (argc == 3 && !strcmp(argv[1], "own"))
		return !open_plug(argv[2], RTLD_LOCAL);
	for (size_t i = 0; argc > 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name) && argc == modes[i].paths + 2)
			return modes[i].run(argv + 2);
	return 2;
}
