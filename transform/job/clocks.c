/* SPDX-License-Identifier: Apache-2.0
 *
 * See clocks.h.
 */
#include "transform/job/clocks.h"

#include <errno.h>
#include <inttypes.h>

/* Of the processes of a file that was merged already one stands for all, as they are on one clock:
 * that with the most collectives, rather one whose times were not moved. */
static const struct gt_model *teller_of(const struct gt_models *models)
{
	const struct gt_model *best = NULL;
	size_t most = 0;

	for (size_t i = 0; i < models->count; i++) {
		const struct gt_model *model = &models->at[i];
		struct gt_clock_source source;
		size_t count;

		if (gt_clock_source_take(model, &source)) {
			gt_clock_source_fini(&source);
			return best;
		}
		count = 2 * source.meetings.all.count;
		if (count && !(source.is_told && source.told_by > GT_CLOCK_BY_HOST))
			count++;
		if (count > most || !best) {
			best = model;
			most = count;
		}
		gt_clock_source_fini(&source);
	}
	return best;
}

/* Its boot and host say nothing more of its clock, if its times were moved. What cannot be read is
 * said when it is copied. */
static int take_collectives(char *const *paths, size_t count, size_t group,
			    struct gt_clock_source *source)
{
	struct gt_models models;
	int rc = gt_model_load(paths, count, &models);
	const struct gt_model *teller = rc < 0 ? NULL : teller_of(&models);

	if (!teller) {
		gt_models_fini(&models);
		return rc == -ENOMEM ? rc : 0;
	}
	rc = gt_clock_source_take(teller, source);
	gt_models_fini(&models);
	source->merged = 0;
	if (source->is_told && source->told_by > GT_CLOCK_BY_HOST)
		gt_merge_clocks_isolate(source, group);
	return rc;
}

void gt_merge_clocks_isolate(struct gt_clock_source *source, size_t group)
{
	snprintf(source->boot, sizeof(source->boot), "merged file %zu", group);
	*source->host = 0;
}

static int64_t told_error(const struct gt_clock_source *source)
{
	return source->is_told && source->told_by > GT_CLOCK_BY_HOST ? source->told_error : 0;
}

/* Who stands for a file is on the clock of that file within an error, which is that of all else
 * that is related by it. */
static void add_errors(const struct gt_clock_source *sources, struct gt_clocks *clocks)
{
	int64_t reference = clocks->count ? told_error(&sources[clocks->reference]) : 0;

	for (size_t i = 0; i < clocks->count; i++) {
		struct gt_clock_map *map = &clocks->of[i];
		int64_t own = told_error(&sources[i]);

		if (i == clocks->reference || map->error < 0)
			continue;
		map->error = own < 0 || reference < 0 ? GT_CLOCK_ERROR_UNKNOWN
						      : map->error + own + reference;
	}
}

static bool are_of_one_machine(const struct gt_clock_source *sources, size_t count)
{
	for (size_t i = 1; i < count; i++)
		if (!gt_clock_sources_are_one(&sources[0], &sources[i]))
			return false;
	return true;
}

static struct gt_merge_clocks summary_of(const struct gt_clock_source *sources,
					 const struct gt_clocks *clocks)
{
	struct gt_merge_clocks sum = {0};

	for (size_t i = 0; i < clocks->count; i++) {
		const struct gt_clock_map *map = &clocks->of[i];

		if (map->by == GT_CLOCK_BY_COLLECTIVES) {
			sum.collectives++;
			if (map->error < 0 || sum.error < 0)
				sum.error = GT_CLOCK_ERROR_UNKNOWN;
			else if (map->error > sum.error)
				sum.error = map->error;
		} else if (map->by == GT_CLOCK_BY_REALTIME) {
			if (!sum.realtime++)
				sum.bar = map->bar;
			sum.unbounded += *sources[i].boot != 0;
		}
	}
	return sum;
}

int gt_merge_clocks_find(char *const *paths, const size_t *firsts, struct gt_clock_source *sources,
			 size_t count, struct gt_clocks *ret_clocks,
			 struct gt_merge_clocks *ret_summary)
{
	bool is_one = count < 2 || are_of_one_machine(sources, count);
	int rc = 0;

	*ret_clocks = (struct gt_clocks){0};
	*ret_summary = (struct gt_merge_clocks){0};
	for (size_t i = 0; !rc && !is_one && i < count; i++)
		rc = take_collectives(&paths[firsts[i]], firsts[i + 1] - firsts[i], i, &sources[i]);
	if (!rc)
		rc = gt_clocks_find(sources, count, ret_clocks);
	if (!rc) {
		add_errors(sources, ret_clocks);
		*ret_summary = summary_of(sources, ret_clocks);
	}
	for (size_t i = 0; i < count; i++)
		gt_clock_source_fini(&sources[i]);
	return rc;
}

void gt_merge_clocks_refuse(const struct gt_merge_clocks *clocks, char *ret_line, size_t size)
{
	char why[GT_CLOCK_BAR_TEXT];

	snprintf(ret_line, size,
		 "the clocks of %zu process%s on other hosts cannot be related to that of the "
		 "first: %s; --force merges by their wall clocks, with an error that is not known",
		 clocks->unbounded, clocks->unbounded == 1 ? "" : "es",
		 gt_clock_bar_text(&clocks->bar, why));
}

bool gt_merge_clocks_are_plain(const struct gt_clocks *clocks)
{
	for (size_t i = 0; i < clocks->count; i++)
		if (clocks->of[i].by > GT_CLOCK_BY_HOST || clocks->of[i].line.off)
			return false;
	return true;
}

/* First that of the merge before, then that of this one. */
static struct gt_clock_line both(const struct gt_clock_line *before,
				 const struct gt_clock_line *now)
{
	struct gt_clock_line line = *before;

	if (before->drift == 0) /* it holds anywhere */
		line.x = now->x - before->off;
	line.off += gt_clock_line_at(now, line.x + before->off);
	line.drift += now->drift;
	return line;
}

void gt_merge_clocks_put(const struct gt_clocks *clocks, const struct gt_clock_line *before,
			 FILE *out)
{
	if (gt_merge_clocks_are_plain(clocks))
		return;
	for (size_t i = 0; i < clocks->count; i++) {
		const struct gt_clock_map *map = &clocks->of[i];
		struct gt_clock_line line =
			before && before[i].used ? both(&before[i], &map->line) : map->line;

		fprintf(out, "%s{\"process\": %zu, \"by\": \"%s\", \"ahead_ns\": %" PRId64,
			i ? ",\n" : "\"clocks\": [\n", i, gt_clock_by_names[map->by], -line.off);
		if (line.drift != 0)
			fprintf(out, ", \"at_ns\": \"%" PRId64 "\", \"drift_ppm\": %.3f", line.x,
				-line.drift * 1e6);
		if (map->error >= 0)
			fprintf(out, ", \"error_ns\": %" PRId64, map->error);
		fputc('}', out);
	}
	fputs("],\n", out);
}
