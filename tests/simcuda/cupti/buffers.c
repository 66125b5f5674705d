/* SPDX-License-Identifier: Apache-2.0
 *
 * Activity buffers: asked from the client when a record needs one, on the thread that makes the
 * record; handed back full by the worker thread, or by a flush on the thread that flushes. One
 * buffer for all, or one per thread (the default from 13.0 on). One mutex, released while the
 * client is called; cupti_lock stays held then when the lock switch says so.
 *
 * Work of the GPU has its place in a buffer from its launch on. A default flush "doesn't return
 * buffers which have one or more incomplete records" (cuptiActivityFlushAll in cupti_activity.h); a
 * forced one does.
 */
#include "cupti/cupti_sim.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FIRST_RELEASE_FLUSHES 20
#define THIEF_BYTES           61440
#define MIN_RECORD            512 /* a buffer must hold any one record */

struct buffer {
	uint8_t *data;
	size_t size;
	size_t used;
	size_t reserved; /* bytes for the records of work that is under way */
	size_t open;     /* how many */
	size_t records;
	size_t max_records;
	struct buffer *next;
};

/* Where a thread, or all of them, put records. */
struct slot {
	struct buffer *current;
	uint64_t begun; /* when it got its buffer */
	struct slot *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static pthread_cond_t delivered = PTHREAD_COND_INITIALIZER;
static int delivering;      /* buffers that the client is being given right now */
static struct buffer *full; /* newest first */
static struct buffer *held; /* no room is left, and a record is incomplete */
static __thread struct cupti_place *destination;
static struct slot *slots;
static struct slot shared_slot;
static __thread struct slot *own_slot;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static size_t dropped;
static bool worker_runs;
static uint32_t period_ms;
static pid_t worker_pid;
static _Atomic bool asked; /* for a buffer, ever */
static uint64_t records_made;
/* The thief of the steal switch: a second client that registered its own callbacks. As Kineto does,
 * it leaves a buffer alone that it did not hand out; its own are known by their size. */
static void thief_request(uint8_t **data, size_t *size, size_t *max_records)
{
	*size = THIEF_BYTES;
	*max_records = 0;
	*data = aligned_alloc(8, *size);
}

static void thief_complete(CUcontext context, uint32_t stream, uint8_t *data, size_t size,
			   size_t valid)
{
	if (size == THIEF_BYTES)
		free(data);
}

static void steal_when_due(void)
{
	if (!cupti.faults.steal || ++records_made != cupti.faults.steal)
		return;
	request = thief_request;
	complete = thief_complete;
	cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"steal\",\"after\":%llu}\n",
			   (unsigned long long)records_made);
}

/* Caller holds mutex; it is released while the client is asked. NULL: the client refused. */
static struct buffer *buffer_new(void)
{
	struct buffer *buffer = calloc(1, sizeof(*buffer));
	CUpti_BuffersCallbackRequestFunc ask = request;
	bool clear = !cupti_attribute_zeroed();

	if (!buffer || !ask) {
		free(buffer);
		return NULL;
	}
	pthread_mutex_unlock(&mutex);
	cupti_lock();
	asked = true;
	ask(&buffer->data, &buffer->size, &buffer->max_records);
	if (buffer->data && cupti.faults.poison)
		memset(buffer->data, 0xdb, buffer->size);
	else if (buffer->data && clear)
		memset(buffer->data, 0, buffer->size);
	cupti_unlock();
	pthread_mutex_lock(&mutex);
	if (buffer->data && buffer->size >= MIN_RECORD)
		return buffer;
	free(buffer);
	return NULL;
}

static struct slot *slot_here(void)
{
	if (!cupti_attribute_per_thread())
		return &shared_slot;
	if (!own_slot && (own_slot = calloc(1, sizeof(*own_slot)))) {
		own_slot->next = slots;
		slots = own_slot;
	}
	return own_slot ? own_slot : &shared_slot;
}

static bool has_room(const struct buffer *buffer, size_t size)
{
	return buffer && buffer->size - buffer->used - buffer->reserved >= size &&
	       (!buffer->max_records || buffer->records + buffer->open < buffer->max_records);
}

