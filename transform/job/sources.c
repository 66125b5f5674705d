/* SPDX-License-Identifier: Apache-2.0
 *
 * See sources.h.
 */
#include "transform/job/sources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/schema/metadata.h"
#include "trace/file/header.h"
#include "trace/segment_files.h"

static int64_t number_of(const struct gt_header *header, const char *object, const char *key)
{
	int64_t value = 0;

	gt_header_int(header, object, key, &value);
	return value;
}

static char *copy_of(const struct gt_header *header, const char *key)
{
	const char *text = gt_header_find(header, key);

	return text ? strdup(text) : NULL;
}

/* ---- processes of JSON that was merged before ---- */

static bool int_of(const struct gt_span *of, const char *key, int64_t *ret_number)
{
	struct gt_span span;

	return gt_span_member(of, key, &span) && gt_span_int(&span, ret_number);
}

/* What its metadata says of its clock. */
static int take_inner_clock(const struct gt_merge_source *source, struct gt_merge_inner *inner)
{
	const struct gt_span key = {.text = "metadata", .len = 8, .kind = GT_SPAN_STRING};
	struct gt_header own = {.has_base = source->has_base,
				.base_ns = source->base,
				.has_rank = true,
				.rank = inner->rank};
	int rc = inner->members.kind == GT_SPAN_OBJECT
			 ? gt_header_add(&own, &key, &inner->members, false)
			 : 0;

	gt_clock_source_header(&own, &inner->clock);
	gt_header_fini(&own);
	return rc;
}

static int take_inner(struct gt_merge_source *source, const struct gt_header *header)
{
	struct gt_span list, of;
	uint32_t position = 0;
	int rc = 0;

	if (!gt_header_span(header, "processes", &source->inner_text, &list) ||
	    list.kind != GT_SPAN_ARRAY)
		return 0;
	while (!rc && gt_span_next(&list, &position, &of)) {
		struct gt_merge_inner inner = {0}, *more;

		if (of.kind != GT_SPAN_OBJECT || !int_of(&of, "process", &inner.was) ||
		    !int_of(&of, "rank", &inner.rank))
			continue;
		gt_span_member(&of, "metadata", &inner.members);
		more = realloc(source->inner, (source->inner_count + 1) * sizeof(inner));
		if (!more)
			return -ENOMEM;
		source->inner = more;
		rc = take_inner_clock(source, &inner);
		source->inner[source->inner_count++] = inner;
	}
	return rc;
}

/* How it came to the clock of that file: an element of "clocks". */
static void take_told(struct gt_merge_source *source, const struct gt_span *of)
{
	struct gt_merge_inner *inner = NULL;
	int64_t was, error, ahead;
	struct gt_span by, drift;
	char text[64];
	int n;

	if (of->kind != GT_SPAN_OBJECT || !int_of(of, "process", &was) ||
	    !gt_span_member(of, "by", &by) || by.kind != GT_SPAN_STRING || by.len > 16)
		return;
	for (size_t i = 0; i < source->inner_count; i++)
		if (source->inner[i].was == was)
			inner = &source->inner[i];
	if (!inner)
		return;
	n = snprintf(text, sizeof(text), "%.*s", (int)by.len, by.text);
	if (int_of(of, "error_ns", &error) && error >= 0)
		snprintf(text + n, sizeof(text) - (size_t)n, " within %" PRId64 " ns", error);
	gt_clock_source_tell(text, &inner->clock);
	if (!int_of(of, "ahead_ns", &ahead))
		return;
	inner->line = (struct gt_clock_line){.off = -ahead, .used = 1};
	if (int_of(of, "at_ns", &inner->line.x) && gt_span_member(of, "drift_ppm", &drift))
		inner->line.drift = -strtod(drift.text, NULL) / 1e6;
}

static int take_merged(struct gt_merge_source *source, const struct gt_header *header)
{
	int rc = take_inner(source, header);
	struct gt_span list, of;
	uint32_t position = 0;
	char *copy;

	if (!rc && source->inner_count && gt_header_span(header, "clocks", &copy, &list)) {
		while (list.kind == GT_SPAN_ARRAY && gt_span_next(&list, &position, &of))
			take_told(source, &of);
		free(copy);
	}
	return rc;
}

