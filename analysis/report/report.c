/* SPDX-License-Identifier: Apache-2.0
 *
 * See report.h. Pure over constant models; one thread per page.
 */
#include "analysis/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/gaps.h"
#include "analysis/intervals.h"
#include "analysis/report/page.h"
#include "analysis/stacks.h"
#include "analysis/stats.h"
#include "analysis/table/short_names.h"
#include "analysis/table/table.h"
#include "readers/show.h"

#define BINS           600
#define MAX_STRIPS     64 /* devices in the timeline */
#define TABLE_ROWS     25
#define LABEL_WIDTH    180
#define MAX_POINTS     2000 /* of a memory line */
#define MEMORY_DEVICES 64

/* The last one is drawn only where there are whole graphs. */
enum strip { STRIP_COMPUTE, STRIP_COMM, STRIP_COPY, STRIP_GRAPH, STRIP_COUNT_ };

static const struct {
	const char *name, *color;
} strips[STRIP_COUNT_] = {
	{"compute", "#3a9d5d"},
	{"communication", "#e08a1e"},
	{"copies and sets", "#3b7dd8"},
	{"whole graphs", "#8a5fbf"},
};

struct page {
	const struct gt_job *job;
	const struct gt_filter *filter;
	struct gt_device_use *uses;
	int use_count;
	bool has_graphs;     /* whole ones */
	int64_t base;        /* of the earliest clock, 0: they cannot be compared */
	int64_t first, last; /* over all devices, by that clock */
	FILE *out;
};

static void put_time(double ns, FILE *out)
{
	char text[64];

	fputs(gt_table_time(ns, text, sizeof(text)), out);
}

static void print_head(const struct page *page, const char *title)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">" GT_REPORT_MARK
	      "<title>",
	      page->out);
	gt_show_xml(title, page->out);
	fprintf(page->out, "</title><style>%s</style></head><body>\n<h1>", report_style);
	gt_show_xml(title, page->out);
	fputs("</h1>\n", page->out);
}

static bool is_filtered(const struct gt_job *job)
{
	char filters[GT_METADATA_FILTERS];

	for (size_t i = 0; i < job->count; i++)
		if (gt_stats_filters(&job->models[i].reading, filters))
			return true;
	return false;
}

static void print_card(const char *what, const char *value, FILE *out)
{
	fputs("<div class=\"card\"><b>", out);
	gt_show_xml(value, out);
	fputs("</b>", out);
	gt_show_xml(what, out);
	fputs("</div>\n", out);
}

static void print_cost(const struct page *page)
{
	char text[256];

	if (!gt_stats_cost(page->job, text, sizeof(text)))
		return;
	fprintf(page->out, "<p>tracer cost%s: ", page->job->count > 1 ? ", at most" : "");
	gt_show_xml(text, page->out);
	fputs("</p>\n", page->out);
}

static void print_summary(const struct page *page)
{
	uint64_t events = 0, ops = 0, calls = 0;
	double busy = 0, wall = 0;
	char text[64];

	for (size_t i = 0; i < page->job->count; i++) {
		events += page->job->models[i].reading.events;
		ops += page->job->models[i].ops.count;
		calls += page->job->models[i].calls.count;
	}
	for (int i = 0; i < page->use_count; i++) {
		busy += (double)page->uses[i].busy;
		wall += (double)(page->uses[i].last - page->uses[i].first);
	}
	fputs("<div class=\"cards\">\n", page->out);
	snprintf(text, sizeof(text), "%zu", page->job->count);
	print_card(page->job->count == 1 ? "trace" : "traces", text, page->out);
	snprintf(text, sizeof(text), "%d", page->use_count);
	print_card(page->use_count == 1 ? "device" : "devices", text, page->out);
	print_card("from first to last GPU operation",
		   gt_table_time((double)(page->last - page->first), text, sizeof(text)),
		   page->out);
	snprintf(text, sizeof(text), "%.1f %%", wall > 0 ? busy * 100 / wall : 0);
	print_card(is_filtered(page->job) ? "GPU busy (filtered)" : "GPU busy", text, page->out);
	snprintf(text, sizeof(text), "%" PRIu64, ops);
	print_card("GPU operations", text, page->out);
	snprintf(text, sizeof(text), "%" PRIu64, calls);
	print_card("CUDA calls", text, page->out);
	snprintf(text, sizeof(text), "%" PRIu64, events);
	print_card("events", text, page->out);
	fputs("</div>\n", page->out);
	print_cost(page);
}