static void push(struct buffer **list, struct buffer *buffer)
{
	buffer->next = *list;
	*list = buffer;
}

static void retire(struct slot *slot)
{
	if (!slot->current)
		return;
	push(slot->current->open ? &held : &full, slot->current);
	slot->current = NULL;
	pthread_cond_signal(&work);
}

/* Its last record is complete: of those that are held it can go. */
static void let_go(struct buffer *buffer)
{
	struct buffer **at = &held;

	while (*at && *at != buffer)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = buffer->next;
	push(&full, buffer);
	pthread_cond_signal(&work);
}

/* A buffer with that much room, asked from the client if need be; while it is asked, other threads
 * may bring and even fill one. NULL: the client refused. Caller holds mutex. */
static struct buffer *buffer_for(struct slot *slot, size_t size)
{
	while (!has_room(slot->current, size)) {
		retire(slot);
		struct buffer *fresh = buffer_new();
		if (!slot->current) {
			slot->current = fresh;
			slot->begun = cupti_time();
		} else if (fresh) { /* another thread was faster: the spare goes back empty */
			push(&full, fresh);
		}
		if (!fresh && !slot->current)
			return NULL;
	}
	return slot->current;
}

/* A thread of the driver, as each kernel that waits for others has one, makes no calls: CUPTI would
 * know nothing of it. */
static struct slot *slot_of_launch(void)
{
	return cupti.table->current_correlation() ? slot_here() : &shared_slot;
}

struct cupti_place cupti_buffers_reserve(size_t size)
{
	struct cupti_place place = {.size = size};

	pthread_mutex_lock(&mutex);
	place.buffer = buffer_for(slot_of_launch(), size);
	if (place.buffer) {
		place.buffer->reserved += size;
		place.buffer->open++;
	} else {
		dropped++;
	}
	pthread_mutex_unlock(&mutex);
	return place;
}

/* Caller holds mutex. */
static void append(struct buffer *buffer, const void *record, size_t size)
{
	memcpy(buffer->data + buffer->used, record, size);
	buffer->used += size;
	buffer->records++;
}

/* The record at @place is complete, or will never be. */
void cupti_buffers_release(struct cupti_place *place)
{
	struct buffer *buffer = place->buffer;

	if (!buffer)
		return;
	pthread_mutex_lock(&mutex);
	buffer->reserved -= place->size;
	if (--buffer->open == 0)
		let_go(buffer);
	pthread_mutex_unlock(&mutex);
	place->buffer = NULL;
}

void cupti_buffers_begin(struct cupti_place *place)
{
	destination = place;
}

void cupti_buffers_end(struct cupti_place *place)
{
	destination = NULL;
	cupti_buffers_release(place);
}

/* The first record of the operation goes where its place is. */
static bool put_in_place(const void *record, size_t size)
{
	struct cupti_place *place = destination;

	if (!place || size != place->size)
		return false;
	destination = NULL;
	if (place->buffer) {
		place->buffer->reserved -= size; /* what it kept room for is there */
		place->size = 0;
		append(place->buffer, record, size);
	}
	return true;
}

void cupti_buffers_put(const void *record, size_t size)
{
	struct buffer *buffer;

	pthread_mutex_lock(&mutex);
	steal_when_due();
	if (!put_in_place(record, size)) {
		buffer = buffer_for(slot_here(), size);
		if (buffer)
			append(buffer, record, size);
		else
			dropped++;
	}
	pthread_mutex_unlock(&mutex);
}

static void deliver(struct buffer *buffer, CUpti_BuffersCallbackCompleteFunc tell)
{
	uint64_t start = cupti_time();
	uint8_t *copy;

	if (cupti.faults.shuffle)
		cupti_contents_shuffle(buffer->data, buffer->used);
	if (cupti.faults.invalid_last)
		cupti_contents_spoil_last(buffer->data, buffer->used);
	copy = malloc(buffer->used + 1);
	if (copy)
		memcpy(copy, buffer->data, buffer->used);
	cupti_lock();
	if (tell)
		tell(NULL, 0, buffer->data, buffer->size, buffer->used);
	cupti_unlock();
	cupti_contents_tell(copy, buffer->used);
	free(copy);
	if (cupti.faults.poison_complete)
		memset(buffer->data, 0xdb, buffer->size);
	if (buffer->used)
		cupti_record_overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, 0, start,
				      cupti_time());
	free(buffer);
}

