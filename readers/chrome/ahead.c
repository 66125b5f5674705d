/* SPDX-License-Identifier: Apache-2.0
 *
 * See ahead.h. Each chunk has a place in a ring; the threads claim chunks in order, the reader
 * those that nobody has claimed when it needs them, or while it waits for one.
 */
#include "readers/chrome/ahead.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readers/chrome/fields.h"
#include "readers/vec.h"

#define PLACES      6                  /* chunks in memory */
#define MAX_THREADS 3                  /* the reader's own work is a third of all */
#define BEHIND      ((size_t)16 << 10) /* read behind a chunk, to the end of its last event */
#define MAX_GUESSES 16                 /* of the first event in a chunk */

struct gt_ahead_limits gt_ahead_limits = {128u << 10, 4u << 20, MAX_THREADS, 0};

#define HEAD offsetof(struct gt_trace_event, arg)

/* What is kept of an event. */
struct packed_event {
	uint64_t byte;
	struct gt_ahead_event event;
	size_t first_arg; /* in args of its place */
	_Alignas(struct gt_trace_event) char head[HEAD];
};

enum place_state {
	PLACE_DONE, /* or never used */
	PLACE_CLAIMED,
};

/* A chunk of the file and its events. */
struct place {
	enum place_state state;
	char *text; /* of the chunk, what is behind it, and padding */
	GT_VEC(struct packed_event) events;
	GT_VEC(struct gt_span) args;
};

struct gt_ahead {
	int fd;
	size_t chunk;
	uint64_t first, end; /* bytes of the file */
	char pattern[GT_AHEAD_PATTERN];
	size_t pattern_size;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	uint64_t next;    /* the first chunk that nobody has claimed */
	uint64_t current; /* chunk that the reader is in */
	bool stopping;
	struct place places[PLACES];
	/* the reader's */
	size_t at; /* in the events of the current chunk */
	bool is_open;
	struct gt_fields taker; /* for the chunks that the reader scans */
	unsigned thread_count;
	pthread_t threads[MAX_THREADS];
};

/* Readings under way in this process, each of which has a core. */
static atomic_uint readings;

/* ---- a chunk ---- */

static bool keep(struct place *place, const struct gt_trace_event *record,
		 const struct gt_ahead_event *event, uint64_t byte)
{
	struct packed_event *to;

	if (!gt_vec_grow(&place->events))
		return false;
	to = &place->events.at[place->events.count];
	to->byte = byte;
	to->event = *event;
	to->first_arg = place->args.count;
	memcpy(to->head, record, HEAD);
	for (uint64_t left = record->arg_mask; left; left &= left - 1)
		if (!gt_vec_push(&place->args, record->arg[__builtin_ctzll(left)]))
			return false;
	place->events.count++;
	return true;
}

static uint32_t count_lines(const char *from, const char *to)
{
	uint32_t lines = 0;

	while ((from = memchr(from, '\n', (size_t)(to - from)))) {
		lines++;
		from++;
	}
	return lines;
}

/* What is behind an event that ends at @behind: the next one, if a comma is between them. */
static const char *find_next(struct gt_ahead_event *event, const char *behind)
{
	const char *next = gt_scan_blanks(behind);

	event->comma = *next == ',';
	if (event->comma)
		next = gt_scan_blanks(next + 1);
	event->comma &= *next == '{';
	if (!event->comma)
		next = behind;
	event->skip = (uint32_t)(next - event->text);
	event->lines_inside = count_lines(event->text, behind);
	event->lines = event->lines_inside + count_lines(behind, next);
	return next;
}

/* Keeps the events from @p on that begin before @end; the text of the place is byte @byte of the
 * file. Ends at what is none, or goes on behind the text. Returns where. */
static const char *scan_events(struct place *place, struct gt_fields *taker, struct gt_scan *scan,
			       const char *p, const char *end, uint64_t byte)
{
	struct gt_ahead_event event = {.comma = true};

	while (event.comma && p < end) {
		const char *behind;

		memset(&taker->record, 0, HEAD);
		scan->loose = false;
		behind = gt_fields_scan(scan, p, taker);
		if (!behind)
			return p + 1;
		event.text = p;
		event.size = (uint32_t)(behind - p);
		event.loose = scan->loose;
		p = find_next(&event, behind);
		if (!keep(place, &taker->record, &event,
			  byte + (uint64_t)(event.text - place->text)))
			return end;
	}
	return p;
}

