/* SPDX-License-Identifier: Apache-2.0
 *
 * The timeline and the bars of overlap, see parts.h. Pure over constant models; one thread per
 * page.
 */
#include "analysis/report/parts.h"

#include <errno.h>
#include <math.h>

#include "analysis/intervals.h"
#include "readers/show.h"

#define BINS      600
#define STRIP     14  /* px of a strip and what separates it from the next */
#define LEAST     2.0 /* px: what is busy at all is seen */
#define MAX_TICKS 6
#define MAX_STEPS 500

/* The last one is drawn only where there are whole graphs. */
enum strip { STRIP_COMPUTE, STRIP_COMM, STRIP_COPY, STRIP_GRAPH, STRIP_COUNT_ };

/* Their colours are in the page's style. */
static const struct {
	const char *name, *class;
} strips[STRIP_COUNT_] = {
	{"compute", "compute"},
	{"communication", "comm"},
	{"copies and sets", "copy"},
	{"whole graphs", "graph"},
};

static enum strip strip_of(const struct gt_op *op)
{
	if (op->kind == GT_OP_GRAPH)
		return STRIP_GRAPH;
	return op->kind != GT_OP_KERNEL ? STRIP_COPY : op->comm ? STRIP_COMM : STRIP_COMPUTE;
}

static int strip_count(const struct gt_page *page)
{
	return page->has_graphs ? STRIP_COUNT_ : STRIP_GRAPH;
}

/* Bars of one height, side by side. */
struct bars {
	int first, count; /* bins */
	double height;    /* px, in tenths */
};

static void put_bars(const struct gt_page *page, const struct bars *bars, double bottom)
{
	if (bars->count && bars->height > 0)
		fprintf(page->out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\"/>\n",
			bars->first * 2, bottom - bars->height, bars->count * 2, bars->height);
}

/* The height of a share of a strip: what is busy at all is seen. */
static double height_of(double share)
{
	double height = round(share * (STRIP - 1) * 10) / 10;

	return share <= 0 ? 0 : height < LEAST ? LEAST : height;
}

/* @first: the beginning of the page by the clock of @set. */
static void print_strip(const struct gt_page *page, const struct gt_intervals *set, int64_t first,
			enum strip strip)
{
	double bin = (double)(page->last - page->first) / BINS;
	double bottom = (double)(strip + 1) * STRIP - 1;
	struct bars bars = {0};

	fprintf(page->out, "<g class=\"%s\">\n", strips[strip].class);
	for (int i = 0; i < BINS && set->count; i++) {
		int64_t from = first + (int64_t)(i * bin), to = first + (int64_t)((i + 1) * bin);
		double height = height_of(to > from ? (double)gt_intervals_within(set, from, to) /
							      (double)(to - from)
						    : 0);

		if (!bars.count || height < bars.height || height > bars.height) {
			put_bars(page, &bars, bottom);
			bars = (struct bars){.first = i, .height = height};
		}
		bars.count++;
	}
	put_bars(page, &bars, bottom);
	fputs("</g>\n", page->out);
}

/* The distance of ticks: 1, 2 or 5 of a power of ten, and at most MAX_TICKS of them. */
static double tick_of(double span)
{
	double power = pow(10, floor(log10(span / MAX_TICKS)));

	if (power * MAX_TICKS >= span)
		return power;
	if (power * 2 * MAX_TICKS >= span)
		return power * 2;
	return power * (power * 5 * MAX_TICKS >= span ? 5 : 10);
}

/* As few digits as tell ticks apart. */
static void put_tick(double at, double tick, FILE *out)
{
	static const struct {
		double ns;
		const char *name;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}};
	size_t i = 0;

	while (i < 2 && tick < units[i].ns && at < 10 * units[i].ns)
		i++;
	if (at > 0)
		fprintf(out, "%.10g %s", at / units[i].ns, units[i].name);
	else
		fputs("0", out);
}

static void print_axis(const struct gt_page *page)
{
	double span = (double)(page->last - page->first), tick;

	if (span <= 0)
		return;
	tick = tick_of(span);
	fputs("<div class=\"axis\">", page->out);
	for (double at = 0; at <= span; at += tick) {
		fprintf(page->out, "<span style=\"left:%.2f%%\"%s>", at * 100 / span,
			at > span * 0.93 ? " class=\"last\"" : "");
		put_tick(at, tick, page->out);
		fputs("</span>", page->out);
	}
	fputs("</div>\n", page->out);
}

/* Lines at the ticks, behind the strips. */
static void print_grid(const struct gt_page *page, int height)
{
	double span = (double)(page->last - page->first), tick;

	if (span <= 0)
		return;
	tick = tick_of(span);
	fputs("<path class=\"grid\" d=\"", page->out);
	for (double at = 0; at <= span; at += tick)
		fprintf(page->out, "M%.1f 0V%d", at * 2 * BINS / span, height);
	fputs("\"/>\n", page->out);
}

static int find_strips(const struct gt_page *page, const struct gt_device_use *use,
		       struct gt_intervals sets[STRIP_COUNT_])
{
	for (uint32_t i = 0; i < use->track->count; i++) {
		const struct gt_op *op = gt_model_device_op(use->model, use->track, i);

		if (gt_filter_op(page->filter, use->model, op) &&
		    !gt_intervals_add(&sets[strip_of(op)], op->start, op->start + op->dur))
			return -ENOMEM;
	}
	return 0;
}

