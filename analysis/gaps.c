/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: finding the gaps, and the use of devices. What explains one gap is in gaps_explain.c,
 * the table of causes in gaps_causes.c. Pure over constant models; one thread per set.
 */
#include "analysis/gaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/stats.h"

const char *const gt_cause_names[GT_CAUSE_COUNT_] = {
	[GT_CAUSE_LAUNCH] = "launch latency",  [GT_CAUSE_SYNC] = "synchronization",
	[GT_CAUSE_LOADING] = "kernel loading", [GT_CAUSE_API] = "CUDA call",
	[GT_CAUSE_DATA] = "data loading",      [GT_CAUSE_HOST] = "host work",
	[GT_CAUSE_BLOCKED] = "blocking call",  [GT_CAUSE_COPY] = "copy wait",
	[GT_CAUSE_QUEUED] = "queued",          [GT_CAUSE_FUNCTION] = "host function",
	[GT_CAUSE_UNKNOWN] = "unknown",
};

/* Whether the minimum hides an idle time. */
static bool is_hidden(struct gt_gaps *gaps, int64_t idle, int64_t min_ns)
{
	if (idle >= min_ns)
		return false;
	gaps->shorter += idle > 0;
	if (idle > gaps->longest_shorter)
		gaps->longest_shorter = idle;
	return true;
}

static void add_edge(struct gt_gaps *gaps, struct gt_gaps_edge *edge, int64_t idle, int64_t min_ns)
{
	if (is_hidden(gaps, idle, min_ns))
		return;
	edge->total += idle;
	edge->count += idle > 0;
	edge->max = idle > edge->max ? idle : edge->max;
}

/* Other work than what the filter lets pass is no gap: a gap ends with what it lets pass. */
static int find_gaps(const struct gt_device_use *use, const struct gt_filter *filter,
		     int64_t min_ns, struct gt_gaps *gaps)
{
	const struct gt_model *model = use->model;
	uint32_t latest = GT_NONE;
	int64_t last = 0;

	for (uint32_t k = 0; k < use->track->count; k++) {
		uint32_t i = model->device_ops[use->track->first + k];
		const struct gt_op *op = &model->ops.at[i];

		if (latest != GT_NONE && op->start > last && op->start > use->first &&
		    gt_filter_op(filter, model, op) && !is_hidden(gaps, op->start - last, min_ns) &&
		    !gt_vec_push(&gaps->list,
				 ((struct gt_gap){model, last, op->start, i, latest, use->device})))
			return -ENOMEM;
		if (latest == GT_NONE || op->start + op->dur >= last) {
			last = op->start + op->dur;
			latest = i;
		}
	}
	gaps->wall += use->last - use->first;
	gaps->idle += use->idle;
	gaps->window += use->until - use->from;
	add_edge(gaps, &gaps->before, use->before, min_ns);
	add_edge(gaps, &gaps->after, use->after, min_ns);
	return 0;
}

bool gt_gaps_hidden(const struct gt_gaps *gaps, int64_t min_ns, char *ret_text, size_t size)
{
	char minimum[32], longest[32];

	if (gaps->list.count || gaps->before.count || gaps->after.count || !gaps->shorter)
		return false;
	gt_table_time((double)min_ns, minimum, sizeof(minimum));
	gt_table_time((double)gaps->longest_shorter, longest, sizeof(longest));
	snprintf(ret_text, size,
		 "No gap is as long as %s (--min): of %" PRIu64 " shorter one%s the longest is %s.",
		 minimum, gaps->shorter, gaps->shorter == 1 ? "" : "s", longest);
	return true;
}

int gt_gaps_build(const struct gt_job *job, const struct gt_filter *filter, int64_t min_ns,
		  struct gt_gaps *ret_gaps)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses), rc = count < 0 ? count : 0;

	*ret_gaps = (struct gt_gaps){0};
	for (int i = 0; !rc && i < count; i++)
		rc = find_gaps(&uses[i], filter, min_ns, ret_gaps);
	free(uses);
	return rc;
}

