/* SPDX-License-Identifier: Apache-2.0
 *
 * See stats.h: the reports that are one group per name. Those that join calls, kernels and ranges
 * are in stats_join.c. Pure over constant models; one thread per table.
 */
#include "analysis/stats.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/group.h"
#include "analysis/key_group.h"
#include "analysis/stats_inside.h"
#include "analysis/stats_join.h"
#include "readers/keymap.h"

#define KEY_TEXT 16384

#define SUM_COLUMNS(brief, count, kind, name, ...)                                                 \
	{                                                                                          \
		{"share", "Time (%)", "share", GT_COLUMN_PERCENT},                                 \
			{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},                     \
			{"count", count, "count", GT_COLUMN_COUNT},                                \
			{"mean", "Avg (ns)", "mean", GT_COLUMN_MEAN},                              \
			{"median", "Med (ns)", brief("median"), GT_COLUMN_MEAN},                   \
			__VA_ARGS__{"min", "Min (ns)", "min", GT_COLUMN_TIME},                     \
			{"max", "Max (ns)", "max", GT_COLUMN_TIME},                                \
			{"stddev", "StdDev (ns)", brief("stddev"), GT_COLUMN_MEAN},                \
			{"name", name, "name", kind},                                              \
	}
#define SHOWN(title)  title
#define HIDDEN(title) NULL
#define SUM_WIDTH     9

/* Behind the median; in tables that have them. */
#define PERCENTILES                                                                                \
	{"p90", "P90 (ns)", "p90", GT_COLUMN_MEAN}, {"p99", "P99 (ns)", "p99", GT_COLUMN_MEAN},
#define PERCENTILES_WIDTH 2

/* The columns of one kind of sums: in the short tables, in others, with percentiles. */
struct stats_columns {
	struct gt_column brief[SUM_WIDTH], whole[SUM_WIDTH],
		percentiles[SUM_WIDTH + PERCENTILES_WIDTH];
};

#define ALL_COLUMNS(...)                                                                           \
	{                                                                                          \
		.brief = SUM_COLUMNS(HIDDEN, __VA_ARGS__, ),                                       \
		.whole = SUM_COLUMNS(SHOWN, __VA_ARGS__, ),                                        \
		.percentiles = SUM_COLUMNS(SHOWN, __VA_ARGS__, PERCENTILES),                       \
	}

static const struct stats_columns kernel_columns = ALL_COLUMNS("Instances", GT_COLUMN_CODE, "Name");
static const struct stats_columns api_columns = ALL_COLUMNS("Num Calls", GT_COLUMN_TEXT, "Name");
static const struct stats_columns copy_columns = ALL_COLUMNS("Count", GT_COLUMN_TEXT, "Operation");

/* total: launched there; inside: launched there or by what was called from there; frame: whose
 * code it is. */
#define CODE_COLUMNS(frame, ...)                                                                   \
	{                                                                                          \
		{"share", "Time (%)", "share", GT_COLUMN_PERCENT},                                 \
			{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},                     \
			{"inside", "Inside Time (ns)", "inside", GT_COLUMN_TIME},                  \
			{"count", "Instances", "count", GT_COLUMN_COUNT},                          \
			{"mean", "Avg (ns)", "mean", GT_COLUMN_MEAN},                              \
			{"median", "Med (ns)", "median", GT_COLUMN_MEAN},                          \
			__VA_ARGS__{"min", "Min (ns)", "min", GT_COLUMN_TIME},                     \
			{"max", "Max (ns)", "max", GT_COLUMN_TIME},                                \
			{"stddev", "StdDev (ns)", "stddev", GT_COLUMN_MEAN},                       \
			{"frame", "Frame", frame("frame"), GT_COLUMN_TEXT},                        \
			{"name", "Name", "name", GT_COLUMN_CODE},                                  \
	}
#define CODE_WIDTH 11