static int print_device(const struct gt_page *page, int index)
{
	const struct gt_device_use *use = &page->uses[index];
	struct gt_intervals sets[STRIP_COUNT_] = {0};
	int height = strip_count(page) * STRIP, rc = find_strips(page, use, sets);
	char label[64];

	gt_key_of_device(use->model, use->device, label, sizeof(label));
	fprintf(page->out, "<p class=\"dev\" id=\"dev%d\">%s ", index, label);
	gt_show_xml(use->name, page->out);
	fprintf(page->out,
		"</p>\n<svg class=\"strips\" viewBox=\"0 0 %d %d\" style=\"height:%dpx\" "
		"preserveAspectRatio=\"none\" role=\"img\" aria-labelledby=\"dev%d\">\n",
		2 * BINS, height, height, index);
	print_grid(page, height);
	for (int s = 0; s < strip_count(page); s++) {
		gt_intervals_merge(&sets[s]);
		print_strip(page, &sets[s], page->first - gt_page_shift(page, use->model),
			    (enum strip)s);
		gt_intervals_fini(&sets[s]);
	}
	fputs("</svg>\n", page->out);
	return rc;
}

/* Where the steps of the first process that has some begin and end, in parts of the page: the
 * script makes a list of them to choose from. */
static void print_steps(const struct gt_page *page)
{
	double span = (double)(page->last - page->first);
	const struct gt_model *model = NULL;
	size_t count = 0;

	for (size_t f = 0; f < page->job->count && !model; f++)
		if (page->job->models[f].steps.count)
			model = &page->job->models[f];
	if (!model || span <= 0)
		return;
	fputs("<div class=\"steps\" data-steps=\"", page->out);
	for (size_t i = 0; i < model->steps.count && count < MAX_STEPS; i++) {
		const struct gt_model_range *range;
		double from;

		if (model->steps.at[i].range == GT_NONE)
			continue;
		range = &model->ranges.at[model->steps.at[i].range];
		from = (double)(range->start + gt_page_shift(page, model) - page->first);
		fputs(count++ ? ";" : "", page->out);
		gt_show_xml(gt_model_name(model, range->name), page->out);
		fprintf(page->out, "|%.6f|%.6f", from / span, (from + (double)range->dur) / span);
	}
	fputs("\"></div>\n", page->out);
}

int gt_page_timeline(const struct gt_page *page)
{
	int shown = page->use_count < GT_PAGE_DEVICES ? page->use_count : GT_PAGE_DEVICES, rc = 0;

	fputs("<h2>Timeline</h2>\n<p class=\"key\">Share of each moment that a device spent in",
	      page->out);
	for (int s = 0; s < strip_count(page); s++)
		fprintf(page->out, " <span><i class=\"%s\"></i>%s</span>", strips[s].class,
			strips[s].name);
	fputs("</p>\n", page->out);
	print_steps(page);
	for (int i = 0; !rc && i < shown; i++)
		rc = print_device(page, i);
	print_axis(page);
	gt_page_more_devices(page);
	return rc;
}

/* ---- overlap ---- */

#define PARTS 6

/* The last one is there only where there are whole graphs. */
static const struct {
	const char *name, *class;
} parts[PARTS] = {{"compute only", "compute"},
		  {"compute and communication", "both"},
		  {"communication only", "comm"},
		  {"copies only", "copy"},
		  {"idle", "idle"},
		  {"whole graphs only", "graph"}};

static void find_parts(const struct gt_device_use *use, double values[PARTS])
{
	double compute = (double)(use->kernel - use->comm + use->compute_comm);
	double graphs = (double)(use->graph - use->kernel_graph);

	values[0] = compute - (double)use->compute_comm;
	values[1] = (double)use->compute_comm;
	values[2] = (double)(use->comm - use->compute_comm);
	values[3] = (double)(use->busy - use->kernel) - graphs;
	values[4] = (double)use->idle;
	values[5] = graphs;
}

static void print_bar(const struct gt_page *page, const struct gt_device_use *use,
		      size_t part_count)
{
	double wall = (double)(use->last - use->first), values[PARTS];
	char label[64];

	find_parts(use, values);
	gt_key_of_device(use->model, use->device, label, sizeof(label));
	fprintf(page->out,
		"<div class=\"row\"><span>%s</span><div class=\"bar\" role=\"img\" "
		"aria-label=\"",
		label);
	for (size_t p = 0; wall > 0 && p < part_count; p++)
		fprintf(page->out, "%s%s %.1f %%", p ? ", " : "", parts[p].name,
			values[p] * 100 / wall);
	fputs("\">", page->out);
	for (size_t p = 0; wall > 0 && p < part_count; p++) {
		if (values[p] <= 0)
			continue;
		fprintf(page->out,
			"<i class=\"%s\" style=\"width:%.3f%%\" title=\"%s: ", parts[p].class,
			values[p] * 100 / wall, parts[p].name);
		gt_page_time(values[p], page->out);
		fprintf(page->out, " (%.1f %%)\"></i>", values[p] * 100 / wall);
	}
	fputs("</div></div>\n", page->out);
}

void gt_page_overlap(const struct gt_page *page)
{
	size_t part_count = PARTS - !page->has_graphs;
	int shown = page->use_count < GT_PAGE_DEVICES ? page->use_count : GT_PAGE_DEVICES;

	fputs("<h2>Overlap</h2>\n<p class=\"key\">", page->out);
	for (size_t p = 0; p < part_count; p++)
		fprintf(page->out, " <span><i class=\"%s\"></i>%s</span>", parts[p].class,
			parts[p].name);
	fputs("</p>\n", page->out);
	for (int i = 0; i < shown; i++)
		print_bar(page, &page->uses[i], part_count);
	gt_page_more_devices(page);
}
