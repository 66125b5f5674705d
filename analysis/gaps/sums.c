/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: what is one number of all traces, and lines that follow from it. Pure over constant
 * models; one thread per set.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/share.h"
#include "core/schema/ledger.h"

struct gt_group *gt_gaps_sum(struct gt_gaps_parts *parts, const char *name)
{
	static struct gt_group none; /* where there is no memory for it */
	struct gt_group *group = gt_groups_get(&parts->sets[GT_GAPS_SUMS].groups, name);

	return group ? group : &none;
}

int64_t gt_gaps_total(struct gt_gaps_parts *parts, const char *name)
{
	return gt_gaps_sum(parts, name)->tag[GT_GAPS_TAG_SUM];
}

int gt_gaps_parts_init(struct gt_gaps_parts *parts)
{
	static const struct gt_group_set sets[GT_GAPS_SET_COUNT_] = {
		[GT_GAPS_SUMS] = {.name = "gap sums",
				  .joins = {GT_TAG_SUM, GT_TAG_MAX, GT_TAG_FIRST}},
		[GT_GAPS_BASES] = {.name = "gap bases", .joins = GT_SHARES_JOINS},
		[GT_GAPS_PLACES] = {.name = "gap places", .joins = GT_SHARES_JOINS},
		[GT_GAPS_FILES] = {.name = "gap files", .joins = {GT_TAG_SUM}},
		[GT_GAPS_KEYS] = {.name = "gap keys", .joins = {GT_TAG_SUM}},
		[GT_GAPS_LAUNCHES] = {.name = "gap launches", .joins = {GT_TAG_SUM}},
		[GT_GAPS_DEVICES] = {.name = "devices",
				     .joins = {GT_TAG_FIRST, GT_TAG_FIRST, GT_TAG_FIRST,
					       GT_TAG_FIRST, GT_TAG_FIRST}},
	};
	int rc = 0;

	memcpy(parts->sets, sets, sizeof(sets));
	for (int i = 0; !rc && i < GT_GAPS_SET_COUNT_; i++)
		rc = gt_groups_init(&parts->sets[i].groups);
	return rc;
}

void gt_gaps_parts_fini(struct gt_gaps_parts *parts)
{
	for (int i = 0; i < GT_GAPS_SET_COUNT_; i++)
		gt_groups_fini(&parts->sets[i].groups);
}

static bool has_frames(const struct gt_model *model)
{
	for (size_t i = 0; i < model->threads.count; i++)
		if (model->threads.at[i].range[GT_RANGE_PYTHON].count)
			return true;
	return model->stacks.count;
}

static int frame_of(const struct gt_model *model)
{
	if (!has_frames(model))
		return GT_GAPS_FRAME_NONE;
	return model->ranks ? GT_GAPS_FRAME_USER : GT_GAPS_FRAME_INNERMOST;
}

void gt_gaps_map_sums(struct gt_gaps_parts *parts, const struct gt_gaps *gaps)
{
	const struct gt_gap *first = gaps->list.count ? gt_gaps_at(gaps, 0) : NULL;

	gt_gaps_sum(parts, GT_GAPS_WALL)->tag[GT_GAPS_TAG_SUM] += gaps->wall;
	gt_gaps_sum(parts, GT_GAPS_IDLE)->tag[GT_GAPS_TAG_SUM] += gaps->idle;
	gt_gaps_sum(parts, GT_GAPS_WINDOW)->tag[GT_GAPS_TAG_SUM] += gaps->window;
	gt_gaps_sum(parts, GT_GAPS_GAPS)->tag[GT_GAPS_TAG_SUM] += (int64_t)gaps->list.count;
	gt_gaps_sum(parts, GT_GAPS_SHORTER)->tag[GT_GAPS_TAG_SUM] += (int64_t)gaps->shorter;
	gt_gaps_sum(parts, GT_GAPS_SHORTER)->tag[GT_GAPS_TAG_MAX] = gaps->longest_shorter;
	gt_gaps_sum(parts, GT_GAPS_BEFORE)->tag[GT_GAPS_TAG_SUM] += gaps->before.total;
	gt_gaps_sum(parts, GT_GAPS_BEFORE)->tag[GT_GAPS_TAG_MAX] = gaps->before.max;
	gt_gaps_sum(parts, GT_GAPS_BEFORE GT_GAPS_COUNT)->tag[GT_GAPS_TAG_SUM] +=
		(int64_t)gaps->before.count;
	gt_gaps_sum(parts, GT_GAPS_AFTER)->tag[GT_GAPS_TAG_SUM] += gaps->after.total;
	gt_gaps_sum(parts, GT_GAPS_AFTER)->tag[GT_GAPS_TAG_MAX] = gaps->after.max;
	gt_gaps_sum(parts, GT_GAPS_AFTER GT_GAPS_COUNT)->tag[GT_GAPS_TAG_SUM] +=
		(int64_t)gaps->after.count;
	if (!first)
		return;
	parts->sets[GT_GAPS_SUMS].groups.trace =
		gt_job_order(gaps->job, (size_t)(first->model - gaps->job->models));
	gt_gaps_sum(parts, GT_GAPS_FRAME)->tag[GT_GAPS_TAG_FRAME] = frame_of(first->model);
}