/* ---- */

static void take(struct gt_merge_source *source, const char *path, const struct gt_reading *reading)
{
	const struct gt_header *header = &reading->header;

	*source = (struct gt_merge_source){
		.path = path,
		.rank = header->rank,
		.world_size = header->world_size,
		.pid = number_of(header, "metadata", "pid"),
		.base = header->has_base ? header->base_ns : 0,
		.border = number_of(header, "segment", gt_segment_names[GT_SEGMENT_BORDER]),
		.first = number_of(header, "metadata", "clock_first_realtime_ns"),
		.last = number_of(header, "metadata", "clock_last_realtime_ns"),
		.has_base = header->has_base,
		.is_pftrace = reading->is_pftrace,
		.parts = reading->parts,
		.is_many = gt_header_find(header, "processes") != NULL,
		.segment = copy_of(header, "segment"),
		.backend = header->backend ? strdup(header->backend) : NULL,
	};
	source->starts = number_of(header, "metadata", "starts");
	gt_header_text(header, "metadata", "launch", source->launch, sizeof(source->launch));
	gt_header_text(header, "metadata", "launcher", source->launcher, sizeof(source->launcher));
	gt_header_span(header, "deviceProperties", &source->devices, &source->device_list);
	gt_header_span(header, "metadata", &source->metadata, &source->members);
	gt_clock_source_header(header, &source->clock);
}

static int add(struct gt_merge_sources *sources, const char *path, const struct gt_reading *reading)
{
	struct gt_merge_source *more =
		realloc(sources->of, (sources->count + 1) * sizeof(*sources->of));

	if (!more)
		return -ENOMEM;
	sources->of = more;
	take(&more[sources->count++], path, reading);
	return reading->is_pftrace ? 0 : take_merged(&more[sources->count - 1], &reading->header);
}

int gt_merge_sources_refuse(const char *path, uint32_t parts, struct gt_merge_result *result)
{
	snprintf(result->error, sizeof(result->error),
		 "%.500s: holds %u processes, and it would be read for each of them: merge the "
		 "traces that it was made of",
		 path, parts);
	return -E2BIG;
}

/* The processes behind the first; those that a cut took away are missed when the last one is
 * copied. */
static int add_parts(struct gt_merge_sources *sources, const char *path, uint32_t parts,
		     struct gt_merge_result *result)
{
	int rc = 0;

	if (parts > GT_MERGE_PARTS)
		return gt_merge_sources_refuse(path, parts, result);
	for (uint32_t part = 1; !rc && part < parts; part++) {
		struct gt_reading reading;

		rc = gt_file_header_part(path, part, &reading);
		if (!rc)
			rc = add(sources, path, &reading);
		if (!rc) {
			sources->of[sources->count - 1].part = part;
			sources->of[sources->count - 1].is_part = true;
		}
		gt_reading_fini(&reading);
	}
	return rc == -ENOMEM ? rc : 0;
}

static int read_source(struct gt_merge_sources *sources, const char *path, bool takes_apart,
		       struct gt_merge_result *result)
{
	struct gt_reading reading;
	int rc = gt_file_header_whole(path, &reading);

	if (rc >= 0) {
		gt_job_origins_see(&result->origins, &reading.header, path);
		rc = add(sources, path, &reading);
	} else if (rc != -ENOMEM) {
		if (!result->left_out++)
			strcpy(result->left_out_why, reading.error);
		rc = 0;
	}
	if (!rc && takes_apart && reading.is_pftrace && reading.parts > 1) {
		sources->of[sources->count - 1].is_part = true;
		rc = add_parts(sources, path, reading.parts, result);
	}
	gt_reading_fini(&reading);
	return rc;
}

static int by_rank(const void *a, const void *b)
{
	const struct gt_merge_source *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->path != y->path)
		return gt_segment_compare(x->path, y->path);
	return x->part < y->part ? -1 : x->part > y->part;
}

static size_t processes_in(const struct gt_merge_source *source)
{
	return source->inner_count ? source->inner_count : 1;
}

