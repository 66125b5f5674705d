/* SPDX-License-Identifier: Apache-2.0
 *
 * See clocks.h. Processes of one machine are a host; each host but the first is tied to one that is
 * placed already.
 */
#include "trace/clocks.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WITHIN " within "
#define TRIED  4                  /* processes of a host, with those of another one */
#define LEAST  3                  /* collectives: fewer may be alike by chance */
#define FAR    ((int64_t)1 << 60) /* ns: clocks of one boot are not that far apart */
#define COARSE 20000 /* ns: by so much the ends of one scatter, where there are too few to tell */

const char *const gt_clock_by_names[GT_CLOCK_BY_COUNT_] = {
	[GT_CLOCK_BY_MONOTONIC] = "monotonic",     [GT_CLOCK_BY_HOST] = "host",
	[GT_CLOCK_BY_COLLECTIVES] = "collectives", [GT_CLOCK_BY_REALTIME] = "realtime",
	[GT_CLOCK_BY_NOTHING] = "nothing",
};

void gt_clock_map_tell(const struct gt_clock_map *map, char *ret_text, size_t size)
{
	int n = snprintf(ret_text, size, "%s", gt_clock_by_names[map->by]);

	if (map->error >= 0 && (size_t)n < size)
		snprintf(ret_text + n, size - (size_t)n, WITHIN "%" PRId64 " ns", map->error);
}

void gt_clock_source_tell(const char *text, struct gt_clock_source *source)
{
	size_t length = strcspn(text, " ");

	for (int by = 0; by < GT_CLOCK_BY_COUNT_; by++) {
		const char *name = gt_clock_by_names[by];

		if (strlen(name) != length || strncmp(text, name, length) != 0)
			continue;
		source->is_told = true;
		source->told_by = (enum gt_clock_by)by;
		source->told_error = GT_CLOCK_ERROR_UNKNOWN;
		if (!strncmp(text + length, WITHIN, sizeof(WITHIN) - 1))
			source->told_error =
				llabs(strtoll(text + length + sizeof(WITHIN) - 1, NULL, 10));
	}
}

/* CUPTI's clock was compared with that of the host, and so was the processor's counter
 * ("..., 34 ns off CLOCK_MONOTONIC at most"). */
static int64_t own_error_of(const struct gt_header *header)
{
	int64_t error = 0, counter = 0;
	char text[128];
	const char *number;

	gt_header_int(header, "metadata", "cupti_clock_error_ns", &error);
	if (gt_header_text(header, "metadata", "clock", text, sizeof(text)) &&
	    (number = strstr(text, ", ")) != NULL)
		counter = strtoll(number + 2, NULL, 10);
	error = error > counter ? error : counter;
	return error > 0 ? error : 0;
}

void gt_clock_source_header(const struct gt_header *header, struct gt_clock_source *ret_source)
{
	struct gt_clock_source *s = ret_source;
	char told[64];

	*s = (struct gt_clock_source){
		.has_base = header->has_base, .has_rank = header->has_rank, .rank = header->rank};
	s->first = s->last = header->has_base ? header->base_ns : 0;
	gt_header_text(header, "metadata", "hostname", s->host, sizeof(s->host));
	gt_header_text(header, "metadata", "boot", s->boot, sizeof(s->boot));
	s->own_error = own_error_of(header);
	gt_header_int(header, "metadata", "clock_first_monotonic_ns", &s->monotonic);
	gt_header_int(header, "metadata", "clock_first_realtime_ns", &s->realtime);
	if (gt_header_text(header, "metadata", "merged_clock", told, sizeof(told)))
		gt_clock_source_tell(told, s);
	if (s->monotonic <= 0 || s->realtime <= 0)
		s->monotonic = s->realtime = 0;
}

void gt_clock_source_span(const struct gt_model *model, struct gt_clock_source *source)
{
	int64_t base = source->first;

	if (__builtin_add_overflow(model->first, base, &source->first) ||
	    __builtin_add_overflow(model->last, base, &source->last))
		source->first = source->last = base;
	source->merged = model->merged.file;
	if (source->merged && *model->merged.clock)
		gt_clock_source_tell(model->merged.clock, source);
}

int gt_clock_source_meet(const struct gt_model *model, struct gt_clock_source *source)
{
	gt_clock_source_span(model, source);
	return gt_meetings_take(model, NULL, NULL, true, &source->meetings);
}