/* Hands all full buffers to the client, oldest first. Caller holds mutex. */
static void deliver_full(void)
{
	while (full) {
		struct buffer **last = &full;

		while ((*last)->next)
			last = &(*last)->next;
		struct buffer *oldest = *last;
		CUpti_BuffersCallbackCompleteFunc tell = complete;
		*last = NULL;
		delivering++;
		pthread_mutex_unlock(&mutex);
		deliver(oldest, tell);
		pthread_mutex_lock(&mutex);
		delivering--;
		pthread_cond_broadcast(&delivered);
	}
}

/* Caller holds mutex. */
static void wait_for_deliveries(void)
{
	while (delivering)
		pthread_cond_wait(&delivered, &mutex);
}

/* With late_threads all but the first thread, the last in the list, keep theirs for a while. */
static void retire_complete(struct slot *slot, bool forced)
{
	uint64_t until = slot->next ? slot->begun + cupti.faults.late_threads : 0;

	if (slot->current && !slot->current->open && (forced || cupti_time() >= until))
		retire(slot);
}

/* Only the first and the forced ones: a program's end would wait for each of them. */
static void delay_flush(bool forced)
{
	static _Atomic bool begun;
	uint64_t first = cupti.faults.slow_flush && !atomic_exchange(&begun, true)
				 ? cupti.faults.slow_flush
				 : 0;
	uint64_t ns = first + (forced ? cupti.faults.slow_forced_flush : 0);
	struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};

	if (ns)
		nanosleep(&pause, NULL);
}

/* Until 13.0 Update 1 it could crash; which calls did is not known. */
static void crash_of_first_release(void)
{
	static _Atomic unsigned int flushes;

	if (cupti.faults.first_release &&
	    atomic_fetch_add(&flushes, 1) + 1 == FIRST_RELEASE_FLUSHES) {
		cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"flush\"}\n");
		__builtin_trap(); /* a signal that is blocked would wait */
	}
}

/* The fault flush=hang_locked: a lock that CUPTI has inside, which not all calls take. */
static pthread_mutex_t inner = PTHREAD_MUTEX_INITIALIZER;

static void hang_if_asked(void)
{
	if (cupti.faults.locked_flush_hangs)
		pthread_mutex_lock(&inner);
	while (cupti.faults.locked_flush_hangs || cupti.faults.flush_hangs ||
	       (cupti.faults.unused_flush_hangs && !asked))
		pause();
}

/* A delivery leaves a record of itself in the buffer of its thread: one that has begun before is
 * over first, or that buffer would come after the flush. */
static CUptiResult flush(bool forced)
{
	crash_of_first_release();
	hang_if_asked();
	delay_flush(forced);
	pthread_mutex_lock(&mutex);
	wait_for_deliveries();
	pthread_mutex_unlock(&mutex);
	cupti_lock();
	cupti_pending_flush(forced);
	pthread_mutex_lock(&mutex);
	retire_complete(&shared_slot, forced);
	for (struct slot *slot = slots; slot; slot = slot->next)
		retire_complete(slot, forced);
	deliver_full();
	cupti_unlock();
	wait_for_deliveries();
	pthread_mutex_unlock(&mutex);
	return CUPTI_SUCCESS;
}

CUptiResult cupti_buffers_flush(bool forced)
{
	static _Atomic int inside;
	CUptiResult result;

	if (atomic_fetch_add(&inside, 1) && cupti.table)
		cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"two_flushes\",\"pid\":%d}\n",
				   (int)getpid());
	result = flush(forced);
	atomic_fetch_sub(&inside, 1);
	return result;
}

static void forget(struct slot *slot)
{
	free(slot->current);
	slot->current = NULL;
}

static void forget_list(struct buffer **list)
{
	while (*list) {
		struct buffer *next = (*list)->next;

		free(*list);
		*list = next;
	}
}