/* People get the column where stacks have no frame of the user's. */
static const struct gt_column code_columns[] = CODE_COLUMNS(HIDDEN, );
static const struct gt_column mixed_code_columns[] = CODE_COLUMNS(SHOWN, );
static const struct gt_column code_percentiles[] = CODE_COLUMNS(HIDDEN, PERCENTILES);
static const struct gt_column mixed_code_percentiles[] = CODE_COLUMNS(SHOWN, PERCENTILES);

#define SIZE_COLUMNS(...)                                                                          \
	{                                                                                          \
		{"total", "Total (MB)", "total", GT_COLUMN_BYTES},                                 \
			{"count", "Count", "count", GT_COLUMN_COUNT},                              \
			__VA_ARGS__{"mean", "Avg (MB)", "mean", GT_COLUMN_BYTES},                  \
			{"median", "Med (MB)", "median", GT_COLUMN_BYTES},                         \
			{"min", "Min (MB)", "min", GT_COLUMN_BYTES},                               \
			{"max", "Max (MB)", "max", GT_COLUMN_BYTES},                               \
			{"stddev", "StdDev (MB)", "stddev", GT_COLUMN_BYTES},                      \
			{"name", "Operation", "operation", GT_COLUMN_TEXT},                        \
	}
#define SIZES_WIDTH 8

/* The sizes that a trace tells; where it does not tell all, of how many. */
static const struct gt_column size_columns[] = SIZE_COLUMNS();
static const struct gt_column some_size_columns[] =
	SIZE_COLUMNS({"of", "Operations", "of", GT_COLUMN_COUNT}, );

#define NVTX_COLUMNS(...)                                                                          \
	{                                                                                          \
		{"share", "Time (%)", "share", GT_COLUMN_PERCENT},                                 \
			{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},                     \
			{"count", "Instances", "count", GT_COLUMN_COUNT},                          \
			{"mean", "Avg (ns)", "mean", GT_COLUMN_MEAN},                              \
			{"median", "Med (ns)", "median", GT_COLUMN_MEAN},                          \
			__VA_ARGS__{"min", "Min (ns)", "min", GT_COLUMN_TIME},                     \
			{"max", "Max (ns)", "max", GT_COLUMN_TIME},                                \
			{"stddev", "StdDev (ns)", "stddev", GT_COLUMN_MEAN},                       \
			{"style", "Style", NULL, GT_COLUMN_TEXT},                                  \
			{"name", "Range", "range", GT_COLUMN_TEXT},                                \
	}
#define NVTX_WIDTH 10

static const struct gt_column nvtx_columns[] = NVTX_COLUMNS();
static const struct gt_column nvtx_percentiles[] = NVTX_COLUMNS(PERCENTILES);

/* Starts the table of a report of sums. */
static void init_sums(struct gt_table *table, const struct gt_report *report,
		      const struct stats_columns *columns)
{
	gt_table_init(table, report->name, report->title,
		      report->percentiles ? columns->percentiles
		      : report->is_short  ? columns->brief
					  : columns->whole,
		      SUM_WIDTH + (report->percentiles ? PERCENTILES_WIDTH : 0));
}

/* Has it a column of that name? */
static bool has_column(const struct gt_table *table, const char *id)
{
	for (size_t c = 0; c < table->width; c++)
		if (!strcmp(table->columns[c].id, id))
			return true;
	return false;
}

/* Of no operation at all people get no 0 ns. */
static void add_moment(struct gt_table *table, const struct gt_moments *m, double number)
{
	if (m->count)
		gt_table_number(table, number);
	else
		gt_table_word(table, number, "-");
}

/* Adds the moments of a group behind its share: total, count, mean, ... */
static void add_moments(struct gt_table *table, const struct gt_moments *m)
{
	gt_table_number(table, (double)m->total);
	gt_table_number(table, (double)m->count);
	add_moment(table, m, m->mean);
	add_moment(table, m, m->median);
	if (has_column(table, "p90")) {
		add_moment(table, m, m->p90);
		add_moment(table, m, m->p99);
	}
	add_moment(table, m, (double)m->min);
	add_moment(table, m, (double)m->max);
	add_moment(table, m, m->stddev);
}