static bool are_files_of_one(const struct gt_merge_source *a, const struct gt_merge_source *b)
{
	return !a->is_part && !b->is_part && !a->inner_count && !b->inner_count &&
	       gt_segments_are_of_one(a->path, b->path);
}

/* The numbers of the processes. */
static void count_processes(struct gt_merge_sources *sources)
{
	struct gt_merge_source *of = sources->of;

	for (size_t i = 0; i < sources->count; i++) {
		if (i && are_files_of_one(&of[i - 1], &of[i]))
			of[i].process = of[i - 1].process;
		else
			of[i].process = i ? of[i - 1].process + processes_in(&of[i - 1]) : 0;
		for (size_t k = 0; k < of[i].inner_count; k++)
			of[i].inner[k].process = of[i].process + k;
		sources->processes = of[i].process + processes_in(&of[i]);
	}
}

static const char *why_twice(const struct gt_merge_source *a, const struct gt_merge_source *b)
{
	if (a->starts && b->starts && a->starts != b->starts)
		return "torchrun started the ranks again, and all starts are in it";
	if ((*a->launch && *b->launch && strcmp(a->launch, b->launch)) ||
	    (*a->launcher && *b->launcher && strcmp(a->launcher, b->launcher)))
		return "they were started by two launchers: name the files of one job";
	return "two processes of a rank, or two jobs, which nothing tells apart";
}

/* Two processes may be of one rank, or the traces of two jobs are together. */
static void find_twice(const struct gt_merge_sources *sources, struct gt_merge_result *result)
{
	const struct gt_merge_source *of = sources->of;

	for (size_t i = 1; i < sources->count; i++) {
		if (of[i].rank != of[i - 1].rank || of[i].process == of[i - 1].process ||
		    of[i].world_size < 2 || of[i].path == of[i - 1].path || of[i].is_many ||
		    of[i - 1].is_many ||
		    (of[i].pid && of[i].pid == of[i - 1].pid)) /* a window each */
			continue;
		if (!result->twice)
			snprintf(result->twice_why, sizeof(result->twice_why),
				 "rank %" PRId64 ": %.300s and %.300s: %s", of[i].rank,
				 of[i - 1].path, of[i].path, why_twice(&of[i - 1], &of[i]));
		while (i + 1 < sources->count && of[i + 1].rank == of[i].rank)
			i++;
		result->twice++;
	}
}

int gt_merge_sources_read(char *const *paths, size_t count, bool takes_apart,
			  struct gt_merge_sources *ret_sources, struct gt_merge_result *result)
{
	struct gt_merge_sources *sources = ret_sources;
	int rc = 0;

	*sources = (struct gt_merge_sources){.is_apart = takes_apart};
	for (size_t i = 0; !rc && i < count; i++)
		rc = read_source(sources, paths[i], takes_apart, result);
	if (rc)
		return rc;
	if (count && !sources->count) {
		strcpy(result->error, result->left_out_why);
		return -EBADMSG;
	}
	if (sources->count)
		qsort(sources->of, sources->count, sizeof(*sources->of), by_rank);
	count_processes(sources);
	find_twice(sources, result);
	return 0;
}

size_t gt_merge_process_end(const struct gt_merge_sources *sources, size_t first)
{
	size_t end = first + 1;

	while (end < sources->count && sources->of[end].process == sources->of[first].process)
		end++;
	return end;
}

void gt_merge_sources_fini(struct gt_merge_sources *sources)
{
	for (size_t i = 0; i < sources->count; i++) {
		free(sources->of[i].devices);
		free(sources->of[i].metadata);
		free(sources->of[i].segment);
		free(sources->of[i].backend);
		free(sources->of[i].inner);
		free(sources->of[i].inner_text);
	}
	free(sources->of);
	*sources = (struct gt_merge_sources){0};
}

/* A file that holds several processes has them on one clock already. */
struct clock_groups {
	size_t count;
	size_t *of;                      /* by process */
	size_t *firsts;                  /* in paths, of each; and the end */
	char **paths;                    /* of the files */
	struct gt_clock_source *sources; /* of each */
};