void gt_gaps_fini(struct gt_gaps *gaps)
{
	gt_vec_free(&gaps->list);
}

#define DEVICE_COLUMNS(...)                                                                        \
	{                                                                                          \
		{"device", "Device", "device", GT_COLUMN_TEXT},                                    \
			{"wall", "Wall (ns)", "wall", GT_COLUMN_TIME},                             \
			{"busy", "Busy (ns)", NULL, GT_COLUMN_TIME},                               \
			{"busy_share", "Busy (%)", "busy", GT_COLUMN_PERCENT},                     \
			{"idle", "Idle (ns)", NULL, GT_COLUMN_TIME},                               \
			{"idle_share", "Idle (%)", "idle", GT_COLUMN_PERCENT},                     \
			{"kernels", "Kernels (ns)", "kernels", GT_COLUMN_TIME},                    \
			{"copies", "Copies (ns)", "copies", GT_COLUMN_TIME},                       \
			__VA_ARGS__{"comm", "Communication (ns)", "communication",                 \
				    GT_COLUMN_TIME},                                               \
			{"kernel_copy", "Kernels And Copies (ns)", "kernels+copies",               \
			 GT_COLUMN_TIME},                                                          \
			{"compute_comm", "Compute And Communication (ns)", "compute+comm.",        \
			 GT_COLUMN_TIME},                                                          \
	}

/* Few traces have whole graphs. */
static const struct gt_column device_columns[] = DEVICE_COLUMNS();
static const struct gt_column device_graph_columns[] =
	DEVICE_COLUMNS({"graphs", "Graphs (ns)", "graphs", GT_COLUMN_TIME}, );
#define GRAPHS_CELL  7 /* behind the device's name */
#define DEVICE_WIDTH (sizeof(device_columns) / sizeof(device_columns[0]))

/* When a process was at work on a device that has the same rank and number in others. */
struct gaps_place {
	int rank;
	uint16_t device;
	uint32_t host; /* its name's number */
	int64_t first, last;
};

static int by_place(const void *a, const void *b)
{
	const struct gaps_place *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static bool is_same_place(const struct gaps_place *a, const struct gaps_place *b)
{
	return a->rank == b->rank && a->device == b->device && a->host == b->host;
}

/* Those whose host is known, and whose clock: only by a base can two be compared. A process has a
 * device once. */
static size_t find_places(const struct gt_device_use *uses, size_t count, struct gt_names *hosts,
			  struct gaps_place *places)
{
	const struct gt_model *model = NULL;
	uint32_t host = GT_NAME_NONE;
	size_t n = 0;
	char text[256];

	for (size_t i = 0; i < count; i++) {
		const struct gt_header *header = &uses[i].model->reading.header;

		if (uses[i].model != model)
			host = gt_header_text(header, "metadata", "hostname", text, sizeof(text))
				       ? gt_names_put(hosts, text, strlen(text))
				       : GT_NAME_NONE;
		model = uses[i].model;
		if (host != GT_NAME_NONE && header->has_base)
			places[n++] = (struct gaps_place){
				.rank = model->rank,
				.device = uses[i].device,
				.host = host,
				.first = uses[i].first + header->base_ns,
				.last = uses[i].last + header->base_ns,
			};
	}
	return n;
}

/* Were two at work on one device in the same time? */
static bool overlap(struct gaps_place *places, size_t count)
{
	int64_t last = INT64_MIN;

	if (count)
		qsort(places, count, sizeof(*places), by_place);
	for (size_t i = 0; i < count; i++) {
		if (i && !is_same_place(&places[i - 1], &places[i]))
			last = INT64_MIN;
		if (places[i].first < last && places[i].first < places[i].last)
			return true;
		last = places[i].last > last ? places[i].last : last;
	}
	return false;
}

bool gt_gaps_shared(const struct gt_job *job, const struct gt_filter *filter)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses);
	struct gaps_place *places = calloc((size_t)(count > 0 ? count : 0) + 1, sizeof(*places));
	struct gt_names hosts;
	bool shared = false;

	if (count > 0 && places && !gt_names_init(&hosts)) {
		shared = overlap(places, find_places(uses, (size_t)count, &hosts, places));
		gt_names_fini(&hosts);
	}
	free(places);
	free(uses);
	return shared;
}