static enum strip strip_of(const struct gt_op *op)
{
	if (op->kind == GT_OP_GRAPH)
		return STRIP_GRAPH;
	return op->kind != GT_OP_KERNEL ? STRIP_COPY : op->comm ? STRIP_COMM : STRIP_COMPUTE;
}

/* What a model's times are behind the earliest clock. */
static int64_t shift_of(const struct page *page, const struct gt_model *model)
{
	return page->base ? model->reading.header.base_ns - page->base : 0;
}

/* @first: the beginning of the page by the clock of @set. */
static void print_strip(const struct page *page, const struct gt_intervals *set, int64_t first,
			enum strip strip, double y)
{
	double bin = (double)(page->last - page->first) / BINS;

	for (int i = 0; i < BINS && set->count; i++) {
		int64_t from = first + (int64_t)(i * bin), to = first + (int64_t)((i + 1) * bin);
		double share =
			to > from ? (double)gt_intervals_within(set, from, to) / (double)(to - from)
				  : 0;

		if (share <= 0)
			continue;
		fprintf(page->out,
			"<rect x=\"%d\" y=\"%.1f\" width=\"2\" height=\"%.1f\" fill=\"%s\"/>\n",
			i * 2, y + 13 * (1 - share), 13 * share, strips[strip].color);
	}
}

static int strip_count(const struct page *page)
{
	return page->has_graphs ? STRIP_COUNT_ : STRIP_GRAPH;
}

/* Of a device in the timeline. */
static int device_height(const struct page *page)
{
	return 22 + 14 * strip_count(page);
}

static int print_device(const struct page *page, const struct gt_device_use *use, double y)
{
	struct gt_intervals sets[STRIP_COUNT_] = {0};
	char label[64];
	int rc = 0;

	for (uint32_t i = 0; !rc && i < use->track->count; i++) {
		const struct gt_op *op = gt_model_op_of(use->model, use->track, i);

		if (gt_filter_op(page->filter, use->model, op) &&
		    !gt_intervals_add(&sets[strip_of(op)], op->start, op->start + op->dur))
			rc = -ENOMEM;
	}
	gt_key_of_device(use->model, use->device, label, sizeof(label));
	fprintf(page->out, "<text x=\"2\" y=\"%.0f\" font-size=\"11\">%s ", y + 11, label);
	gt_show_xml(use->name, page->out);
	fputs("</text>\n", page->out);
	for (int s = 0; s < strip_count(page); s++) {
		gt_intervals_merge(&sets[s]);
		print_strip(page, &sets[s], page->first - shift_of(page, use->model), (enum strip)s,
			    y + 15 + s * 14);
		gt_intervals_fini(&sets[s]);
	}
	return rc;
}

static void print_more_devices(const struct page *page, int shown)
{
	if (shown < page->use_count)
		fprintf(page->out, "<p class=\"quiet\">%d more devices</p>\n",
			page->use_count - shown);
}

static int print_timeline(const struct page *page)
{
	int shown = page->use_count < MAX_STRIPS ? page->use_count : MAX_STRIPS, rc = 0;
	int height = device_height(page);

	fputs("<h2>Timeline</h2>\n<p class=\"key\">Share of each moment that a device spent in",
	      page->out);
	for (int s = 0; s < strip_count(page); s++)
		fprintf(page->out, "<i style=\"background:%s\"></i>%s", strips[s].color,
			strips[s].name);
	fprintf(page->out,
		"</p>\n<svg viewBox=\"0 0 1200 %d\" role=\"img\" aria-label=\"how busy each device "
		"was "
		"over time\" font-family=\"sans-serif\" "
		"shape-rendering=\"crispEdges\">\n",
		shown * height + 18);
	for (int i = 0; !rc && i < shown; i++)
		rc = print_device(page, &page->uses[i], i * height);
	fprintf(page->out,
		"<text x=\"2\" y=\"%d\" font-size=\"11\">0</text><text x=\"1198\" y=\"%d\" "
		"font-size=\"11\" text-anchor=\"end\">",
		shown * height + 12, shown * height + 12);
	put_time((double)(page->last - page->first), page->out);
	fputs("</text>\n</svg>\n", page->out);
	print_more_devices(page, shown);
	return rc;
}

