/* SPDX-License-Identifier: Apache-2.0
 *
 * Host functions in streams (cuLaunchHostFunc, cuStreamAddCallback, graph host nodes): one thread
 * of the driver runs them, each at the time its stream reached it. Started with the first one.
 */
#include "driver/driver.h"

#include <stdlib.h>

struct entry {
	struct CUstream_st *stream;
	CUhostFn function;
	void *data;
	struct sim_host_function told; /* start: when the stream reaches it */
	struct entry *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct entry *queue; /* sorted by time */
static bool running;

/* Work that was submitted before it ended begins when the timeline says, after SIMCUDA_HOST_NS. */
static void run(struct entry *entry)
{
	struct sim_host_function *told = &entry->told;
	uint64_t before;

	sim_wait_until(told->start);
	before = sim_now();
	if (before > told->start)
		told->start = before;
	entry->function(entry->data);
	told->end = told->start + (sim_now() - before);
	sim_stream_delay(entry->stream, told->end);
	sim_client_host_function(told);
	atomic_fetch_sub(&entry->stream->host_functions, 1);
	free(entry);
}

static void *run_all(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		while (!queue)
			pthread_cond_wait(&changed, &mutex);
		struct entry *first = queue;
		queue = first->next;
		pthread_mutex_unlock(&mutex);
		run(first);
		pthread_mutex_lock(&mutex);
		pthread_cond_broadcast(&changed);
	}
	return unused;
}

void sim_host_function_queue(struct CUstream_st *stream, const struct sim_work *work, uint64_t at,
			     uint32_t graph, uint64_t node)
{
	struct entry *new = malloc(sizeof(*new));
	pthread_t thread;

	if (!new)
		return;
	*new = (struct entry){.stream = stream,
			      .function = work->host.function,
			      .data = work->host.data,
			      .told = {.correlation = sim_current_correlation(),
				       .device = (uint32_t)stream->context->device->ordinal,
				       .context = stream->context->id,
				       .stream = stream->id,
				       .graph = graph,
				       .node = node,
				       .start = at}};
	atomic_fetch_add(&stream->host_functions, 1);
	pthread_mutex_lock(&mutex);
	struct entry **place = &queue;
	while (*place && (*place)->told.start <= at)
		place = &(*place)->next;
	new->next = *place;
	*place = new;
	if (!running && !pthread_create(&thread, NULL, run_all, NULL)) {
		pthread_detach(thread);
		running = true;
	}
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

void sim_stream_wait_host(struct CUstream_st *stream)
{
	if (sim_likely(!atomic_load(&stream->host_functions)))
		return;
	pthread_mutex_lock(&mutex);
	while (atomic_load(&stream->host_functions))
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

void sim_host_function_done(struct CUstream_st *stream)
{
	pthread_mutex_lock(&mutex);
	atomic_fetch_sub(&stream->host_functions, 1);
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
}

CUresult sim_cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);
	struct sim_work work = {
		.kind = SIM_WORK_HOST, .ns = sim_options.host_ns, .host = {function, data}};

	if (result)
		return result;
	return function ? sim_submit(stream, &work) : CUDA_ERROR_INVALID_VALUE;
}

struct stream_callback {
	CUstreamCallback function;
	CUstream stream;
	void *data;
};

static void run_stream_callback(void *data)
{
	struct stream_callback *callback = data;

	callback->function(callback->stream, CUDA_SUCCESS, callback->data);
	free(callback);
}

CUresult sim_cuStreamAddCallback(CUstream handle, CUstreamCallback function, void *data,
				 unsigned int flags)
{
	struct stream_callback *callback = malloc(sizeof(*callback));

	if (!callback)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*callback = (struct stream_callback){function, handle, data};
	return sim_cuLaunchHostFunc(handle, run_stream_callback, callback);
}
