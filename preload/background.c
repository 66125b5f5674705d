/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/background.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>

static struct {
	cpu_set_t processors;
	bool known;
} at_load;

void gt_background_see_processors(void)
{
	at_load.known = sched_getaffinity(0, sizeof(at_load.processors), &at_load.processors) == 0;
}

/* No signal of the program may run a handler on our thread; SIGPIPE and SIGXFSZ stay blocked too,
 * so a broken output is an error code (REQ-66, 83). */
int gt_background_start(void *(*run)(void *), void *argument, size_t stack_bytes)
{
	pthread_attr_t attributes;
	sigset_t all, old;
	pthread_t thread;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(&thread, &attributes, run, argument);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attributes);
	return -error;
}

void gt_background_enter(const char *name)
{
	prctl(PR_SET_NAME, name, 0, 0, 0);
	if (at_load.known) /* not with the one that the starting thread was pinned to (REQ-66) */
		sched_setaffinity(0, sizeof(at_load.processors), &at_load.processors);
}