/* One bar per device: what its time went into. */
static void print_overlap(const struct page *page)
{
	static const struct {
		const char *name, *color;
	} parts[] = {{"compute only", "#3a9d5d"},
		     {"compute and communication", "#a8b545"},
		     {"communication only", "#e08a1e"},
		     {"copies only", "#3b7dd8"},
		     {"idle", "#d9d9d9"},
		     {"whole graphs only", "#8a5fbf"}};
	size_t part_count = sizeof(parts) / sizeof(parts[0]) - !page->has_graphs;
	int shown = page->use_count < MAX_STRIPS ? page->use_count : MAX_STRIPS;
	char label[64];

	fputs("<h2>Overlap</h2>\n<p class=\"key\">", page->out);
	for (size_t p = 0; p < part_count; p++)
		fprintf(page->out, "<i style=\"background:%s\"></i>%s", parts[p].color,
			parts[p].name);
	fprintf(page->out,
		"</p>\n<svg viewBox=\"0 0 1200 %d\" role=\"img\" aria-label=\"what the time of "
		"each "
		"device went into\" font-family=\"sans-serif\" font-size=\"11\">\n",
		shown * 22 + 2);
	for (int i = 0; i < shown; i++) {
		const struct gt_device_use *use = &page->uses[i];
		double wall = (double)(use->last - use->first), x = LABEL_WIDTH;
		double compute = (double)(use->kernel - use->comm + use->compute_comm);
		double graphs = (double)(use->graph - use->kernel_graph);
		const double values[] = {
			compute - (double)use->compute_comm,
			(double)use->compute_comm,
			(double)(use->comm - use->compute_comm),
			(double)(use->busy - use->kernel) - graphs,
			(double)use->idle,
			graphs,
		};

		gt_key_of_device(use->model, use->device, label, sizeof(label));
		fprintf(page->out, "<text x=\"2\" y=\"%d\">%s</text>\n", i * 22 + 15, label);
		for (size_t p = 0; wall > 0 && p < part_count; p++) {
			double w = values[p] * (1190 - LABEL_WIDTH) / wall;

			fprintf(page->out,
				"<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"18\" "
				"fill=\"%s\">"
				"<title>%s: ",
				x, i * 22 + 2, w > 0 ? w : 0, parts[p].color, parts[p].name);
			put_time(values[p], page->out);
			fprintf(page->out, " (%.1f %%)</title></rect>\n", values[p] * 100 / wall);
			x += w;
		}
	}
	fputs("</svg>\n", page->out);
	print_more_devices(page, shown);
}

static void print_table(const struct gt_table *table, FILE *out)
{
	struct gt_short_names names;
	char text[4096];

	gt_short_names_make(&names, table, TABLE_ROWS, GT_TABLE_NAME_WIDTH, false);
	fputs("<h3>", out);
	gt_show_xml(table->title, out);
	fputs("</h3>\n<table><thead><tr>", out);
	for (size_t c = 0; c < table->width; c++)
		if (table->columns[c].brief)
			fprintf(out, "<th scope=\"col\" tabindex=\"0\"%s>%s</th>",
				table->columns[c].kind <= GT_COLUMN_CODE ? " class=\"t\"" : "",
				table->columns[c].brief);
	fputs("</tr></thead><tbody>\n", out);
	for (size_t i = 0; i < table->cells.count && i < TABLE_ROWS * table->width; i++) {
		const struct gt_column *column = &table->columns[i % table->width];
		bool is_text = column->kind <= GT_COLUMN_CODE;

		if (i % table->width == 0)
			fputs("<tr>", out);
		if (column->brief && is_text)
			fputs("<td class=\"t\" title=\"", out);
		if (column->brief && is_text)
			gt_show_xml(table->cells.at[i].text ? table->cells.at[i].text : "", out);
		if (column->brief && is_text)
			fputs("\">", out);
		else if (column->brief)
			fprintf(out, "<td data-v=\"%.3f\">", table->cells.at[i].number);
		if (column->brief) {
			gt_show_xml(gt_table_cell(table, i, &names, text, sizeof(text)), out);
			fputs("</td>", out);
		}
		if ((i + 1) % table->width == 0)
			fputs("</tr>\n", out);
	}
	fputs("</tbody></table>\n", out);
	if (table->rows > TABLE_ROWS)
		fprintf(out, "<p class=\"quiet\">%zu more rows</p>\n", table->rows - TABLE_ROWS);
	gt_short_names_fini(&names);
}