static double grand_total(const struct gt_groups *groups)
{
	double total = 0;

	for (size_t i = 0; i < groups->list.count; i++)
		total += (double)gt_dist_total(&groups->list.at[i].value);
	return total;
}

/* One row per group, largest total first; @ranges: their names have the style in front. */
static void fill_sum(struct gt_table *table, struct gt_groups *groups, bool ranges)
{
	double total = grand_total(groups);

	for (size_t i = 0; i < groups->list.count; i++) {
		struct gt_moments m = gt_dist_moments(&groups->list.at[i].value);
		const char *name = gt_group_name(groups, &groups->list.at[i]);

		gt_table_number(table, total > 0 ? (double)m.total * 100 / total : 0);
		add_moments(table, &m);
		if (ranges)
			gt_table_text(table, gt_stats_range_style(name));
		gt_table_text(table, ranges ? gt_stats_range_name(name) : name);
	}
	gt_table_sort(table, "total");
}

/* Tag of struct gt_group: operations whose size is not known. */
#define TAG_SIZELESS 3

/* One row per group, largest total first. A size that the trace does not tell is in no sum. */
static void fill_sizes(struct gt_table *table, struct gt_groups *groups, bool all_known)
{
	for (size_t i = 0; i < groups->list.count; i++) {
		struct gt_group *group = &groups->list.at[i];
		struct gt_moments m = gt_dist_moments(&group->value);
		const double moments[] = {m.mean, m.median, (double)m.min, (double)m.max, m.stddev};

		if (m.count)
			gt_table_number(table, (double)m.total);
		else
			gt_table_absent(table, "-");
		gt_table_number(table, (double)m.count);
		if (!all_known)
			gt_table_number(table, (double)m.count + (double)group->tag[TAG_SIZELESS]);
		for (size_t k = 0; k < sizeof(moments) / sizeof(moments[0]); k++)
			if (m.count)
				gt_table_number(table, moments[k]);
			else
				gt_table_absent(table, "-");
		gt_table_text(table, gt_group_name(groups, group));
	}
	gt_table_sort(table, "total");
}

int gt_stats_by_groups(const struct gt_report *report, const struct gt_job *job,
		       const struct gt_filter *filter, struct gt_table *ret_table)
{
	struct gt_groups groups;
	int rc = gt_groups_init(&groups), filled;

	if (!rc)
		rc = report->map(report, job, filter, &groups);
	filled = report->fill(report, &groups, ret_table);
	gt_groups_fini(&groups);
	return rc ? rc : filled;
}

static bool add_value(const struct gt_report *report, struct gt_group *group,
		      const struct gt_op *op)
{
	if (!report->bytes)
		return gt_dist_add(&group->value, op->dur);
	if (op->bytes != GT_NO_BYTES)
		return gt_dist_add(&group->value, op->bytes);
	group->tag[TAG_SIZELESS]++;
	return true;
}

int gt_stats_map_ops(const struct gt_report *report, const struct gt_job *job,
		     const struct gt_filter *filter, struct gt_groups *groups)
{
	int rc = 0;

	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];
		struct gt_keymap known = {0};

		groups->trace = gt_job_order(job, f);
		for (size_t i = 0; !rc && i < model->ops.count; i++) {
			const struct gt_op *op = gt_model_op_at(model, i);
			struct gt_group *group;

			if (!(report->kinds >> op->kind & 1) || !gt_filter_op(filter, model, op))
				continue;
			group = gt_key_group(model, op, report->key, &known, groups);
			if (!group || !add_value(report, group, op))
				rc = -ENOMEM;
		}
		gt_keymap_fini(&known);
	}
	return rc;
}

static int fill_kernels(const struct gt_report *report, struct gt_groups *groups,
			struct gt_table *ret_table)
{
	init_sums(ret_table, report, &kernel_columns);
	fill_sum(ret_table, groups, false);
	return 0;
}

