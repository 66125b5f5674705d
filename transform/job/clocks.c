/* SPDX-License-Identifier: Apache-2.0
 *
 * See clocks.h.
 */
#include "transform/job/clocks.h"

#include <errno.h>
#include <inttypes.h>

/* A file of several processes was merged already: they stay as they are. What cannot be read is
 * said when it is copied. */
static int take_collectives(char *const *paths, size_t count, struct gt_clock_source *source)
{
	struct gt_models models;
	int rc = gt_model_load(paths, count, &models);

	if (rc == -ENOMEM || models.count != 1 || rc < 0) {
		gt_models_fini(&models);
		return rc == -ENOMEM ? rc : 0;
	}
	rc = gt_clock_source_take(&models.at[0], source);
	gt_models_fini(&models);
	return rc;
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
	bool is_one = are_of_one_machine(sources, count);
	int rc = 0;

	*ret_clocks = (struct gt_clocks){0};
	*ret_summary = (struct gt_merge_clocks){0};
	for (size_t i = 0; !rc && !is_one && i < count; i++)
		rc = take_collectives(&paths[firsts[i]], firsts[i + 1] - firsts[i], &sources[i]);
	if (!rc)
		rc = gt_clocks_find(sources, count, ret_clocks);
	if (!rc)
		*ret_summary = summary_of(sources, ret_clocks);
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

void gt_merge_clocks_put(const struct gt_clocks *clocks, FILE *out)
{
	if (gt_merge_clocks_are_plain(clocks))
		return;
	for (size_t i = 0; i < clocks->count; i++) {
		const struct gt_clock_map *map = &clocks->of[i];
		int64_t error = map->error;

		fprintf(out, "%s{\"process\": %zu, \"by\": \"%s\", \"ahead_ns\": %" PRId64,
			i ? ",\n" : "\"clocks\": [\n", i, gt_clock_by_names[map->by],
			-map->line.off);
		if (map->line.drift != 0)
			fprintf(out, ", \"at_ns\": \"%" PRId64 "\", \"drift_ppm\": %.3f",
				map->line.x, -map->line.drift * 1e6);
		if (error >= 0)
			fprintf(out, ", \"error_ns\": %" PRId64, error);
		fputc('}', out);
	}
	fputs("],\n", out);
}
