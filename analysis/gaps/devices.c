/* SPDX-License-Identifier: Apache-2.0
 *
 * See gaps.h: the use of devices, first as numbers of one process, then as tables of all. Pure over
 * constant models; one thread per set.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/stats.h"

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
#define DEVICE_WIDTH (sizeof(device_columns) / sizeof(device_columns[0]))

/* What the tables need of one device, in the order of its groups' tags. */
enum device_number {
	WALL,
	BUSY,
	IDLE,
	KERNEL,
	COPY,
	GRAPH,
	COMM,
	KERNEL_COPY,
	COMPUTE_COMM,
	WINDOW,
	BEFORE,
	AFTER,
	GRAPHS, /* their count */
	RANK,
	DEVICE,
	HAS_CLOCK, /* its host is known, and its clock: then */
	FIRST,
	LAST,
	NUMBERS
};

#define GROUPS ((NUMBERS + GT_GROUP_TAGS - 1) / GT_GROUP_TAGS)

/* A device of all traces: its name, and its host's. */
struct device_use {
	const char *name, *host;
	int64_t number[NUMBERS];
};

/* Its groups: the first one's label is the name, the second one's the host. */
static void put_key(uint64_t trace, int64_t device, int part, char *out, size_t size)
{
	snprintf(out, size, "%" PRIu64 " %" PRId64 " %d", trace, device, part);
}

static int add_numbers(struct gt_groups *groups, const struct device_use *use)
{
	char key[80];

	for (int part = 0; part < GROUPS; part++) {
		const char *label = part == 0 ? use->name : part == 1 ? use->host : "";
		struct gt_group *group;

		put_key(groups->trace, use->number[DEVICE], part, key, sizeof(key));
		group = gt_groups_get(groups, key);
		if (!group)
			return -ENOMEM;
		group->label = gt_names_put(&groups->names, label, strlen(label));
		for (int t = 0; t < GT_GROUP_TAGS && part * GT_GROUP_TAGS + t < NUMBERS; t++)
			group->tag[t] = use->number[part * GT_GROUP_TAGS + t];
	}
	return 0;
}

static int add_use(struct gt_groups *groups, const struct gt_device_use *use)
{
	const struct gt_header *header = &use->model->reading.header;
	char name[128], host[256] = "";
	bool has_host = gt_header_text(header, "metadata", "hostname", host, sizeof(host)) &&
			*host && header->has_base;
	const struct device_use one = {
		name,
		host,
		{[WALL] = use->last - use->first,
		 [BUSY] = use->busy,
		 [IDLE] = use->idle,
		 [KERNEL] = use->kernel,
		 [COPY] = use->copy,
		 [GRAPH] = use->graph,
		 [COMM] = use->comm,
		 [KERNEL_COPY] = use->kernel_copy,
		 [COMPUTE_COMM] = use->compute_comm,
		 [WINDOW] = use->until - use->from,
		 [BEFORE] = use->before,
		 [AFTER] = use->after,
		 [GRAPHS] = (int64_t)use->count[GT_OP_GRAPH],
		 [RANK] = use->model->rank,
		 [DEVICE] = use->device,
		 [HAS_CLOCK] = has_host,
		 [FIRST] = use->first + (has_host ? header->base_ns : 0),
		 [LAST] = use->last + (has_host ? header->base_ns : 0)},
	};

	gt_key_of_device(use->model, use->device, name, sizeof(name));
	return add_numbers(groups, &one);
}

int gt_gaps_map_devices(const struct gt_job *job, const struct gt_filter *filter,
			struct gt_groups *groups)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(job, filter, &uses), rc = count < 0 ? count : 0;

	for (int i = 0; !rc && i < count; i++) {
		groups->trace = gt_job_order(job, (size_t)(uses[i].model - job->models));
		rc = add_use(groups, &uses[i]);
	}
	free(uses);
	return rc;
}

/* Of the group @i, if it is the first one of a device whose others are there. */
static bool read_use(struct gt_groups *groups, size_t i, struct device_use *ret_use)
{
	const char *name = gt_group_name(groups, &groups->list.at[i]);
	size_t length = strlen(name);
	char key[80];

	if (length < 2 || length >= sizeof(key) || strcmp(name + length - 2, " 0"))
		return false;
	snprintf(key, sizeof(key), "%s", name);
	for (int part = 0; part < GROUPS; part++) {
		const struct gt_group *group;

		key[length - 1] = (char)('0' + part);
		group = gt_groups_get(groups, key);
		if (!group)
			return false;
		for (int t = 0; t < GT_GROUP_TAGS && part * GT_GROUP_TAGS + t < NUMBERS; t++)
			ret_use->number[part * GT_GROUP_TAGS + t] = group->tag[t];
		if (part < 2)
			*(part ? &ret_use->host : &ret_use->name) =
				gt_names_get(&groups->names, group->label);
	}
	return true;
}

