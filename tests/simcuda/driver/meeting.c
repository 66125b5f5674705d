/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that wait for others, as NCCL's: where they end is known only when the others have begun.
 * Each has a thread that waits for that; what is submitted behind one waits, too, as its place on
 * the timeline is decided when it is submitted.
 */
#include "driver/driver.h"

#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

struct guest {
	struct CUstream_st *stream;
	struct sim_meeting meeting;
	struct sim_op op;
};

static void *attend(void *data)
{
	struct guest *guest = data;
	struct CUstream_st *stream = guest->stream;

	guest->op.end = guest->meeting.end(guest->meeting.data, guest->op.start);
	sim_stream_delay(stream, guest->op.end);
	pthread_mutex_lock(&mutex);
	atomic_fetch_sub(&stream->meetings, 1);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	sim_work_tell(&guest->op);
	sim_wait_until(guest->op.end);
	sim_host_function_done(stream);
	free(guest);
	return NULL;
}

bool sim_meeting_attend(struct CUstream_st *stream, const struct sim_meeting *meeting,
			const struct sim_op *op)
{
	struct guest *guest = malloc(sizeof(*guest));
	pthread_t thread;

	if (!guest)
		return false;
	*guest = (struct guest){.stream = stream, .meeting = *meeting, .op = *op};
	atomic_fetch_add(&stream->meetings, 1);
	atomic_fetch_add(&stream->host_functions, 1);
	if (pthread_create(&thread, NULL, attend, guest)) {
		attend(guest);
		return true;
	}
	pthread_detach(thread);
	return true;
}

void sim_meeting_wait(struct CUstream_st *stream)
{
	if (sim_likely(!atomic_load(&stream->meetings)))
		return;
	pthread_mutex_lock(&mutex);
	while (atomic_load(&stream->meetings))
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

bool sim_meeting_next(uint64_t (*end)(void *data, uint64_t start), void *data)
{
	bool was_there = sim_self.meeting.end != NULL;

	sim_self.meeting = (struct sim_meeting){end, data};
	return was_there;
}