/* Counts of samples: those that were taken first. */
static const struct {
	enum gt_ledger_key key;
	const char *name, *what;
} samples[] = {
	{GT_LEDGER_SAMPLES_RECEIVED, GT_GAPS_TAKEN, NULL},
	{GT_LEDGER_SAMPLES_LATE, GT_GAPS_TAKEN " late", "too late for a processor"},
	{GT_LEDGER_SAMPLES_SKIPPED, GT_GAPS_TAKEN " skipped", "in calls or not possible"},
	{GT_LEDGER_SAMPLES_LOST, GT_GAPS_TAKEN " lost", "failed"},
};

#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

static void map_samples(struct gt_gaps_parts *parts, const struct gt_job *job)
{
	for (size_t k = 0; k < SAMPLES; k++)
		for (size_t i = 0; i < job->count; i++) {
			int64_t count;

			if (gt_header_int(&job->models[i].reading.header, "ledger",
					  gt_ledger_rows[samples[k].key].json, &count) &&
			    count > 0)
				gt_gaps_sum(parts, samples[k].name)->tag[GT_GAPS_TAG_SUM] += count;
		}
}

int gt_gaps_map(struct gt_gaps_parts *parts, const struct gt_job *job,
		const struct gt_filter *filter, int64_t min_ns)
{
	struct gt_gaps gaps;
	int rc = gt_gaps_build(job, filter, min_ns, &gaps);

	if (!rc)
		rc = gt_gaps_map_causes(parts, &gaps, NULL, NULL);
	if (!rc)
		rc = gt_gaps_map_devices(job, filter, &parts->sets[GT_GAPS_DEVICES].groups);
	if (!rc)
		rc = gt_gaps_map_clocks(parts, job);
	gt_gaps_map_sums(parts, &gaps);
	map_samples(parts, job);
	gt_gaps_fini(&gaps);
	return rc;
}

bool gt_gaps_hidden(struct gt_gaps_parts *parts, int64_t min_ns, char *ret_text, size_t size)
{
	char minimum[32], longest[32];
	int64_t shorter = gt_gaps_total(parts, GT_GAPS_SHORTER);

	if (gt_gaps_total(parts, GT_GAPS_GAPS) ||
	    gt_gaps_total(parts, GT_GAPS_BEFORE GT_GAPS_COUNT) ||
	    gt_gaps_total(parts, GT_GAPS_AFTER GT_GAPS_COUNT) || !shorter)
		return false;
	gt_table_time((double)min_ns, minimum, sizeof(minimum));
	gt_table_time((double)gt_gaps_sum(parts, GT_GAPS_SHORTER)->tag[GT_GAPS_TAG_MAX], longest,
		      sizeof(longest));
	snprintf(ret_text, size,
		 "No gap is as long as %s (--min): of %" PRId64 " shorter one%s the longest is %s.",
		 minimum, shorter, shorter == 1 ? "" : "s", longest);
	return true;
}

bool gt_gaps_missed(struct gt_gaps_parts *parts, char *ret_text, size_t size)
{
	int64_t taken = gt_gaps_total(parts, GT_GAPS_TAKEN), due = 0;
	const char *gap = "; ";
	size_t n;

	for (size_t i = 0; i < SAMPLES; i++)
		due += gt_gaps_total(parts, samples[i].name);
	if (!taken || (double)taken >= (double)due * 0.95)
		return false;
	n = (size_t)snprintf(ret_text, size, "Samples: %" PRId64 " of %" PRId64 " due (%.0f %%)",
			     taken, due, (double)taken * 100 / (double)due);
	for (size_t i = 1; i < SAMPLES && n < size; i++) {
		int64_t count = gt_gaps_total(parts, samples[i].name);

		if (!count)
			continue;
		n += (size_t)snprintf(ret_text + n, size - n, "%s%" PRId64 " %s", gap, count,
				      samples[i].what);
		gap = ", ";
	}
	if (n < size)
		snprintf(ret_text + n, size - n, ". Each stands for the time around it.");
	return true;
}