static bool has_graphs(struct gt_groups *groups)
{
	struct device_use use;

	for (size_t i = 0; i < groups->list.count; i++)
		if (read_use(groups, i, &use) && use.number[GRAPHS])
			return true;
	return false;
}

int gt_gaps_fill_devices(struct gt_gaps_parts *parts, struct gt_table *ret_table)
{
	struct gt_groups *groups = &parts->sets[GT_GAPS_DEVICES].groups;
	bool graphs = has_graphs(groups);
	struct device_use use;

	gt_table_init(ret_table, "gpu_devices",
		      "Use of each device (unions of time; the last two are overlaps)",
		      graphs ? device_graph_columns : device_columns,
		      DEVICE_WIDTH + (graphs ? 1 : 0));
	for (size_t i = 0; i < groups->list.count; i++) {
		const int64_t *n = use.number;
		double wall, busy;

		if (!read_use(groups, i, &use))
			continue;
		wall = (double)n[WALL];
		busy = (double)n[BUSY];
		gt_table_text(ret_table, use.name);
		gt_table_number(ret_table, wall);
		gt_table_number(ret_table, busy);
		gt_table_number(ret_table, wall > 0 ? busy * 100 / wall : 0);
		gt_table_number(ret_table, (double)n[IDLE]);
		gt_table_number(ret_table, wall > 0 ? (double)n[IDLE] * 100 / wall : 0);
		for (int k = KERNEL; k <= COMPUTE_COMM; k++)
			if (graphs || k != GRAPH)
				gt_table_number(ret_table, (double)n[k]);
	}
	return 0;
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

static void put_window(const struct device_use *use, struct gt_table *table)
{
	const int64_t *n = use->number;
	double idle = (double)n[IDLE] + (double)n[BEFORE] + (double)n[AFTER];
	double part = n[WINDOW] > 0 ? 100 / (double)n[WINDOW] : 0;

	gt_table_text(table, use->name);
	gt_table_number(table, (double)n[WINDOW]);
	gt_table_number(table, (double)n[BUSY] * part);
	gt_table_number(table, idle * part);
	gt_table_number(table, (double)n[BEFORE]);
	gt_table_number(table, (double)n[BEFORE] * part);
	gt_table_number(table, (double)n[AFTER]);
	gt_table_number(table, (double)n[AFTER] * part);
}

int gt_gaps_fill_windows(struct gt_gaps_parts *parts, struct gt_table *ret_table)
{
	struct gt_groups *groups = &parts->sets[GT_GAPS_DEVICES].groups;
	struct device_use use;

	gt_table_init(ret_table, "gpu_windows", "Busy and idle time of the whole window",
		      window_columns, sizeof(window_columns) / sizeof(window_columns[0]));
	for (size_t i = 0; i < groups->list.count; i++)
		if (read_use(groups, i, &use))
			put_window(&use, ret_table);
	return 0;
}

/* By rank, device and host, then by time. */
static int by_place(const void *a, const void *b)
{
	const struct device_use *x = a, *y = b;
	static const enum device_number order[] = {RANK, DEVICE, FIRST};
	int hosts = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		int64_t p = x->number[order[i]], q = y->number[order[i]];

		if (order[i] == FIRST)
			hosts = strcmp(x->host, y->host);
		if (hosts)
			return hosts;
		if (p != q)
			return p < q ? -1 : 1;
	}
	return 0;
}

static bool is_same_place(const struct device_use *a, const struct device_use *b)
{
	return a->number[RANK] == b->number[RANK] && a->number[DEVICE] == b->number[DEVICE] &&
	       !strcmp(a->host, b->host);
}

/* Were two at work on one device in the same time? A process has a device once. */
static bool overlap(struct device_use *uses, size_t count)
{
	int64_t last = INT64_MIN;

	if (count)
		qsort(uses, count, sizeof(*uses), by_place);
	for (size_t i = 0; i < count; i++) {
		const int64_t *n = uses[i].number;

		if (i && !is_same_place(&uses[i - 1], &uses[i]))
			last = INT64_MIN;
		if (n[FIRST] < last && n[FIRST] < n[LAST])
			return true;
		last = n[LAST] > last ? n[LAST] : last;
	}
	return false;
}

/* Those whose host is known, and whose clock: only by a base can two be compared. */
bool gt_gaps_shared(struct gt_gaps_parts *parts)
{
	struct gt_groups *groups = &parts->sets[GT_GAPS_DEVICES].groups;
	struct device_use *uses = calloc(groups->list.count + 1, sizeof(*uses));
	size_t count = 0, groups_now = groups->list.count;
	bool shared;

	for (size_t i = 0; uses && i < groups_now; i++)
		count += read_use(groups, i, &uses[count]) && uses[count].number[HAS_CLOCK];
	shared = uses && overlap(uses, count);
	free(uses);
	return shared;
}