/* Reads the chunk into the place. Returns how much there is, from its byte @from. */
static size_t read_text(const struct gt_ahead *ahead, struct place *place, uint64_t from)
{
	size_t size = 0, room = ahead->chunk + GT_AHEAD_PATTERN + BEHIND;
	ssize_t n = 1;

	if (!place->text)
		place->text = malloc(room + GT_INPUT_PADDING);
	while (place->text && size < room && n > 0) {
		n = pread(ahead->fd, place->text + size, room - size, (off_t)(from + size));
		size += n > 0 ? (size_t)n : 0;
	}
	if (place->text)
		memset(place->text + size, 0, GT_INPUT_PADDING);
	return size;
}

static void scan_chunk(const struct gt_ahead *ahead, struct place *place, struct gt_fields *taker,
		       uint64_t chunk)
{
	uint64_t from = chunk * ahead->chunk;
	struct gt_scan scan = {0};
	const char *p, *end;
	size_t size;

	if (from < ahead->first)
		from = ahead->first;
	place->events.count = place->args.count = 0;
	size = read_text(ahead, place, from);
	if (!size)
		return;
	p = place->text;
	scan.end = p + size;
	end = p + ((chunk + 1) * ahead->chunk - from);
	if (end > scan.end)
		end = scan.end;
	for (int guess = 0; guess < MAX_GUESSES && p < end; guess++) {
		p = memmem(p, (size_t)(scan.end - p), ahead->pattern, ahead->pattern_size);
		if (!p)
			return;
		p = scan_events(place, taker, &scan, p, end, from);
	}
}

/* ---- who scans which ---- */

static struct place *place_of(struct gt_ahead *ahead, uint64_t chunk)
{
	return &ahead->places[chunk % PLACES];
}

static bool can_claim(const struct gt_ahead *ahead)
{
	return ahead->next < ahead->current + PLACES && ahead->next * ahead->chunk < ahead->end &&
	       ahead->places[ahead->next % PLACES].state == PLACE_DONE;
}

/* Scans the next chunk that nobody has claimed. With the lock, which is released meanwhile. */
static void scan_next(struct gt_ahead *ahead, struct gt_fields *taker)
{
	uint64_t chunk = ahead->next++;
	struct place *place = place_of(ahead, chunk);

	place->state = PLACE_CLAIMED;
	pthread_mutex_unlock(&ahead->lock);
	scan_chunk(ahead, place, taker, chunk);
	pthread_mutex_lock(&ahead->lock);
	place->state = PLACE_DONE;
	pthread_cond_broadcast(&ahead->changed);
}

static void *work(void *data)
{
	struct gt_ahead *ahead = data;
	struct gt_fields *taker = calloc(1, sizeof(*taker));

	if (!taker)
		return NULL;
	gt_fields_init(taker);
	pthread_mutex_lock(&ahead->lock);
	while (!ahead->stopping) {
		if (can_claim(ahead))
			scan_next(ahead, taker);
		else
			pthread_cond_wait(&ahead->changed, &ahead->lock);
	}
	pthread_mutex_unlock(&ahead->lock);
	free(taker);
	return NULL;
}

/* Goes on to @chunk: the places of those before are free. */
static void open_chunk(struct gt_ahead *ahead, uint64_t chunk)
{
	struct place *place = place_of(ahead, chunk);

	pthread_mutex_lock(&ahead->lock);
	if (ahead->next < chunk)
		ahead->next = chunk; /* an event that is longer than a chunk */
	ahead->current = chunk;
	pthread_cond_broadcast(&ahead->changed);
	while (ahead->next <= chunk || place->state != PLACE_DONE) {
		if (can_claim(ahead))
			scan_next(ahead, &ahead->taker);
		else
			pthread_cond_wait(&ahead->changed, &ahead->lock);
	}
	pthread_mutex_unlock(&ahead->lock);
	ahead->is_open = true;
	ahead->at = 0;
}

/* ---- for the reader ---- */

static void unpack(const struct place *place, const struct packed_event *packed,
		   struct gt_trace_event *ret_record)
{
	size_t arg = packed->first_arg;

	memcpy(ret_record, packed->head, HEAD);
	for (uint64_t left = ret_record->arg_mask; left; left &= left - 1)
		ret_record->arg[__builtin_ctzll(left)] = place->args.at[arg++];
}

