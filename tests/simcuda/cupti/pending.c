/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations whose end is still to come. The record has its place in a buffer from the launch on,
 * and is written there once its operation is done: when a host thread synchronizes, on a flush, by
 * the worker, or when too many wait. Any thread.
 */
#include "cupti/cupti_sim.h"

#include <stdlib.h>
#include <time.h>
#include <string.h>

#define ENOUGH 256

struct pending {
	struct sim_op op;
	struct cupti_place place; /* of its record */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER; /* taken first */
static struct pending *waiting;
static size_t count;
static size_t room;
static size_t next_look; /* look through the list when it is that long */

/* Moves what is done to the end of the list; returns how many are not. Caller holds mutex. */
static size_t take_done(struct pending **ret_done, size_t *ret_count, bool all, uint64_t until)
{
	size_t kept = 0, taken = 0;
	struct pending *done = malloc(count * sizeof(*done));

	if (!done)
		return count;
	for (size_t i = 0; i < count; i++) {
		if (all || waiting[i].op.end <= until)
			done[taken++] = waiting[i];
		else
			waiting[kept++] = waiting[i];
	}
	*ret_done = done;
	*ret_count = taken;
	return kept;
}

static void write_one(struct pending *one, bool is_complete)
{
	cupti_buffers_begin(&one->place);
	cupti_record_operation(&one->op, is_complete);
	cupti_buffers_end(&one->place);
}

static void write_all(struct pending *all, size_t taken, uint64_t until)
{
	for (size_t i = 0; i < taken; i++)
		if (all[i].op.end <= until)
			write_one(&all[i], true);
	for (size_t i = 0; i < taken; i++)
		if (all[i].op.end > until)
			write_one(&all[i], false);
}

/* Caller holds writing. */
static void write_done(bool forced)
{
	uint64_t until = cupti.table->done_until();
	struct pending *done = NULL;
	size_t taken = 0;

	pthread_mutex_lock(&mutex);
	if (count)
		count = take_done(&done, &taken, forced, until);
	next_look = count * 2 + ENOUGH;
	pthread_mutex_unlock(&mutex);
	write_all(done, taken, until);
	free(done);
}

/* Leaves it to a thread that already writes. */
void cupti_pending_write(void)
{
	if (pthread_mutex_trylock(&writing))
		return;
	write_done(false);
	pthread_mutex_unlock(&writing);
}

/* Waits for a thread that already writes: it may have begun before the newest operation ended.
 * Forced takes unfinished operations too; their records cannot be read. */
void cupti_pending_flush(bool forced)
{
	pthread_mutex_lock(&writing);
	write_done(forced);
	pthread_mutex_unlock(&writing);
}

static void delay_record(void)
{
	uint64_t ns = cupti.faults.slow_record;

	if (ns)
		nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
					     .tv_nsec = (long)(ns % 1000000000u)},
			  NULL);
}

void cupti_pending_add(const struct sim_op *op)
{
	struct pending one = {.op = *op, .place = cupti_buffers_reserve(cupti_operation_size(op))};

	delay_record();
	pthread_mutex_lock(&mutex);
	if (count == room) {
		size_t bigger = room ? room * 2 : 1024;
		struct pending *grown = realloc(waiting, bigger * sizeof(*grown));

		if (!grown) {
			pthread_mutex_unlock(&mutex);
			cupti_buffers_release(&one.place);
			return;
		}
		waiting = grown;
		room = bigger;
	}
	waiting[count++] = one;
	bool look = count >= (next_look ? next_look : ENOUGH);
	bool first = count == 1;
	pthread_mutex_unlock(&mutex);
	if (look)
		cupti_pending_write();
	if (first)
		cupti_buffers_wake();
}

bool cupti_pending_any(void)
{
	pthread_mutex_lock(&mutex);
	bool any = count > 0;
	pthread_mutex_unlock(&mutex);
	return any;
}

void cupti_pending_drop(void)
{
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < count; i++)
		cupti_buffers_release(&waiting[i].place);
	count = 0;
	pthread_mutex_unlock(&mutex);
}

/* Their records will never be written: the context is about to go. */
void cupti_pending_lose(uint32_t context)
{
	size_t kept = 0;

	pthread_mutex_lock(&writing);
	pthread_mutex_lock(&mutex);
	for (size_t i = 0; i < count; i++) {
		if (waiting[i].op.context == context)
			cupti_buffers_release(&waiting[i].place);
		else
			waiting[kept++] = waiting[i];
	}
	count = kept;
	pthread_mutex_unlock(&mutex);
	pthread_mutex_unlock(&writing);
}