static int print_stats(const struct page *page)
{
	int rc = 0;

	fputs("<h2>Sums</h2>\n", page->out);
	for (size_t i = 0; !rc && i < gt_stats_short_count(page->job); i++) {
		struct gt_table table;

		rc = gt_stats_short[i].build(&gt_stats_short[i], page->job, page->filter, &table);
		if (!rc)
			print_table(&table, page->out);
		gt_table_fini(&table);
	}
	if (!rc) {
		struct gt_table table;

		rc = gt_stats_by(page->job, page->filter, GT_KEY_LINE, &table);
		if (!rc)
			print_table(&table, page->out);
		gt_table_fini(&table);
	}
	return rc;
}

static int print_gaps(const struct page *page)
{
	struct gt_table causes = {0}, devices = {0}, windows = {0}, peers = {0};
	struct gt_gaps gaps;
	bool differ = false;
	int rc = gt_gaps_build(page->job, page->filter, 0, &gaps);

	fputs("<h2>Why was the GPU idle?</h2>\n", page->out);
	if (!rc)
		rc = gt_gaps_table(&gaps, &causes);
	if (!rc)
		rc = gt_gaps_devices(page->job, page->filter, &devices);
	if (!rc)
		rc = gt_gaps_windows(page->job, page->filter, &windows);
	if (!rc)
		rc = gt_gaps_peers(page->job, page->filter, &peers, &differ);
	if (!rc) {
		print_table(&causes, page->out);
		print_table(&devices, page->out);
		print_table(&windows, page->out);
		if (peers.rows)
			print_table(&peers, page->out);
		if (differ)
			fputs("<p class=\"quiet\">" GT_GAPS_DIFFER "</p>\n", page->out);
	}
	gt_table_fini(&causes);
	gt_table_fini(&devices);
	gt_table_fini(&windows);
	gt_table_fini(&peers);
	gt_gaps_fini(&gaps);
	return rc;
}

static int print_flame(const struct page *page)
{
	struct gt_folded stacks;
	int rc = gt_folded_build(page->job, page->filter, GT_WEIGHT_GPU, &stacks);

	fputs("<h2>Who asked for it</h2>\n", page->out);
	if (!rc)
		gt_folded_print_svg(&stacks, GT_WEIGHT_GPU, "Call stacks by time on the GPU", true,
				    page->out);
	gt_folded_fini(&stacks);
	return rc;
}

/* Memory in use on one device of one trace, as a line; at most MAX_POINTS of it. */
static void print_memory_of(const struct page *page, const struct gt_model *model, uint32_t device)
{
	int64_t first = INT64_MAX, last = INT64_MIN, most = 1;
	struct gt_memory_point high = {0};
	size_t count = 0, step, k = 0;
	char text[64], label[64];

	for (size_t i = 0; i < model->memory.count; i++) {
		const struct gt_memory_point *point = &model->memory.at[i];

		if (point->device != device)
			continue;
		count++;
		first = point->ts < first ? point->ts : first;
		last = point->ts > last ? point->ts : last;
		most = point->bytes > most ? point->bytes : most;
	}
	if (count < 2 || last == first)
		return;
	step = count / MAX_POINTS + 1;
	gt_key_of_device(model, device, label, sizeof(label));
	fprintf(page->out,
		"<p>%s, at most %s</p>\n<svg viewBox=\"0 0 1200 110\" role=\"img\" "
		"aria-label=\"memory in use over time\"><polyline fill=\"none\" "
		"stroke=\"#8a4fbf\" stroke-width=\"1.5\" points=\"",
		label, gt_table_bytes((double)most, text, sizeof(text)));
	/* of the points that one stands for, the highest: a peak is what the line is for */
	for (size_t i = 0; i < model->memory.count; i++) {
		const struct gt_memory_point *point = &model->memory.at[i];

		if (point->device != device)
			continue;
		if (k++ % step == 0 || point->bytes > high.bytes)
			high = *point;
		if (k % step == 0 || k == count)
			fprintf(page->out, "%.1f,%.1f ",
				(double)(high.ts - first) * 1200 / (double)(last - first),
				105 - (double)high.bytes * 100 / (double)most);
	}
	fputs("\"/></svg>\n", page->out);
}