bool gt_ahead_take(struct gt_ahead *ahead, uint64_t byte, struct gt_trace_event *ret_record,
		   struct gt_ahead_event *ret_event)
{
	uint64_t chunk = byte / ahead->chunk;
	const struct packed_event *packed;
	const struct place *place;

	if (byte >= ahead->end)
		return false;
	if (!ahead->is_open || chunk != ahead->current)
		open_chunk(ahead, chunk);
	place = place_of(ahead, chunk);
	while (ahead->at < place->events.count && place->events.at[ahead->at].byte < byte)
		ahead->at++;
	if (ahead->at == place->events.count || place->events.at[ahead->at].byte != byte)
		return false;
	packed = &place->events.at[ahead->at++];
	unpack(place, packed, ret_record);
	*ret_event = packed->event;
	return true;
}

/* Cores that this process may run on. */
static long count_cores(void)
{
	cpu_set_t cores;

	return sched_getaffinity(0, sizeof(cores), &cores) ? sysconf(_SC_NPROCESSORS_ONLN)
							   : CPU_COUNT(&cores);
}

/* Where address space is limited, it is for what must be in memory. */
static bool is_confined(void)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur != RLIM_INFINITY;
}

/* Threads for a reading: what the other readings leave of the cores. */
static unsigned count_threads(void)
{
	long cores = gt_ahead_limits.cores ? gt_ahead_limits.cores : count_cores();
	unsigned others = atomic_fetch_add(&readings, 1) + 1, most = gt_ahead_limits.threads;

	if (cores <= (long)others)
		return 0;
	return (unsigned)cores - others < most ? (unsigned)cores - others : most;
}

/* "{" and the first key, or 0. */
static size_t measure_pattern(const char *begin, size_t size)
{
	size_t quotes = 0;

	for (size_t i = 0; i < size && i < GT_AHEAD_PATTERN; i++) {
		quotes += begin[i] == '"';
		if (quotes == 2)
			return i + 1;
	}
	return 0;
}

static bool is_worth_it(int fd, uint64_t from, uint64_t *ret_end)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	*ret_end = (uint64_t)st.st_size;
	return *ret_end > from && *ret_end - from >= gt_ahead_limits.least;
}

static struct gt_ahead *make(int fd, uint64_t from, uint64_t end, const char *begin, size_t size)
{
	struct gt_ahead *ahead = calloc(1, sizeof(*ahead));

	if (!ahead)
		return NULL;
	ahead->fd = fd;
	ahead->chunk = gt_ahead_limits.chunk;
	ahead->first = from;
	ahead->end = end;
	ahead->next = ahead->current = from / ahead->chunk;
	ahead->pattern_size = size;
	memcpy(ahead->pattern, begin, size);
	gt_fields_init(&ahead->taker);
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->changed, NULL);
	return ahead;
}

struct gt_ahead *gt_ahead_start(int fd, uint64_t from, const char *begin, size_t size)
{
	size_t pattern = measure_pattern(begin, size);
	struct gt_ahead *ahead;
	unsigned wanted;
	uint64_t end;

	if (!pattern || is_confined() || !is_worth_it(fd, from, &end))
		return NULL;
	wanted = count_threads();
	ahead = wanted ? make(fd, from, end, begin, pattern) : NULL;
	if (!ahead) {
		atomic_fetch_sub(&readings, 1);
		return NULL;
	}
	while (ahead->thread_count < wanted &&
	       !pthread_create(&ahead->threads[ahead->thread_count], NULL, work, ahead))
		ahead->thread_count++;
	return ahead;
}

void gt_ahead_stop(struct gt_ahead *ahead)
{
	if (!ahead)
		return;
	pthread_mutex_lock(&ahead->lock);
	ahead->stopping = true;
	pthread_cond_broadcast(&ahead->changed);
	pthread_mutex_unlock(&ahead->lock);
	while (ahead->thread_count)
		pthread_join(ahead->threads[--ahead->thread_count], NULL);
	for (size_t i = 0; i < PLACES; i++) {
		free(ahead->places[i].text);
		gt_vec_free(&ahead->places[i].events);
		gt_vec_free(&ahead->places[i].args);
	}
	pthread_cond_destroy(&ahead->changed);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
	atomic_fetch_sub(&readings, 1);
}