static int fill_copies(const struct gt_report *report, struct gt_groups *groups,
		       struct gt_table *ret_table)
{
	init_sums(ret_table, report, &copy_columns);
	fill_sum(ret_table, groups, false);
	return 0;
}

static int fill_copy_sizes(const struct gt_report *report, struct gt_groups *groups,
			   struct gt_table *ret_table)
{
	bool all_known = true;

	for (size_t i = 0; i < groups->list.count; i++)
		all_known &= !groups->list.at[i].tag[TAG_SIZELESS];
	gt_table_init(ret_table, report->name, report->title,
		      all_known ? size_columns : some_size_columns, SIZES_WIDTH + !all_known);
	fill_sizes(ret_table, groups, all_known);
	return 0;
}

static int group_calls(const struct gt_model *model, const struct gt_filter *filter,
		       struct gt_groups *groups)
{
	struct gt_filter_calls chosen;
	int rc = gt_filter_calls_init(&chosen, filter, model);
	struct gt_keymap known = {0}; /* name + 1 -> place in the list + 1 */

	for (size_t i = 0; !rc && i < model->calls.count; i++) {
		const struct gt_call *call = gt_model_call_at(model, i);
		struct gt_keymap_entry *entry;
		struct gt_group *group;

		if (!gt_filter_call(&chosen, call))
			continue;
		entry = gt_keymap_get(&known, (uint64_t)call->name + 1);
		group = entry && entry->value
				? &groups->list.at[entry->value - 1]
				: gt_groups_get(groups, gt_model_name(model, call->name));
		if (entry && group)
			entry->value = group - groups->list.at + 1;
		if (!group || !gt_dist_add(&group->value, call->dur))
			rc = -ENOMEM;
	}
	gt_keymap_fini(&known);
	gt_filter_calls_fini(&chosen);
	return rc;
}

static int map_calls(const struct gt_report *report, const struct gt_job *job,
		     const struct gt_filter *filter, struct gt_groups *groups)
{
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++) {
		groups->trace = gt_job_order(job, f);
		rc = group_calls(&job->models[f], filter, groups);
	}
	return rc;
}

static int fill_calls(const struct gt_report *report, struct gt_groups *groups,
		      struct gt_table *ret_table)
{
	init_sums(ret_table, report, &api_columns);
	fill_sum(ret_table, groups, false);
	return 0;
}

static int group_ranges(const struct gt_model *model, const struct gt_filter *filter,
			struct gt_groups *groups)
{
	char text[KEY_TEXT];

	for (size_t i = 0; i < model->ranges.count; i++) {
		const struct gt_model_range *range = &model->ranges.at[i];
		struct gt_group *group;

		if (range->kind != GT_RANGE_NVTX || !gt_filter_range(filter, model, range))
			continue;
		gt_stats_range_key(model, range, text, sizeof(text));
		group = gt_groups_get(groups, text);
		if (!group || !gt_dist_add(&group->value, range->dur))
			return -ENOMEM;
	}
	return 0;
}

static int map_ranges(const struct gt_report *report, const struct gt_job *job,
		      const struct gt_filter *filter, struct gt_groups *groups)
{
	int rc = 0;

	for (size_t f = 0; !rc && f < job->count; f++) {
		groups->trace = gt_job_order(job, f);
		rc = group_ranges(&job->models[f], filter, groups);
	}
	return rc;
}

static int fill_ranges(const struct gt_report *report, struct gt_groups *groups,
		       struct gt_table *ret_table)
{
	gt_table_init(ret_table, report->name, report->title,
		      report->percentiles ? nvtx_percentiles : nvtx_columns,
		      NVTX_WIDTH + (report->percentiles ? PERCENTILES_WIDTH : 0));
	fill_sum(ret_table, groups, true);
	return 0;
}

#define COPIES (1u << GT_OP_COPY | 1u << GT_OP_SET)

