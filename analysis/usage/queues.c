/* SPDX-License-Identifier: Apache-2.0
 *
 * The launch queues of streams (analysis/queue.h), summed up and over time. Pure over constant
 * models; one thread per table.
 */
#include <stdio.h>

#include "analysis/queue.h"
#include "analysis/usage/reports.h"

#define SPELLS 50 /* of equal length, in the table over time */

static const struct gt_column columns[] = {
	{"count", "Launches", "launches", GT_COLUMN_COUNT},
	{"mean", "Mean Depth", "mean depth", GT_COLUMN_NUMBER},
	{"max", "Max Depth", "max depth", GT_COLUMN_COUNT},
	{"empty", "Empty (ns)", "empty", GT_COLUMN_TIME},
	{"empty_share", "Empty (%)", "of time", GT_COLUMN_PERCENT},
	{"wait", "Avg Wait (ns)", "mean wait", GT_COLUMN_MEAN},
	{"name", "Stream", "stream", GT_COLUMN_TEXT},
};

static const struct gt_column time_columns[] = {
	{"from", "From (ns)", "from", GT_COLUMN_TIME},
	{"mean", "Mean Depth", "mean depth", GT_COLUMN_NUMBER},
	{"max", "Max Depth", "max depth", GT_COLUMN_COUNT},
	{"name", "Stream", "stream", GT_COLUMN_TEXT},
};

static void print_stream(const struct gt_queue *queue, char *out, size_t size)
{
	char text[64];

	snprintf(text, sizeof(text), " GPU %u stream %d", queue->device, queue->stream);
	gt_key_of_place(queue->model, text, out, size);
}

static void put_queue(struct gt_table *table, const struct gt_queue *queue)
{
	double length = (double)(queue->last - queue->first);
	char text[160];

	print_stream(queue, text, sizeof(text));
	gt_table_number(table, (double)queue->launches);
	gt_table_number(table, length > 0 ? queue->area / length : 0);
	gt_table_number(table, queue->most);
	gt_table_number(table, (double)queue->empty);
	gt_table_number(table, length > 0 ? (double)queue->empty * 100 / length : 0);
	gt_table_number(table, queue->area / (double)queue->launches);
	gt_table_text(table, text);
}

GT_USAGE_BUILD(queues)
{
	struct gt_queues queues;
	int rc = gt_queues_build(job, filter, &queues);

	gt_table_init(ret_table, report->name, report->title, columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; !rc && i < queues.list.count; i++)
		put_queue(ret_table, &queues.list.at[i]);
	gt_table_sort(ret_table, "count");
	gt_queues_fini(&queues);
	return rc;
}

/* Mean and greatest depth from @from to @until; the walk goes on where the last spell ended. */
static void put_spell(struct gt_table *table, struct gt_queue_walk *walk, int64_t from,
		      int64_t until, const char *name)
{
	double area = 0;
	uint32_t most = 0;

	for (;; gt_queue_walk_on(walk)) {
		const struct gt_queue_point *at = &walk->at;
		int64_t start = at->at > from ? at->at : from;
		int64_t end = !walk->has_next || walk->next.at > until ? until : walk->next.at;

		if (end > start) {
			area += (double)at->depth * (double)(end - start);
			most = at->depth > most ? at->depth : most;
		}
		if (!walk->has_next || walk->next.at >= until)
			break;
	}
	gt_table_number(table, (double)(from - walk->queue->model->origin));
	gt_table_number(table, area / (double)(until - from));
	gt_table_number(table, most);
	gt_table_text(table, name);
}

static void put_spells(struct gt_table *table, const struct gt_queue *queue)
{
	int64_t length = queue->last - queue->first;
	int64_t spells = length < SPELLS ? length : SPELLS;
	struct gt_queue_walk walk;
	char name[160];

	gt_queue_walk_start(&walk, queue);
	print_stream(queue, name, sizeof(name));
	for (int64_t i = 0; i < spells; i++)
		put_spell(table, &walk,
			  queue->first + (int64_t)((double)length * (double)i / (double)spells),
			  queue->first +
				  (int64_t)((double)length * (double)(i + 1) / (double)spells),
			  name);
}

GT_USAGE_BUILD(queue_times)
{
	struct gt_queues queues;
	int rc = gt_queues_build(job, filter, &queues);

	gt_table_init(ret_table, report->name, report->title, time_columns,
		      sizeof(time_columns) / sizeof(time_columns[0]));
	for (size_t i = 0; !rc && i < queues.list.count; i++)
		put_spells(ret_table, &queues.list.at[i]);
	gt_queues_fini(&queues);
	return rc;
}
