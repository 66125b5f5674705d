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
	return 0;
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

/* The numbers of the processes. */
static void count_processes(struct gt_merge_sources *sources)
{
	struct gt_merge_source *of = sources->of;

	for (size_t i = 1; i < sources->count; i++)
		of[i].process =
			of[i - 1].process + (of[i].is_part || of[i - 1].is_part ||
					     !gt_segments_are_of_one(of[i - 1].path, of[i].path));
	sources->processes = sources->count ? of[sources->count - 1].process + 1 : 0;
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

	*sources = (struct gt_merge_sources){0};
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
		if (group < groups.count)
			continue;
		groups.firsts[groups.count] = paths;
		groups.sources[groups.count++] = source->clock;
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
	for (size_t i = 0; i < sources->count; i++)
		if (sources->of[i].is_part)
			gt_clock_map_add_told(&sources->of[i].clock, &of[sources->of[i].process]);
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