/* Of all operations of some kinds, by kernel. */
#define OPS(id, text, of, with, ...)                                                               \
	{                                                                                          \
		.name = (id), .title = (text), .build = gt_stats_by_groups,                        \
		.map = gt_stats_map_ops, .fill = (with), .key = GT_KEY_KERNEL, .kinds = (of),      \
		__VA_ARGS__                                                                        \
	}

#define GROUPS(id, text, from, with, ...)                                                          \
	{                                                                                          \
		.name = (id), .title = (text), .build = gt_stats_by_groups, .map = (from),         \
		.fill = (with), __VA_ARGS__                                                        \
	}

const struct gt_report gt_reports[] = {
	OPS("cuda_gpu_kern_sum", "CUDA GPU kernels", 1u << GT_OP_KERNEL, fill_kernels, ),
	GROUPS("cuda_api_sum", "CUDA API calls", map_calls, fill_calls, ),
	OPS("cuda_gpu_mem_time_sum", "GPU copies and sets, by time", COPIES, fill_copies, ),
	OPS("cuda_gpu_mem_size_sum", "GPU copies and sets, by size", COPIES, fill_copy_sizes,
	    .bytes = true, .joins = {[TAG_SIZELESS] = GT_TAG_SUM}),
	GROUPS("nvtx_sum", "NVTX ranges", map_ranges, fill_ranges, ),
	GROUPS("nvtx_gpu_proj_sum", "NVTX ranges projected onto the GPU", gt_stats_map_projection,
	       gt_stats_fill_projection, .joins = {GT_TAG_SUM, GT_TAG_SUM, GT_TAG_SUM}),
	GROUPS("cuda_kern_exec_sum", "Kernel launch and execution: API, queue, kernel",
	       gt_stats_map_execution, gt_stats_fill_execution,
	       .joins = {GT_TAG_FIRST, GT_TAG_FIRST, GT_TAG_FIRST, GT_TAG_FIRST}),
	OPS("cuda_gpu_graph_sum", "CUDA graphs, each launch as a whole", 1u << GT_OP_GRAPH,
	    fill_copies, ),
	{.name = NULL},
};

const struct gt_report gt_stats_short[GT_STATS_SHORT] = {
	OPS("cuda_gpu_kern_sum", "Kernels", 1u << GT_OP_KERNEL, fill_kernels, .is_short = true),
	GROUPS("cuda_api_sum", "CUDA API", map_calls, fill_calls, .is_short = true),
	OPS("cuda_gpu_mem_time_sum", "Copies", COPIES, fill_copies, .is_short = true),
	OPS("cuda_gpu_graph_sum", "Graphs", 1u << GT_OP_GRAPH, fill_copies, .is_short = true),
};

static bool has_graphs(const struct gt_model *model)
{
	for (size_t i = 0; i < model->ops.count; i++)
		if (gt_model_op_traits(model, i)->kind == GT_OP_GRAPH)
			return true;
	return false;
}

size_t gt_stats_short_count(const struct gt_job *job)
{
	for (size_t f = 0; f < job->count; f++)
		if (has_graphs(&job->models[f]))
			return GT_STATS_SHORT;
	return GT_STATS_SHORT - 1;
}

/* Whose code the frame of a group is. */
static const char *frame_of(const struct gt_group *group, const char *name, bool any)
{
	if (!strcmp(name, GT_KEY_UNKNOWN))
		return "";
	if (any)
		return "innermost";
	return group->tag[GT_TAG_FRAME] == GT_TAG_FRAME_LIBRARY ? "innermost" : "user";
}

static void put_code(struct gt_table *table, struct gt_groups *groups, bool any)
{
	double total = grand_total(groups);

	for (size_t i = 0; i < groups->list.count; i++) {
		struct gt_group *group = &groups->list.at[i];
		struct gt_moments m = gt_dist_moments(&group->value);
		const char *name = gt_group_name(groups, group);

		gt_table_number(table, total > 0 ? (double)m.total * 100 / total : 0);
		gt_table_number(table, (double)m.total);
		gt_table_number(table, (double)group->tag[GT_TAG_INSIDE]);
		gt_table_number(table, (double)m.count);
		gt_table_number(table, m.mean);
		gt_table_number(table, m.median);
		if (has_column(table, "p90")) {
			gt_table_number(table, m.p90);
			gt_table_number(table, m.p99);
		}
		gt_table_number(table, (double)m.min);
		gt_table_number(table, (double)m.max);
		gt_table_number(table, m.stddev);
		gt_table_text(table, frame_of(group, name, any));
		gt_table_text(table, name);
	}
	gt_table_sort(table, "total");
}