/* The group of a process before @process whose file it is in; the number of groups: of none. */
static size_t group_of(const struct clock_groups *groups, const struct gt_merge_source *source)
{
	size_t at = groups->count;

	while (source->is_part && at > 0)
		if (groups->paths[groups->firsts[--at]] == source->path)
			return at;
	return groups->count;
}

/* Processes of several machines, or whose clocks were moved, are as of a machine of their own: only
 * collectives relate them to another file. */
static void see_other(struct gt_clock_source *group, const struct gt_clock_source *process,
		      size_t number)
{
	bool is_moved = process->is_told && process->told_by > GT_CLOCK_BY_HOST;

	if (!is_moved && gt_clock_sources_are_one(group, process))
		return;
	gt_merge_clocks_isolate(group, number);
}

static int begin_groups(const struct gt_merge_sources *sources, struct clock_groups *ret_groups)
{
	struct clock_groups groups = {
		.of = calloc(sources->processes + 1, sizeof(*groups.of)),
		.firsts = calloc(sources->count + 1, sizeof(*groups.firsts)),
		.paths = calloc(sources->count + 1, sizeof(*groups.paths)),
		.sources = calloc(sources->count + 1, sizeof(*groups.sources)),
	};
	size_t paths = 0;

	*ret_groups = groups;
	if (!groups.of || !groups.firsts || !groups.paths || !groups.sources)
		return -ENOMEM;
	for (size_t i = 0, end; i < sources->count; i = end) {
		const struct gt_merge_source *source = &sources->of[i];
		size_t group = group_of(&groups, source);

		end = gt_merge_process_end(sources, i);
		groups.of[source->process] = group;
		for (size_t k = 0; k < source->inner_count; k++)
			groups.of[source->inner[k].process] = group;
		if (group < groups.count) {
			see_other(&groups.sources[group], &source->clock, group);
			continue;
		}
		groups.firsts[groups.count] = paths;
		groups.sources[groups.count] = source->clock;
		if (source->is_part)
			see_other(&groups.sources[group], &source->clock, group);
		for (size_t k = 0; k < source->inner_count; k++)
			see_other(&groups.sources[group], &source->inner[k].clock, group);
		groups.count++;
		for (size_t file = i; file < end; file++)
			groups.paths[paths++] = (char *)sources->of[file].path;
	}
	groups.firsts[groups.count] = paths;
	*ret_groups = groups;
	return 0;
}

/* Each process has the clock of its group, and how it came to that. */
static int spread(const struct clock_groups *groups, const struct gt_merge_sources *sources,
		  struct gt_clocks *clocks)
{
	size_t processes = sources->processes;
	struct gt_clock_map *of = calloc(processes + 1, sizeof(*of));

	if (!of)
		return -ENOMEM;
	for (size_t i = 0; i < processes; i++)
		of[i] = clocks->of[groups->of[i]];
	for (size_t i = 0; sources->is_apart && i < sources->count; i++) {
		const struct gt_merge_source *source = &sources->of[i];

		if (source->is_part)
			gt_clock_map_add_told(&source->clock, &of[source->process]);
		for (size_t k = 0; k < source->inner_count; k++)
			gt_clock_map_add_told(&source->inner[k].clock,
					      &of[source->inner[k].process]);
	}
	free(clocks->of);
	clocks->of = of;
	clocks->count = processes;
	return 0;
}

int gt_merge_sources_clocks(struct gt_merge_sources *sources, bool force,
			    struct gt_clocks *ret_clocks, struct gt_merge_result *result)
{
	struct clock_groups groups;
	int rc = begin_groups(sources, &groups);

	*ret_clocks = (struct gt_clocks){0};
	if (!rc)
		rc = gt_merge_clocks_find(groups.paths, groups.firsts, groups.sources, groups.count,
					  ret_clocks, &result->clocks);
	if (!rc && result->clocks.unbounded && !force) {
		rc = -EDOM;
		gt_merge_clocks_refuse(&result->clocks, result->error, sizeof(result->error));
	}
	if (!rc)
		rc = spread(&groups, sources, ret_clocks);
	free(groups.of);
	free(groups.firsts);
	free(groups.paths);
	free(groups.sources);
	return rc;
}