/* Their memory is the client's, and stays what it is. */
void cupti_buffers_drop(void)
{
	pthread_mutex_lock(&mutex);
	forget(&shared_slot);
	for (struct slot *slot = slots; slot; slot = slot->next)
		forget(slot);
	forget_list(&full);
	forget_list(&held);
	request = NULL;
	complete = NULL;
	period_ms = 0;
	dropped = 0;
	pthread_mutex_unlock(&mutex);
	cupti_attributes_reset();
}

/* Caller holds mutex. */
static size_t lose_from(struct buffer *list, uint32_t context)
{
	size_t all = 0, lost;

	for (; list; list = list->next, all += lost) {
		lost = cupti_contents_lose(list->data, &list->used, context);
		list->records -= lost;
	}
	return all;
}

/* What of a context that is about to go was not delivered. */
void cupti_buffers_lose(uint32_t context)
{
	pthread_mutex_lock(&mutex);
	size_t lost = lose_from(full, context) + lose_from(held, context) +
		      lose_from(shared_slot.current, context);
	for (struct slot *slot = slots; slot; slot = slot->next)
		lost += lose_from(slot->current, context);
	pthread_mutex_unlock(&mutex);
	if (lost)
		cupti.table->truth(
			"{\"truth\":\"fault\",\"fault\":\"context_gone\",\"records\":%zu}\n", lost);
}

/* Caller holds mutex. */
static void clear_times(struct buffer *list)
{
	for (; list; list = list->next)
		cupti_contents_clear_times(list->data, list->used);
}

/* A client has registered its clock: CUPTI 13.0 gives what it has not delivered yet no times. */
void cupti_buffers_clear_times(void)
{
	pthread_mutex_lock(&mutex);
	clear_times(full);
	clear_times(held);
	clear_times(shared_slot.current);
	for (struct slot *slot = slots; slot; slot = slot->next)
		clear_times(slot->current);
	pthread_mutex_unlock(&mutex);
}

void cupti_buffers_count_dropped(void)
{
	pthread_mutex_lock(&mutex);
	dropped++;
	pthread_mutex_unlock(&mutex);
}

static void worker_wait(void)
{
	struct timespec until;
	uint32_t ms = period_ms ? period_ms : 100;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(ms % 1000) * 1000000;
	until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&work, &mutex, &until);
}

static void *work_on(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		if (full) {
			deliver_full();
			continue;
		}
		pthread_mutex_unlock(&mutex);
		bool busy = cupti_pending_any();
		if (busy)
			cupti_pending_write();
		pthread_mutex_lock(&mutex);
		if (full)
			continue;
		if (busy || period_ms)
			worker_wait();
		else
			pthread_cond_wait(&work, &mutex);
	}
	return unused;
}

void cupti_buffers_start_worker(void)
{
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	if (!worker_runs || worker_pid != getpid())
		worker_runs = !pthread_create(&thread, NULL, work_on, NULL);
	if (worker_runs && worker_pid != getpid())
		pthread_detach(thread);
	worker_pid = getpid();
	pthread_mutex_unlock(&mutex);
}

void cupti_buffers_wake(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&mutex);
}

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
						    CUpti_BuffersCallbackCompleteFunc completed)
{
	if (!requested || !completed)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	pthread_mutex_lock(&mutex);
	request = requested;
	complete = completed;
	pthread_mutex_unlock(&mutex);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream,
						       size_t *ret_dropped)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!ret_dropped)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	cupti_lock();
	pthread_mutex_lock(&inner);
	pthread_mutex_lock(&mutex);
	*ret_dropped = dropped;
	dropped = 0;
	pthread_mutex_unlock(&mutex);
	pthread_mutex_unlock(&inner);
	cupti_unlock();
	return CUPTI_SUCCESS;
}

static bool are_registered(void)
{
	pthread_mutex_lock(&mutex);
	bool are = request != NULL;
	pthread_mutex_unlock(&mutex);
	return are;
}

CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!are_registered())
		return cupti_fail(CUPTI_ERROR_INVALID_OPERATION);
	return cupti_buffers_flush(flag & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext context, uint32_t stream, uint32_t flag)
{
	return cuptiActivityFlushAll(flag);
}

CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t ms)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	pthread_mutex_lock(&mutex);
	period_ms = ms;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&mutex);
	return CUPTI_SUCCESS;
}
