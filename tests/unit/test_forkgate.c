/* SPDX-License-Identifier: Apache-2.0
 *
 * The gate between fork and the loader: requests while a fork runs, and the state in a child.
 */
#include "core/guest/forkgate.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/guest/futex.h"

static sem_t waiting, over; /* the thread waits for the fork; the fork is over */
static pthread_t thread;
static bool fork_waits, answer;
static _Atomic int waits;

/* Replaces the sleep: the first one ends with the fork, however long that takes. */
void gt_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t timeout_ns)
{
	(void)word;
	(void)seen;
	(void)timeout_ns;
	if (atomic_fetch_add(&waits, 1) || fork_waits)
		return;
	sem_post(&waiting);
	sem_wait(&over);
}

static void *ask(void *argument)
{
	answer = gt_forkgate_timedlock();
	if (answer)
		gt_forkgate_unlock();
	return argument;
}

/* The gate's own handler, registered later, has closed it. */
static void inside_fork(void)
{
	cr_assert_not(gt_forkgate_trylock());
	pthread_create(&thread, NULL, ask, NULL);
	if (fork_waits)
		pthread_join(thread, NULL);
	else
		sem_wait(&waiting);
}

static void fork_once(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void ask_inside_fork(void)
{
	sem_init(&waiting, 0, 0);
	sem_init(&over, 0, 0);
	pthread_atfork(inside_fork, NULL, NULL);
	cr_assert(gt_forkgate_trylock());
	gt_forkgate_unlock();
	fork_once();
}

Test(forkgate, a_fork_is_waited_for)
{
	ask_inside_fork();
	sem_post(&over);
	pthread_join(thread, NULL);
	cr_assert(answer);
}

Test(forkgate, a_fork_that_does_not_end_keeps_it_closed)
{
	fork_waits = true;
	ask_inside_fork();
	cr_assert_not(answer);
	cr_assert(gt_forkgate_timedlock());
	gt_forkgate_unlock();
}

/* In the child of a fork by the thread that is in the loader. */
Test(forkgate, who_leaves_in_a_child_had_entered_in_its_parent)
{
	pid_t child;
	int status;

	fork_waits = true;
	cr_assert(gt_forkgate_trylock());
	child = fork(); /* waits for this very thread, as long as it may */
	if (!child) {
		gt_forkgate_unlock();
		waits = 0;
		fork_once();
		_exit(waits != 0);
	}
	gt_forkgate_unlock();
	waitpid(child, &status, 0);
	cr_assert_eq(status, 0);
}