static bool has_graphs(const struct gt_device_use *uses, int count)
{
	for (int i = 0; i < count; i++)
		if (uses[i].count[GT_OP_GRAPH])
			return true;
	return false;
}

int gt_gaps_devices(const struct gt_job *job, const struct gt_filter *filter,
		    struct gt_table *ret_table)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses);
	bool graphs = has_graphs(uses, count);
	char text[128];

	gt_table_init(ret_table, "gpu_devices",
		      "Use of each device (unions of time; the last two are overlaps)",
		      graphs ? device_graph_columns : device_columns,
		      DEVICE_WIDTH + (graphs ? 1 : 0));
	for (int i = 0; i < count; i++) {
		const struct gt_device_use *use = &uses[i];
		double wall = (double)(use->last - use->first), busy = (double)use->busy;
		const double cells[] = {
			wall,
			busy,
			wall > 0 ? busy * 100 / wall : 0,
			(double)use->idle,
			wall > 0 ? (double)use->idle * 100 / wall : 0,
			(double)use->kernel,
			(double)use->copy,
			(double)use->graph,
			(double)use->comm,
			(double)use->kernel_copy,
			(double)use->compute_comm,
		};

		gt_key_of_device(use->model, use->device, text, sizeof(text));
		gt_table_text(ret_table, text);
		for (size_t k = 0; k < sizeof(cells) / sizeof(cells[0]); k++)
			if (graphs || k != GRAPHS_CELL)
				gt_table_number(ret_table, cells[k]);
	}
	free(uses);
	return count < 0 ? count : 0;
}

static const struct gt_column window_columns[] = {
	{"device", "Device", "device", GT_COLUMN_TEXT},
	{"window", "Window (ns)", "window", GT_COLUMN_TIME},
	{"busy_share", "Busy (%)", "busy", GT_COLUMN_PERCENT},
	{"idle_share", "Idle (%)", "idle", GT_COLUMN_PERCENT},
	{"before", "Before First (ns)", "before first", GT_COLUMN_TIME},
	{"before_share", "Before First (%)", NULL, GT_COLUMN_PERCENT},
	{"after", "After Last (ns)", "after last", GT_COLUMN_TIME},
	{"after_share", "After Last (%)", NULL, GT_COLUMN_PERCENT},
};

static void put_window(const struct gt_device_use *use, struct gt_table *table)
{
	int64_t window = use->until - use->from;
	double idle = (double)use->idle + (double)use->before + (double)use->after;
	double part = window > 0 ? 100 / (double)window : 0;
	char text[128];

	gt_key_of_device(use->model, use->device, text, sizeof(text));
	gt_table_text(table, text);
	gt_table_number(table, (double)window);
	gt_table_number(table, (double)use->busy * part);
	gt_table_number(table, idle * part);
	gt_table_number(table, (double)use->before);
	gt_table_number(table, (double)use->before * part);
	gt_table_number(table, (double)use->after);
	gt_table_number(table, (double)use->after * part);
}

int gt_gaps_windows(const struct gt_job *job, const struct gt_filter *filter,
		    struct gt_table *ret_table)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses);

	gt_table_init(ret_table, "gpu_windows", "Busy and idle time of the whole window",
		      window_columns, sizeof(window_columns) / sizeof(window_columns[0]));
	for (int i = 0; i < count; i++)
		put_window(&uses[i], ret_table);
	free(uses);
	return count < 0 ? count : 0;
}