/* What a table of code is called where its places are the user's. */
static const char *code_title(enum gt_key key, bool any)
{
	switch (key) {
	case GT_KEY_LINE:
		return any ? "GPU time by launching line (innermost frame)"
			   : "GPU time by launching line of the user's code";
	case GT_KEY_FUNCTION:
		return any ? "GPU time by launching function (innermost frame)"
			   : "GPU time by launching function of the user's code";
	default:
		return any ? "GPU time by launching module (innermost frame)"
			   : "GPU time by launching module of the user's code";
	}
}

static int map_code(const struct gt_report *report, const struct gt_job *job,
		    const struct gt_filter *filter, struct gt_groups *groups)
{
	int rc = gt_stats_map_ops(report, job, filter, groups);

	return rc ? rc : gt_stats_inside(job, filter, report->key, groups);
}

static int fill_code(const struct gt_report *report, struct gt_groups *groups,
		     struct gt_table *ret_table)
{
	bool any = report->is_any_frame, mixed = false;

	for (size_t i = 0; i < groups->list.count; i++)
		mixed |= !any && groups->list.at[i].tag[GT_TAG_FRAME] == GT_TAG_FRAME_LIBRARY;
	if (report->percentiles)
		gt_table_init(ret_table, report->name, code_title(report->key, any),
			      mixed ? mixed_code_percentiles : code_percentiles,
			      CODE_WIDTH + PERCENTILES_WIDTH);
	else
		gt_table_init(ret_table, report->name, code_title(report->key, any),
			      mixed ? mixed_code_columns : code_columns, CODE_WIDTH);
	put_code(ret_table, groups, any);
	return 0;
}

bool gt_stats_any_frame(const struct gt_job *job)
{
	return !job->count || !job->models[0].ranks;
}

struct gt_report gt_stats_by(enum gt_key key, bool is_any_frame)
{
	static const struct {
		const char *name, *title;
	} titles[GT_KEY_COUNT_] = {
		[GT_KEY_KERNEL] = {"gpu_by_kernel", "GPU time by kernel"},
		[GT_KEY_STACK] = {"gpu_by_stack", "GPU time by launching call stack"},
		[GT_KEY_LINE] = {"gpu_by_line", NULL},
		[GT_KEY_FUNCTION] = {"gpu_by_function", NULL},
		[GT_KEY_MODULE] = {"gpu_by_module", NULL},
		[GT_KEY_OP] = {"gpu_by_op", "GPU time by framework operator"},
		[GT_KEY_STEP] = {"gpu_by_step", "GPU time by step"},
		[GT_KEY_STREAM] = {"gpu_by_stream", "GPU time by stream"},
		[GT_KEY_DEVICE] = {"gpu_by_device", "GPU time by device"},
		[GT_KEY_RANK] = {"gpu_by_rank", "GPU time by rank"},
		[GT_KEY_NVTX] = {"gpu_by_nvtx", "GPU time by NVTX range"},
	};
	bool is_code = gt_stats_has_inside(key);

	return (struct gt_report){
		.name = titles[key].name,
		.title = titles[key].title,
		.build = gt_stats_by_groups,
		.map = is_code ? map_code : gt_stats_map_ops,
		.fill = is_code ? fill_code : fill_kernels,
		.key = key,
		.kinds = ~0u,
		.is_any_frame = is_any_frame,
		.joins = {[GT_TAG_INSIDE] = GT_TAG_SUM, [GT_TAG_FRAME] = GT_TAG_OR},
	};
}