int gt_clock_source_take(const struct gt_model *model, struct gt_clock_source *ret_source)
{
	gt_clock_source_header(&model->reading.header, ret_source);
	return gt_clock_source_meet(model, ret_source);
}

void gt_clock_source_fini(struct gt_clock_source *source)
{
	gt_meetings_fini(&source->meetings);
}

void gt_clocks_fini(struct gt_clocks *clocks)
{
	free(clocks->of);
	*clocks = (struct gt_clocks){0};
}

int64_t gt_clock_map_time(const struct gt_clock_map *map, int64_t t)
{
	int64_t sum;

	if (__builtin_add_overflow(t, gt_clock_line_at(&map->line, t), &sum))
		return t < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* Processes of one merged file, which says how their clocks were related. */
static bool are_told(const struct gt_clock_source *a, const struct gt_clock_source *b)
{
	return a->merged && a->merged == b->merged && a->is_told && b->is_told;
}

static bool are_of_one_boot(const struct gt_clock_source *a, const struct gt_clock_source *b)
{
	return *a->boot && !strcmp(a->boot, b->boot) && a->realtime && b->realtime;
}

bool gt_clock_sources_are_one(const struct gt_clock_source *a, const struct gt_clock_source *b)
{
	if (are_told(a, b))
		return true;
	if (*a->boot && *b->boot)
		return !strcmp(a->boot, b->boot);
	return *a->host && !strcmp(a->host, b->host);
}

/* All that is being placed. */
struct placing {
	const struct gt_clock_source *sources;
	size_t count;
	uint32_t *host;              /* of each process: the first process there */
	bool *placed;                /* of the first process of each host */
	struct gt_clock_bar_at *bar; /* of each host that is not placed: the best of all tries */
	struct gt_clock_map *maps;
	uint32_t reference; /* the process whose clock is the job's */
	size_t tries;       /* pairs of processes that may still be compared */
};

/* By how much @s is behind @first of its host, ns. */
static int64_t behind(const struct gt_clock_source *first, const struct gt_clock_source *s)
{
	int64_t a, b, off;

	if ((s->merged && s->merged == first->merged) || !are_of_one_boot(first, s) ||
	    __builtin_sub_overflow(first->realtime, first->monotonic, &a) ||
	    __builtin_sub_overflow(s->realtime, s->monotonic, &b) ||
	    __builtin_sub_overflow(a, b, &off) || off > FAR || off < -FAR)
		return 0;
	return off;
}

/* A way from one process's clock to that of the job. */
struct tie {
	uint32_t from, to; /* processes: of a host that is not placed, of one that is */
	struct gt_clock_line line;
	double error;
};

static double worst(const struct gt_clock_line *line, const struct gt_clock_source *s)
{
	double few = line->used < GT_CLOCK_LINE_LEAST && !(line->bound > 0) ? COARSE : 0;

	return few + fmax(gt_clock_line_error(line, s->first), gt_clock_line_error(line, s->last));
}

static bool are_of_one_rank(const struct gt_clock_source *a, const struct gt_clock_source *b)
{
	return a->has_rank && b->has_rank && a->rank == b->rank;
}

/* The nearest to a line; of those that are as near the first. */
static void note_bar(struct placing *p, uint32_t process, enum gt_clock_bar why, double by)
{
	struct gt_clock_bar_at *best = &p->bar[p->host[process]];

	if (why > best->why)
		*best = (struct gt_clock_bar_at){why, by};
}

static void note_why(struct placing *p, uint32_t process, const struct gt_meetings *a,
		     const struct gt_meetings *b, size_t pairs, const struct gt_clock_line *line)
{
	size_t common = gt_meetings_common(a, b);

	common = pairs > common ? pairs : common;
	if (common < LEAST)
		note_bar(p, process, common ? GT_CLOCK_BAR_FEW : GT_CLOCK_BAR_APART, 0);
	else if (!pairs)
		note_bar(p, process, GT_CLOCK_BAR_UNCLEAR, 0);
	else if (line->wrong > 0)
		note_bar(p, process, GT_CLOCK_BAR_WRONG, line->wrong);
	else if (line->scatter > GT_MEETINGS_TOGETHER)
		note_bar(p, process, GT_CLOCK_BAR_SCATTER, line->scatter);
	else if (fabs(line->drift) > GT_MEETINGS_DRIFT)
		note_bar(p, process, GT_CLOCK_BAR_DRIFT, fabs(line->drift) * 1e6);
	else
		note_bar(p, process, GT_CLOCK_BAR_BROKEN, 0);
}

static int try_tie(struct placing *p, uint32_t from, uint32_t to, struct tie *best)
{
	const struct gt_meetings *a = &p->sources[to].meetings, *b = &p->sources[from].meetings;
	const struct gt_clock_source *s = &p->sources[from];
	struct gt_met_pairs pairs;
	struct tie tie = {.from = from, .to = to};
	size_t count;
	int rc = gt_meetings_pair(a, b, &pairs);

	if (!rc)
		rc = gt_meetings_line(a, b, &pairs, &tie.line);
	count = pairs.all.count;
	gt_vec_free(&pairs.all);
	if (!rc && tie.line.used < LEAST)
		note_why(p, from, a, b, count, &tie.line);
	if (rc || tie.line.used < LEAST)
		return rc;
	tie.error = worst(&tie.line, s);
	if (!best->line.used || tie.error < best->error)
		*best = tie;
	return 0;
}

/* The first TRIED processes of a host with those of another one. */
static int tie_hosts(struct placing *p, uint32_t host, uint32_t other, struct tie *best)
{
	int rc = 0;

	for (uint32_t i = host, n = 0; !rc && n < TRIED && i < p->count; i++) {
		if (p->host[i] != host || !p->sources[i].meetings.all.count)
			continue;
		n++;
		for (uint32_t j = other, m = 0; !rc && m < TRIED && j < p->count; j++) {
			if (p->host[j] != other || !p->sources[j].meetings.all.count)
				continue;
			m++;
			if (are_of_one_rank(&p->sources[i], &p->sources[j])) {
				note_bar(p, host, GT_CLOCK_BAR_ONE_RANK, 0);
			} else if (p->tries) {
				p->tries--;
				rc = try_tie(p, i, j, best);
			} else {
				note_bar(p, host, GT_CLOCK_BAR_MANY, 0);
			}
		}
	}
	return rc;
}

/* The line of @a behind that of @b: first @b's time, then @a's of that. */
static struct gt_clock_line chain(const struct gt_clock_line *a, const struct gt_clock_line *b)
{
	struct gt_clock_line line = *b;

	line.off += gt_clock_line_at(a, b->x + b->off);
	line.drift += a->drift;
	return line;
}

static int64_t sum_of_errors(int64_t a, int64_t b)
{
	int64_t sum;

	return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? GT_CLOCK_ERROR_UNKNOWN : sum;
}

/* What a merged file says of @s and @near, of which @map has the place: the file has both against
 * the first process of that file. */
static void add_told(const struct gt_clock_source *near, const struct gt_clock_source *s,
		     struct gt_clock_map *map)
{
	enum gt_clock_by by = s->told_by > near->told_by ? s->told_by : near->told_by;

	if (s == near || are_of_one_boot(near, s))
		return;
	map->by = by > map->by ? by : map->by;
	map->error = sum_of_errors(map->error, sum_of_errors(s->told_error, near->told_error));
}

void gt_clock_map_add_told(const struct gt_clock_source *source, struct gt_clock_map *map)
{
	if (!source->is_told)
		return;
	map->by = source->told_by > map->by ? source->told_by : map->by;
	map->error = sum_of_errors(map->error, source->told_error);
}

/* A process where its host is by @at, its first process's way to the job; @near is the one that
 * was placed itself. */
static void place(struct placing *p, uint32_t process, const struct gt_clock_map *at,
		  const struct gt_clock_source *near)
{
	const struct gt_clock_source *first = &p->sources[p->host[process]];
	const struct gt_clock_source *s = &p->sources[process];
	struct gt_clock_map *map = &p->maps[process];
	struct gt_clock_line own = {.x = s->first, .off = behind(first, s)};

	*map = *at;
	map->line = chain(&at->line, &own);
	if (are_told(near, s))
		add_told(near, s, map);
	else if (s != first && !are_of_one_boot(first, s) && map->by == GT_CLOCK_BY_MONOTONIC)
		map->by = GT_CLOCK_BY_HOST;
	if (p->sources[p->reference].has_base != s->has_base && map->by != GT_CLOCK_BY_COLLECTIVES)
		*map = (struct gt_clock_map){.error = GT_CLOCK_ERROR_UNKNOWN,
					     .by = GT_CLOCK_BY_NOTHING};
}

static void place_host(struct placing *p, uint32_t host, const struct gt_clock_map *at,
		       const struct gt_clock_source *near)
{
	for (uint32_t i = host; i < p->count; i++)
		if (p->host[i] == host)
			place(p, i, at, near);
	p->placed[host] = true;
}

/* A process of the host that ran at another time is further from the middle of the line. */
static void add_distance(const struct tie *tie, const struct gt_clock_source *s,
			 struct gt_clock_map *map)
{
	double more = worst(&tie->line, s) - tie->error;

	if (more > 0)
		map->error = sum_of_errors(map->error, llround(fmin(more, 4e18)));
}

/* The way of a host's first process, from that of the process that is tied. */
static void place_by_tie(struct placing *p, const struct tie *tie)
{
	uint32_t host = p->host[tie->from];
	const struct gt_clock_source *first = &p->sources[host], *s = &p->sources[tie->from];
	struct gt_clock_line back = {.x = first->first, .off = -behind(first, s)};
	struct gt_clock_line over = chain(&p->maps[tie->to].line, &tie->line);
	int64_t error = p->maps[tie->to].error;
	struct gt_clock_map at = {
		.line = chain(&over, &back),
		.error = error < 0 ? GT_CLOCK_ERROR_UNKNOWN
				   : llround(fmin(tie->error + (double)error, 4e18)),
		.by = GT_CLOCK_BY_COLLECTIVES,
		.used = tie->line.used,
	};

	place_host(p, host, &at, s);
	for (uint32_t i = host; i < p->count; i++)
		if (p->host[i] == host)
			add_distance(tie, &p->sources[i], &p->maps[i]);
}

/* Its host so that its own clock is the job's. */
static void place_reference(struct placing *p)
{
	uint32_t host = p->host[p->reference];
	const struct gt_clock_source *first = &p->sources[host], *s = &p->sources[p->reference];
	struct gt_clock_map at = {.line = {.x = first->first, .off = -behind(first, s)},
				  .by = GT_CLOCK_BY_MONOTONIC};

	place_host(p, host, &at, s);
	for (uint32_t i = 0; i < p->count; i++)
		if (p->host[i] == host && p->maps[i].by == GT_CLOCK_BY_MONOTONIC &&
		    !are_told(&p->sources[i], s) && !are_of_one_boot(&p->sources[i], s))
			p->maps[i].by = GT_CLOCK_BY_HOST;
	p->maps[p->reference] = (struct gt_clock_map){.by = GT_CLOCK_BY_MONOTONIC};
}

static void place_by_realtime(struct placing *p, uint32_t host)
{
	const struct gt_clock_map at = {
		.error = GT_CLOCK_ERROR_UNKNOWN, .by = GT_CLOCK_BY_REALTIME, .bar = p->bar[host]};

	place_host(p, host, &at, &p->sources[host]);
}

/* Ties hosts to @other, which is placed, and so on from each of them. */
static int place_from(struct placing *p, uint32_t *queue)
{
	size_t count = 1;
	int rc = 0;

	queue[0] = p->host[p->reference];
	for (size_t at = 0; !rc && at < count; at++)
		for (uint32_t i = 0; !rc && i < p->count; i++) {
			struct tie best = {0};

			if (p->host[i] != i || p->placed[i])
				continue;
			rc = tie_hosts(p, i, queue[at], &best);
			if (rc || !best.line.used)
				continue;
			place_by_tie(p, &best);
			queue[count++] = i;
		}
	return rc;
}

/* The first process that others can be tied to, of those that count from 1970 if there are any. */
static uint32_t reference_of(const struct gt_clock_source *sources, size_t count)
{
	uint32_t best = 0;
	int most = 0;

	for (uint32_t i = 0; i < count; i++) {
		int worth = sources[i].has_base * 2 + (sources[i].meetings.all.count > 0);

		if (worth > most) {
			best = i;
			most = worth;
		}
	}
	return best;
}

/* Times of one machine that count from 1970, and others, are as of two. */
static void find_hosts(struct placing *p)
{
	for (uint32_t i = 0; i < p->count; i++)
		for (p->host[i] = 0; p->host[i] < i; p->host[i]++)
			if (p->host[p->host[i]] == p->host[i] &&
			    p->sources[p->host[i]].has_base == p->sources[i].has_base &&
			    gt_clock_sources_are_one(&p->sources[p->host[i]], &p->sources[i]))
				break;
}

/* The line holds for the process that collectives placed; each one's stamps have their own error.
 */
static void add_own_errors(struct placing *p)
{
	const struct gt_clock_source *reference = &p->sources[p->reference];

	for (uint32_t i = 0; i < p->count; i++) {
		const struct gt_clock_source *s = &p->sources[i];

		if (s != reference && (!are_told(reference, s) || are_of_one_boot(reference, s)))
			p->maps[i].error =
				sum_of_errors(p->maps[i].error,
					      sum_of_errors(s->own_error, reference->own_error));
	}
}

static int place_all(struct placing *p, uint32_t *queue)
{
	int rc;

	find_hosts(p);
	place_reference(p);
	rc = place_from(p, queue);
	for (uint32_t i = 0; !rc && i < p->count; i++)
		if (p->host[i] == i && !p->placed[i])
			place_by_realtime(p, i);
	add_own_errors(p);
	return rc;
}

int gt_clocks_find(const struct gt_clock_source *sources, size_t count,
		   struct gt_clocks *ret_clocks)
{
	struct placing p = {
		.sources = sources,
		.count = count,
		.host = calloc(count + 1, sizeof(*p.host)),
		.placed = calloc(count + 1, sizeof(*p.placed)),
		.bar = calloc(count + 1, sizeof(*p.bar)),
		.maps = calloc(count + 1, sizeof(*p.maps)),
		.reference = reference_of(sources, count),
		.tries = 4096 + TRIED * TRIED * count,
	};
	uint32_t *queue = calloc(count + 1, sizeof(*queue));
	int rc = p.host && p.placed && p.bar && p.maps && queue ? 0 : -ENOMEM;

	if (!rc && count)
		rc = place_all(&p, queue);
	*ret_clocks = (struct gt_clocks){p.maps, count, p.reference};
	free(p.host);
	free(p.placed);
	free(p.bar);
	free(queue);
	return rc;
}

#define OFF "their collectives did not end together: "

const char *gt_clock_bar_text(const struct gt_clock_bar_at *bar, char *ret_text)
{
	static const char *const texts[GT_CLOCK_BAR_COUNT_] = {
		[GT_CLOCK_BAR_NONE] = "there are no collectives in which all ranks wait for all",
		[GT_CLOCK_BAR_ONE_RANK] = "the traces with collectives are of the same rank",
		[GT_CLOCK_BAR_MANY] = "there are too many hosts to compare each with each",
		[GT_CLOCK_BAR_APART] = "they have no collective in common",
		[GT_CLOCK_BAR_FEW] = "they have fewer than 3 collectives in common",
		[GT_CLOCK_BAR_UNCLEAR] =
			"it is not clear which of their collectives belong together",
		[GT_CLOCK_BAR_SCATTER] = OFF
		"the ends are off any line of two clocks, most by up to %.3g ms, and are to be by "
		"less than 1 ms (two jobs, or hosts under load: traces of --libraries=nccl or mpi "
		"number the collectives, which bounds the clocks then, too)",
		[GT_CLOCK_BAR_DRIFT] = OFF
		"by their ends the clocks run apart by %.3g ppm, and are to by less than 300 (two "
		"jobs, or a clock that was set meanwhile)",
		[GT_CLOCK_BAR_BROKEN] =
			OFF "in one of 20 a member would have left before another came (two jobs?)",
		[GT_CLOCK_BAR_WRONG] = OFF
		"whatever their clocks show, a member left %.3g ms before another came (a clock "
		"was set meanwhile, or communicators of two jobs have one name)",
	};
	double by = bar->why == GT_CLOCK_BAR_DRIFT ? bar->by : bar->by / 1e6;

	*ret_text = 0;
	if (bar->why < GT_CLOCK_BAR_COUNT_)
		snprintf(ret_text, GT_CLOCK_BAR_TEXT, texts[bar->why], by);
	return ret_text;
}