static void print_memory_of_all(const struct page *page, const struct gt_model *model)
{
	uint64_t present = 0;

	for (size_t i = 0; i < model->memory.count; i++)
		if (model->memory.at[i].device < MEMORY_DEVICES)
			present |= (uint64_t)1 << model->memory.at[i].device;
	for (uint32_t device = 0; device < MEMORY_DEVICES; device++)
		if (present >> device & 1)
			print_memory_of(page, model, device);
}

static void print_memory(const struct page *page)
{
	bool any = false;

	for (size_t f = 0; f < page->job->count; f++)
		any |= page->job->models[f].memory.count > 0;
	if (!any)
		return;
	fputs("<h2>Memory</h2>\n", page->out);
	for (size_t f = 0; f < page->job->count; f++)
		print_memory_of_all(page, &page->job->models[f]);
}

static void print_events(const struct page *page)
{
	char *text = NULL;
	size_t size, lines = 0;
	FILE *memory = open_memstream(&text, &size);

	if (memory) {
		lines = gt_stats_events(page->job, memory);
		fclose(memory);
	}
	if (lines) {
		fputs("<p>Noted meanwhile:</p>\n<pre>", page->out);
		gt_folded_lines(text, page->out);
		fputs("</pre>\n", page->out);
	}
	free(text);
}

static void print_losses(const struct page *page)
{
	char *text = NULL;
	size_t size, lines = 0;
	FILE *memory = open_memstream(&text, &size);

	if (memory) {
		lines = gt_stats_losses(page->job, memory);
		fclose(memory);
	}
	fputs("<h2>What the traces do not hold</h2>\n", page->out);
	if (lines) {
		fputs("<pre>", page->out);
		gt_folded_lines(text, page->out);
		fputs("</pre>\n", page->out);
	} else {
		fputs("<p>Nothing is known to be missing.</p>\n", page->out);
	}
	print_events(page);
	fputs("<ul>\n", page->out);
	for (size_t i = 0; i < page->job->count; i++) {
		fputs("<li>", page->out);
		gt_show_xml(page->job->models[i].path, page->out);
		fputs("</li>\n", page->out);
	}
	fputs("</ul>\n", page->out);
	free(text);
}

/* The base that a device's times count from; 0 where there is none, or they leave no room for
 * another. */
static int64_t base_of(const struct gt_device_use *use)
{
	const struct gt_header *header = &use->model->reading.header;

	return header->has_base && header->base_ns > 0 && use->first > INT64_MIN + GT_JOB_NS &&
			       use->last < INT64_MAX - GT_JOB_NS
		       ? header->base_ns
		       : 0;
}

/* Each file has a base of its own. */
static void see_clocks(struct page *page)
{
	int64_t first = INT64_MAX, last = 0;

	for (int i = 0; i < page->use_count; i++) {
		int64_t base = base_of(&page->uses[i]);

		first = base < first ? base : first;
		last = base > last ? base : last;
	}
	page->base = page->use_count && last - first < GT_JOB_NS ? first : 0;
}

static void see_devices(struct page *page)
{
	page->first = INT64_MAX;
	page->last = INT64_MIN;
	see_clocks(page);
	for (int i = 0; i < page->use_count; i++) {
		int64_t shift = shift_of(page, page->uses[i].model);

		page->has_graphs |= page->uses[i].count[GT_OP_GRAPH] != 0;
		if (page->uses[i].first + shift < page->first)
			page->first = page->uses[i].first + shift;
		if (page->uses[i].last + shift > page->last)
			page->last = page->uses[i].last + shift;
	}
	if (page->first > page->last)
		page->first = page->last = 0;
}

int gt_report_print(const struct gt_job *job, const struct gt_filter *filter, const char *title,
		    FILE *out)
{
	struct page page = {.job = job, .filter = filter, .out = out};
	int rc = 0;

	page.use_count = gt_stats_devices(job, filter, &page.uses);
	if (page.use_count < 0)
		return page.use_count;
	see_devices(&page);
	print_head(&page, title);
	print_summary(&page);
	rc = print_timeline(&page);
	print_overlap(&page);
	if (!rc)
		rc = print_gaps(&page);
	if (!rc)
		rc = print_flame(&page);
	if (!rc)
		rc = print_stats(&page);
	print_memory(&page);
	print_losses(&page);
	fprintf(out, "<script>%s%s</script>\n</body></html>\n", gt_folded_svg_script,
		report_script);
	free(page.uses);
	return rc;
}
