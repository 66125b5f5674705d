/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs into medians, medians into what was added and by whom: one table a workload, one with the
 * split, or all of it with every single run as JSON.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/bench/bench.h"
#include "readers/show.h"

static const char *const figure_names[GT_BENCH_FIGURES_] = {
	[GT_BENCH_NS] = "ns_per_launch",
	[GT_BENCH_WALL] = "wall_ns_per_launch",
	[GT_BENCH_CPU] = "cpu_ns_per_launch",
	[GT_BENCH_BYTES] = "bytes_per_launch",
	[GT_BENCH_DROPS] = "drops",
	[GT_BENCH_LEFT] = "left_out",
	[GT_BENCH_DRAIN] = "drain_ns_per_launch",
	[GT_BENCH_SHARE] = "drain_percent_of_a_processor",
	[GT_BENCH_RSS] = "rss_mib",
	[GT_BENCH_CLOCK] = "clock_ns",
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

bool gt_bench_spread(const struct gt_bench *bench, size_t workload, size_t level,
		     enum gt_bench_figure figure, struct gt_bench_spread *ret)
{
	const struct gt_bench_runs *runs = &bench->runs[workload][level];
	double values[GT_BENCH_MAX_RUNS];
	size_t n = 0;

	for (size_t i = 0; i < runs->count; i++)
		if (!isnan(runs->figure[figure][i]))
			values[n++] = runs->figure[figure][i];
	if (!n)
		return false;
	qsort(values, n, sizeof(values[0]), compare);
	*ret = (struct gt_bench_spread){.median = n % 2 ? values[n / 2]
							: (values[n / 2 - 1] + values[n / 2]) / 2,
					.least = values[0],
					.largest = values[n - 1]};
	return true;
}

static double median(const struct gt_bench *bench, size_t workload, size_t level,
		     enum gt_bench_figure figure)
{
	struct gt_bench_spread spread;

	return gt_bench_spread(bench, workload, level, figure, &spread) ? spread.median : NAN;
}

static size_t find_level(const char *name)
{
	size_t i = 0;

	while (strcmp(gt_bench_levels[i].name, name) != 0)
		i++;
	return i;
}

/* ns of a launch under one level more than under another; NaN: one of them was not measured. */
static double added(const struct gt_bench *bench, size_t workload, size_t level, const char *to)
{
	return median(bench, workload, level, GT_BENCH_NS) -
	       median(bench, workload, find_level(to), GT_BENCH_NS);
}

/* The largest difference, of either sign, between repetitions of two levels that ran side by side;
 * 0: none is negative. */
static double noise(const struct gt_bench *bench, size_t workload, size_t level, const char *to)
{
	const struct gt_bench_runs *more = &bench->runs[workload][level];
	const struct gt_bench_runs *less = &bench->runs[workload][find_level(to)];
	double least = INFINITY, largest = -INFINITY;

	for (size_t i = 0; i < more->count && i < less->count; i++) {
		double by = more->figure[GT_BENCH_NS][i] - less->figure[GT_BENCH_NS][i];

		least = by < least ? by : least;
		largest = by > largest ? by : largest;
	}
	if (least >= 0)
		return 0;
	return -least > largest ? -least : largest;
}

/* ---- the split: what stands between two levels ---- */

static const struct {
	const char *name, *title, *with, *without;
} split[] = {
	{"hook", "Hook", "preload", "none"},
	{"record", "Record by hook", "hooks", "preload"},
	{"cupti", "CUPTI", "floor", "none"},
	{"callback", "Callback", "calls", "floor"},
	{"unwinding", "Unwind", "stacks", "calls"},
	{"python", "Python", "python", "stacks"},
	{"nvtx", "NVTX", "nvtx", "stacks"},
};
#define SPLITS (sizeof(split) / sizeof(split[0]))

static double part_of(const struct gt_bench *bench, size_t workload, size_t part)
{
	if (!gt_bench_workloads[workload].runtime && !strcmp(split[part].name, "record"))
		return NAN; /* hooks see the runtime's calls only */
	return added(bench, workload, find_level(split[part].with), split[part].without);
}

/* A record by a hook is two clock readings, the ring and the ledger: what is left without the
 * clock. */
static double ring_of(const struct gt_bench *bench, size_t workload)
{
	if (!gt_bench_workloads[workload].runtime)
		return NAN;
	return added(bench, workload, find_level("hooks"), "preload") -
	       2 * median(bench, workload, find_level("hooks"), GT_BENCH_CLOCK);
}

/* ---- for people ---- */

#define COLUMN(id, title)                                                                          \
	{                                                                                          \
		id, title, title, GT_COLUMN_TEXT                                                   \
	}

static const struct gt_column level_columns[] = {
	COLUMN("level", "Level"),   COLUMN("ns", "ns/launch"),  COLUMN("spread", "Least..largest"),
	COLUMN("added", "Added"),   COLUMN("floor", "x floor"), COLUMN("bytes", "Bytes/launch"),
	COLUMN("drops", "Lost"),    COLUMN("left", "Left out"), COLUMN("drain", "Drain ns"),
	COLUMN("share", "Drain %"), COLUMN("rss", "RSS MiB"),
};
#define LEVEL_COLUMNS (sizeof(level_columns) / sizeof(level_columns[0]))

static const struct gt_column split_columns[] = {
	COLUMN("workload", "Workload"), COLUMN("hook", "Hook"),     COLUMN("record", "Record"),
	COLUMN("ring", "Of it ring"),   COLUMN("cupti", "CUPTI"),   COLUMN("callback", "Callback"),
	COLUMN("unwind", "Unwind"),     COLUMN("python", "Python"), COLUMN("nvtx", "NVTX"),
	COLUMN("drain", "Drain ns"),    COLUMN("share", "Drain %"),
};
#define SPLIT_COLUMNS (sizeof(split_columns) / sizeof(split_columns[0]))

static void put(struct gt_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void put(struct gt_table *table, const char *format, ...)
{
	char text[400];
	va_list list;

	va_start(list, format);
	vsnprintf(text, sizeof(text), format, list);
	va_end(list);
	gt_table_text(table, text);
}

static void put_number(struct gt_table *table, const char *format, double number)
{
	char text[64];

	snprintf(text, sizeof(text), format, number);
	gt_table_text(table, isnan(number) || isinf(number) ? "-" : text);
}

/* Nothing becomes faster by what is added: where a repetition says so, the difference is only known
 * to be less than the largest of them. */
static void put_added(struct gt_table *table, double more, double most)
{
	if (most > 0 && !isnan(more))
		put(table, "< %.0f", ceil(most));
	else
		put_number(table, "%+.0f", more);
}

static void put_ring(struct gt_table *table, double ring)
{
	put_number(table, "%+.0f", ring < 0 ? NAN : ring);
}

static void put_level(const struct gt_bench *bench, size_t w, size_t l, struct gt_table *table)
{
	bool is_base = !strcmp(gt_bench_levels[l].name, "none");
	double more = is_base ? NAN : added(bench, w, l, "none");
	double floor = added(bench, w, find_level("floor"), "none");
	double most = is_base ? 0 : noise(bench, w, l, "none");
	struct gt_bench_spread ns;

	put(table, "%s", gt_bench_levels[l].title);
	if (!gt_bench_spread(bench, w, l, GT_BENCH_NS, &ns)) {
		put(table, "not measured: %s", bench->runs[w][l].missing);
		for (size_t i = 2; i < LEVEL_COLUMNS; i++)
			gt_table_text(table, "");
		return;
	}
	put(table, "%.0f", ns.median);
	put(table, "%.0f..%.0f", ns.least, ns.largest);
	put_added(table, more, most);
	put_number(table, "%.2f", floor > 0 && !(most > 0) ? more / floor : NAN);
	put_number(table, "%.0f", median(bench, w, l, GT_BENCH_BYTES));
	put_number(table, "%.0f", median(bench, w, l, GT_BENCH_DROPS));
	put_number(table, "%.0f", median(bench, w, l, GT_BENCH_LEFT));
	put_number(table, "%.0f", median(bench, w, l, GT_BENCH_DRAIN));
	put_number(table, "%.1f", median(bench, w, l, GT_BENCH_SHARE));
	put_number(table, "%.0f", median(bench, w, l, GT_BENCH_RSS));
}

static void put_split(const struct gt_bench *bench, size_t w, struct gt_table *table)
{
	size_t stacks = find_level("stacks");

	put(table, "%s", gt_bench_workloads[w].title);
	for (size_t i = 0; i < SPLITS; i++) {
		put_added(table, part_of(bench, w, i),
			  noise(bench, w, find_level(split[i].with), split[i].without));
		if (!strcmp(split[i].name, "record"))
			put_ring(table, ring_of(bench, w));
	}
	put_number(table, "%.0f", median(bench, w, stacks, GT_BENCH_DRAIN));
	put_number(table, "%.1f", median(bench, w, stacks, GT_BENCH_SHARE));
}

static void print_tables(const struct gt_bench *bench, const struct gt_print *how, FILE *out)
{
	struct gt_table tables[GT_BENCH_MAX_WORKLOADS + 1];
	struct gt_table *last = tables;

	for (size_t w = 0; w < gt_bench_workload_count; w++) {
		if (!bench->wanted_workload[w])
			continue;
		gt_table_init(last, gt_bench_workloads[w].name, gt_bench_workloads[w].title,
			      level_columns, LEVEL_COLUMNS);
		for (size_t l = 0; l < gt_bench_level_count; l++)
			if (bench->wanted_level[l])
				put_level(bench, w, l, last);
		last++;
	}
	gt_table_init(last, "split", "What adds the nanoseconds of a launch", split_columns,
		      SPLIT_COLUMNS);
	for (size_t w = 0; w < gt_bench_workload_count; w++)
		if (bench->wanted_workload[w])
			put_split(bench, w, last);
	last++;
	fprintf(out, "%s%s; %s, medians of %zu interleaved repetitions\n\n", bench->device,
		bench->simulated ? " (simulated: no GPU, no real driver, no real CUPTI)" : "",
		bench->by_cpu ? "processor time of the launching thread" : "time on the wall",
		bench->repetitions);
	gt_table_print(tables, (size_t)(last - tables), how, out);
	while (last-- > tables)
		gt_table_fini(last);
}

/* ---- for programs ---- */

static void json_number(FILE *out, double number)
{
	if (isnan(number) || isinf(number))
		fputs("null", out);
	else
		fprintf(out, "%.10g", number);
}

static void json_figure(const struct gt_bench *bench, size_t w, size_t l,
			enum gt_bench_figure figure, FILE *out)
{
	const struct gt_bench_runs *runs = &bench->runs[w][l];
	struct gt_bench_spread spread;

	if (!gt_bench_spread(bench, w, l, figure, &spread))
		return;
	fprintf(out, ", \"%s\": {\"median\": ", figure_names[figure]);
	json_number(out, spread.median);
	fputs(", \"least\": ", out);
	json_number(out, spread.least);
	fputs(", \"largest\": ", out);
	json_number(out, spread.largest);
	fputs(", \"runs\": [", out);
	for (size_t i = 0; i < runs->count; i++) {
		fputs(i ? ", " : "", out);
		json_number(out, runs->figure[figure][i]);
	}
	fputs("]}", out);
}

static void json_level(const struct gt_bench *bench, size_t w, size_t l, FILE *out)
{
	const struct gt_bench_runs *runs = &bench->runs[w][l];

	fputs("{\"name\": ", out);
	gt_show_json(gt_bench_levels[l].name, out);
	fputs(", \"title\": ", out);
	gt_show_json(gt_bench_levels[l].title, out);
	if (!runs->count) {
		fputs(", \"not measured\": ", out);
		gt_show_json(runs->missing, out);
	}
	for (int figure = 0; figure < GT_BENCH_FIGURES_; figure++)
		json_figure(bench, w, l, (enum gt_bench_figure)figure, out);
	fputs("}", out);
}

static void json_workload(const struct gt_bench *bench, size_t w, FILE *out)
{
	const char *comma = "";

	fputs("{\"name\": ", out);
	gt_show_json(gt_bench_workloads[w].name, out);
	fputs(", \"title\": ", out);
	gt_show_json(gt_bench_workloads[w].title, out);
	fputs(", \"levels\": [", out);
	for (size_t l = 0; l < gt_bench_level_count; l++) {
		if (!bench->wanted_level[l])
			continue;
		fprintf(out, "%s\n  ", comma);
		json_level(bench, w, l, out);
		comma = ",";
	}
	fputs("],\n  \"split\": {", out);
	for (size_t i = 0; i < SPLITS; i++) {
		fprintf(out, "\"%s\": ", split[i].name);
		json_number(out, part_of(bench, w, i));
		fputs(", ", out);
	}
	fputs("\"ring\": ", out);
	json_number(out, ring_of(bench, w));
	fputs("}}", out);
}

static void print_json(const struct gt_bench *bench, FILE *out)
{
	const char *comma = "";

	fputs("{\"device\": ", out);
	gt_show_json(bench->device, out);
	fprintf(out, ", \"clock\": \"%s\"", bench->by_cpu ? "cpu" : "wall");
	fprintf(out, ", \"simulated\": %s, \"repetitions\": %zu, \"workloads\": [",
		bench->simulated ? "true" : "false", bench->repetitions);
	for (size_t w = 0; w < gt_bench_workload_count; w++) {
		if (!bench->wanted_workload[w])
			continue;
		fprintf(out, "%s\n ", comma);
		json_workload(bench, w, out);
		comma = ",";
	}
	fputs("]}\n", out);
}

void gt_bench_print(const struct gt_bench *bench, const struct gt_print *how, FILE *out)
{
	if (how->format == GT_FORMAT_JSON)
		print_json(bench, out);
	else
		print_tables(bench, how, out);
}
