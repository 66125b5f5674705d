/* SPDX-License-Identifier: Apache-2.0
 *
 * What kernels have reached, below what memory and arithmetic units allow, see parts.h. Pure over
 * constant models; one thread per page.
 *
 * x is in percent of the width and y in px, so that text and lines keep their size in any window.
 */
#include "analysis/report/parts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/usage/flops.h"
#include "analysis/usage/usage.h"
#include "readers/show.h"

#define MOST_GPUS    4   /* kinds that are drawn */
#define MOST_POINTS  60  /* kernels that are drawn, those of the most time */
#define NUMBERED     20  /* of them have their number beside them */
#define IN_WORDS     3   /* are in the picture's text for those who do not see it */
#define HEIGHT       340 /* px, of a picture whose decades are neither too low nor too high */
#define LOWEST       40  /* px: a decade */
#define HIGHEST      90
#define MOST_DECADES 9   /* upward */
#define LEAST        3   /* decades of both */
#define ROOF_ROOM    14  /* px above the topmost line, for its text */
#define TICK_SHARE   7.0 /* %: ticks are no nearer to each other */
#define SMALLEST     3.5 /* px: radius of a point */
#define LARGEST      11.0

/* One kernel: where it is, and how large. */
struct roof_point {
	const struct gt_flops_row *row;
	const char *name;
	double intensity, rate; /* FLOP/byte, 0: not known; FLOP/s */
};

/* The picture of one kind of GPU. */
struct roof {
	const struct gt_header_device *gpu;
	struct gt_flops flops;
	struct roof_point *points; /* those of the most time first */
	size_t count;
	double peaks[GT_WORK_TYPE_COUNT_], highest, lowest, bandwidth; /* 0: not known */
	int left, right, bottom, top;                                  /* decades */
	double ns;                                                     /* of all points */
};

static const struct gt_column columns[] = {
	{"number", "Number", "no.", GT_COLUMN_COUNT},
	{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},
	{"rate", "TFLOP/s", "TFLOP/s", GT_COLUMN_NUMBER},
	{"intensity", "FLOP/Byte", "FLOP/byte", GT_COLUMN_NUMBER},
	{"peak", "Of Peak (%)", "of peak", GT_COLUMN_PERCENT},
	{"roof", "Of Roof (%)", "of roof", GT_COLUMN_PERCENT},
	{"name", "Name", "name", GT_COLUMN_CODE},
	{"type", "Type", "type", GT_COLUMN_TEXT},
	{"limit", "Limit", "limit", GT_COLUMN_TEXT},
};

/* ---- what is known ---- */

static int by_time(const void *a, const void *b)
{
	const struct roof_point *x = a, *y = b;

	return x->row->ns != y->row->ns ? (x->row->ns < y->row->ns ? 1 : -1)
					: (x->row > y->row) - (x->row < y->row);
}

static int find_points(struct roof *roof)
{
	roof->points = calloc(roof->flops.rows.count + 1, sizeof(*roof->points));
	if (!roof->points)
		return -ENOMEM;
	for (size_t i = 0; i < roof->flops.rows.count; i++) {
		const struct gt_flops_row *row = &roof->flops.rows.at[i];

		if (!row->kernels || row->ns <= 0 || row->flops <= 0)
			continue;
		roof->points[roof->count++] = (struct roof_point){
			.row = row,
			.name = gt_group_name(&roof->flops.groups, &roof->flops.groups.list.at[i]),
			.intensity = !row->no_bytes && row->bytes > 0 ? row->flops / row->bytes : 0,
			.rate = row->flops / row->ns * 1e9};
		roof->ns += row->ns;
	}
	if (roof->count)
		qsort(roof->points, roof->count, sizeof(*roof->points), by_time);
	return 0;
}

static void find_peaks(struct roof *roof)
{
	const struct gt_header_device *gpu = roof->gpu;

	for (int type = 0; type < GT_WORK_TYPE_COUNT_; type++) {
		roof->peaks[type] = gt_peak_of(gpu->name, gpu->major, gpu->minor, gpu->sms,
					       (enum gt_work_type)type);
		roof->highest = fmax(roof->highest, roof->peaks[type]);
		if (roof->peaks[type] > 0 &&
		    (roof->lowest <= 0 || roof->peaks[type] < roof->lowest))
			roof->lowest = roof->peaks[type];
	}
	roof->bandwidth = gt_peak_bandwidth(gpu->name, gpu->major, gpu->minor, gpu->sms);
}

/* The peak of the types of a kernel; 0: not known. */
static double peak_of(const struct gt_flops_row *row)
{
	return row->no_peak || row->peak_ns <= 0 ? 0 : row->flops / row->peak_ns * 1e9;
}

/* The roof above a point; 0: not known. */
static double roof_above(const struct roof *roof, const struct roof_point *point)
{
	double peak = peak_of(point->row);

	if (peak <= 0 || roof->bandwidth <= 0 || point->intensity <= 0)
		return 0;
	return fmin(peak, roof->bandwidth * point->intensity);
}

static bool is_drawn(const struct roof *roof, size_t i)
{
	return i < MOST_POINTS && i < roof->count && roof->points[i].intensity > 0;
}

static bool has_points(const struct roof *roof)
{
	for (size_t i = 0; i < roof->count; i++)
		if (is_drawn(roof, i))
			return true;
	return false;
}

static void reach(int *low, int *high, double value)
{
	int down = (int)floor(log10(value)), up = (int)ceil(log10(value));

	*low = down < *low ? down : *low;
	*high = up > *high ? up : *high;
}

/* Whole decades, around all points and the place where the highest roof begins. */
static void find_range(struct roof *roof)
{
	roof->left = roof->bottom = INT32_MAX;
	roof->right = roof->top = INT32_MIN;
	for (size_t i = 0; i < roof->count; i++) {
		if (!is_drawn(roof, i))
			continue;
		reach(&roof->left, &roof->right, roof->points[i].intensity);
		reach(&roof->bottom, &roof->top, roof->points[i].rate);
	}
	if (roof->highest > 0) {
		reach(&roof->bottom, &roof->top, roof->highest);
		reach(&roof->bottom, &roof->top, roof->lowest);
	}
	if (roof->highest > 0 && roof->bandwidth > 0)
		reach(&roof->left, &roof->right, roof->highest / roof->bandwidth);
	for (bool left = true; roof->right - roof->left < LEAST; left = !left) {
		roof->left -= left;
		roof->right += !left;
	}
	if (roof->top - roof->bottom < LEAST)
		roof->bottom = roof->top - LEAST;
	if (roof->top - roof->bottom > MOST_DECADES)
		roof->bottom = roof->top - MOST_DECADES;
}

/* ---- the picture ---- */

static double x_of(const struct roof *roof, double intensity)
{
	return (log10(intensity) - roof->left) * 100 / (roof->right - roof->left);
}

static int decade_of(const struct roof *roof)
{
	int height = HEIGHT / (roof->top - roof->bottom);

	return height < LOWEST ? LOWEST : height > HIGHEST ? HIGHEST : height;
}

static double y_of(const struct roof *roof, double rate)
{
	double y = (roof->top - log10(rate)) * decade_of(roof);
	double most = (roof->top - roof->bottom) * decade_of(roof);

	return ROOF_ROOM + fmin(y, most);
}

static int height_of(const struct roof *roof)
{
	return (roof->top - roof->bottom) * decade_of(roof) + ROOF_ROOM;
}

static void print_line(const struct roof *roof, const char *class, double from, double low,
		       double to, double high, FILE *out)
{
	fprintf(out, "<line class=\"%s\" x1=\"%.2f%%\" y1=\"%.1f\" x2=\"%.2f%%\" y2=\"%.1f\"/>\n",
		class, x_of(roof, from), y_of(roof, low), x_of(roof, to), y_of(roof, high));
}

/* "1.979 PFLOP/s" */
static const char *rate_text(double rate, char *out, size_t size)
{
	static const struct {
		double from;
		const char *unit;
	} units[] = {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}, {1e6, "MFLOP/s"}};
	size_t i = 0;

	while (i < 3 && rate < units[i].from)
		i++;
	snprintf(out, size, "%.3g %s", rate / units[i].from, units[i].unit);
	return out;
}

/* Types of one peak share a line: "FP16, BF16 989 TFLOP/s". */
static void print_peak(const struct roof *roof, int type, FILE *out)
{
	double peak = roof->peaks[type], begin = pow(10, roof->left);
	const char *comma = "";
	char text[64];

	for (int other = 0; other < type; other++)
		if (roof->peaks[other] >= peak * 0.99 && roof->peaks[other] <= peak * 1.01)
			return;
	if (roof->bandwidth > 0)
		begin = fmax(begin, peak / roof->bandwidth);
	print_line(roof, "roof", begin, peak, pow(10, roof->right), peak, out);
	fprintf(out, "<text x=\"100%%\" y=\"%.1f\" text-anchor=\"end\">", y_of(roof, peak) - 3);
	for (int other = type; other < GT_WORK_TYPE_COUNT_; other++) {
		if (roof->peaks[other] < peak * 0.99 || roof->peaks[other] > peak * 1.01)
			continue;
		fprintf(out, "%s%s", comma, gt_peak_type_name((enum gt_work_type)other));
		comma = ", ";
	}
	fprintf(out, " %s</text>\n", rate_text(peak, text, sizeof(text)));
}

/* From the left edge, or from the lowest line, up to the highest roof. */
static void print_bandwidth(const struct roof *roof, FILE *out)
{
	double end = roof->highest / roof->bandwidth;
	double begin = fmax(pow(10, roof->left), pow(10, roof->bottom) / roof->bandwidth);
	double middle = sqrt(begin * end);

	if (begin >= end)
		return;
	print_line(roof, "roof", begin, begin * roof->bandwidth, end, roof->highest, out);
	fprintf(out, "<text x=\"%.2f%%\" y=\"%.1f\" text-anchor=\"%s\">%.4g GB/s</text>\n",
		x_of(roof, middle), y_of(roof, middle * roof->bandwidth) - 10,
		x_of(roof, middle) < 25 ? "start" : "end", roof->bandwidth / 1e9);
}

static void print_grid(const struct roof *roof, FILE *out)
{
	double low = pow(10, roof->bottom), high = pow(10, roof->top);
	double left = pow(10, roof->left), right = pow(10, roof->right);

	for (int x = roof->left; x <= roof->right; x++)
		print_line(roof, "grid", pow(10, x), low, pow(10, x), high, out);
	for (int y = roof->bottom; y <= roof->top; y++)
		print_line(roof, "grid", left, pow(10, y), right, pow(10, y), out);
}

static double radius_of(const struct roof *roof, const struct roof_point *point)
{
	return SMALLEST + (LARGEST - SMALLEST) * sqrt(point->row->ns / roof->ns);
}

static void print_point(const struct roof *roof, size_t i, FILE *out)
{
	const struct roof_point *point = &roof->points[i];
	double x = x_of(roof, point->intensity), y = y_of(roof, point->rate);
	double radius = radius_of(roof, point);
	char text[64];

	fprintf(out, "<circle class=\"type%d\" cx=\"%.2f%%\" cy=\"%.1f\" r=\"%.1f\"><title>%zu: ",
		point->row->mixed ? 0 : (int)point->row->type, x, y, radius, i + 1);
	gt_show_xml(point->name, out);
	fprintf(out, ", %s, %.3g FLOP/byte</title></circle>\n",
		rate_text(point->rate, text, sizeof(text)), point->intensity);
}

/* On both sides in turn: those that are near each other are more often read so. */
static void print_number(const struct roof *roof, size_t i, FILE *out)
{
	const struct roof_point *point = &roof->points[i];
	double x = x_of(roof, point->intensity), away = radius_of(roof, point) + 2;
	bool to_left = x > 92 || (x > 8 && i % 2);

	fprintf(out, "<text x=\"%.2f%%\" y=\"%.1f\" dx=\"%.1f\" text-anchor=\"%s\">%zu</text>\n", x,
		y_of(roof, point->rate) + 4, to_left ? -away : away, to_left ? "end" : "start",
		i + 1);
}

/* Decades along the left edge, and below the picture. */
static void print_ticks(const struct roof *roof, FILE *out)
{
	static const char *const units[] = {"", "k", "M", "G", "T", "P", "E"};
	int step = (int)ceil(TICK_SHARE * (roof->right - roof->left) / 100);

	fputs("<div class=\"up\">", out);
	for (int y = roof->bottom; y <= roof->top; y++)
		if (y >= 0 && y < 21)
			fprintf(out, "<span style=\"top:%.0fpx\">%.0f %s</span>",
				y_of(roof, pow(10, y)), pow(10, y % 3), units[y / 3]);
	fputs("</div>\n<div class=\"axis\">", out);
	for (int x = roof->left; x <= roof->right; x += step)
		fprintf(out, "<span style=\"left:%.2f%%\"%s>%.10g</span>", x_of(roof, pow(10, x)),
			x + step > roof->right ? " class=\"last\"" : "", pow(10, x));
	fputs("</div>\n", out);
}

/* What those read who do not see it: the table has all of it. */
static void print_words(const struct roof *roof, FILE *out)
{
	char text[64];
	size_t said = 0;

	fputs("FLOP/s of kernels against FLOP per byte, on ", out);
	gt_show_xml(roof->gpu->name ? roof->gpu->name : "a GPU without a name", out);
	for (size_t i = 0; i < roof->count && said < IN_WORDS; i++) {
		double above = roof_above(roof, &roof->points[i]);

		if (!is_drawn(roof, i))
			continue;
		fprintf(out, "%s number %zu: %s at %.3g FLOP/byte", said++ ? ";" : ".", i + 1,
			rate_text(roof->points[i].rate, text, sizeof(text)),
			roof->points[i].intensity);
		if (above > 0)
			fprintf(out, ", %.1f %% of the roof", roof->points[i].rate * 100 / above);
	}
	fputs("; the table below has all", out);
}

static void print_picture(const struct roof *roof, FILE *out)
{
	fputs("<div class=\"roofs\" role=\"img\" aria-label=\"", out);
	print_words(roof, out);
	fprintf(out, "\"><svg class=\"roof\" style=\"height:%dpx\">\n", height_of(roof));
	print_grid(roof, out);
	for (int type = 1; type < GT_WORK_TYPE_COUNT_; type++)
		if (roof->peaks[type] > 0)
			print_peak(roof, type, out);
	if (roof->bandwidth > 0 && roof->highest > 0)
		print_bandwidth(roof, out);
	/* the small ones on top of the large ones */
	for (size_t i = 0; i < roof->count; i++)
		if (is_drawn(roof, i))
			print_point(roof, i, out);
	for (size_t i = 0; i < roof->count && i < NUMBERED; i++)
		if (is_drawn(roof, i))
			print_number(roof, i, out);
	fputs("</svg>\n", out);
	print_ticks(roof, out);
	fputs("</div>\n", out);
}

/* ---- what it says in words ---- */

static void print_key(const struct roof *roof, FILE *out)
{
	bool seen[GT_WORK_TYPE_COUNT_] = {false};

	for (size_t i = 0; i < roof->count; i++)
		if (is_drawn(roof, i))
			seen[roof->points[i].row->mixed ? 0 : roof->points[i].row->type] = true;
	fputs("<p class=\"key\">FLOP/s upward, FLOP per byte of the operands to the right; a "
	      "larger point took more time",
	      out);
	for (int type = GT_WORK_TYPE_COUNT_ - 1; type >= 0; type--)
		if (seen[type])
			fprintf(out, " <span><i class=\"type%d\"></i>%s</span>", type,
				type ? gt_peak_type_name((enum gt_work_type)type)
				     : "type not known, or several");
	fputs("</p>\n", out);
}

static void print_reasons(const struct roof *roof, FILE *out)
{
	size_t hidden = 0, more = 0, beyond = 0;

	for (size_t i = 0; i < roof->count; i++) {
		double peak = peak_of(roof->points[i].row);

		beyond += peak > 0 && roof->points[i].rate > peak;
		hidden += !(roof->points[i].intensity > 0);
		more += roof->points[i].intensity > 0 && !is_drawn(roof, i);
	}
	if (roof->highest <= 0)
		fputs("<p>No roofs: the peaks of this GPU, or of this part of one, are not known "
		      "to gputrace.</p>\n",
		      out);
	else if (roof->bandwidth <= 0)
		fputs("<p>No roof of memory: the bandwidth of this GPU is not known to "
		      "gputrace.</p>\n",
		      out);
	if (beyond)
		fprintf(out,
			"<p>%zu kernel%s above the device's peak, which cannot be: another clock "
			"than the peak is of, wrong sizes or times, or a simulated device.</p>\n",
			beyond, beyond == 1 ? " is" : "s are");
	if (hidden)
		fprintf(out,
			"<p class=\"quiet\">%zu kernel%s of the table %s not in the picture: the "
			"bytes of the operands are not known.</p>\n",
			hidden, hidden == 1 ? "" : "s", hidden == 1 ? "is" : "are");
	if (more)
		fprintf(out, "<p class=\"quiet\">%zu more kernel%s of less time.</p>\n", more,
			more == 1 ? "" : "s");
}

static void put(struct gt_table *table, double number)
{
	if (number > 0)
		gt_table_number(table, number);
	else
		gt_table_absent(table, "-");
}

static int print_table(const struct roof *roof, FILE *out)
{
	struct gt_table table;

	gt_table_init(&table, "roofline", "Kernels with known FLOPs, by time", columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < roof->count; i++) {
		const struct roof_point *point = &roof->points[i];
		double peak = peak_of(point->row), above = roof_above(roof, point);

		gt_table_number(&table, (double)(i + 1));
		gt_table_number(&table, point->row->ns);
		gt_table_number(&table, point->rate / 1e12);
		put(&table, point->intensity);
		put(&table, peak > 0 ? point->rate * 100 / peak : 0);
		put(&table, above > 0 ? point->rate * 100 / above : 0);
		gt_table_text(&table, point->name);
		gt_table_text(&table,
			      point->row->mixed ? "several" : gt_peak_type_name(point->row->type));
		gt_table_text(&table, above <= 0 ? "-" : above < peak ? "memory" : "arithmetic");
	}
	gt_page_table(&table, out);
	gt_table_fini(&table);
	return 0;
}

static int print_roof(const struct gt_page *page, const struct gt_header_device *gpu,
		      bool *has_heading)
{
	struct roof roof = {.gpu = gpu};
	int rc = gt_flops_build(page->job, page->filter, GT_KEY_KERNEL, gpu, &roof.flops);

	if (!rc)
		rc = find_points(&roof);
	if (!rc && roof.count) {
		if (!*has_heading)
			fputs("<h2>How far from the peak</h2>\n", page->out);
		*has_heading = true;
		fputs("<p class=\"dev\">", page->out);
		gt_show_xml(gpu->name ? gpu->name : "a GPU without a name", page->out);
		fputs("</p>\n", page->out);
		find_peaks(&roof);
		if (has_points(&roof)) {
			find_range(&roof);
			print_key(&roof, page->out);
			print_picture(&roof, page->out);
		}
		print_reasons(&roof, page->out);
		rc = print_table(&roof, page->out);
	}
	free(roof.points);
	gt_flops_fini(&roof.flops);
	return rc;
}

int gt_page_roofline(const struct gt_page *page)
{
	const struct gt_header_device *gpus[MOST_GPUS];
	bool has_heading = false;
	int count = 0, rc = 0;

	for (int i = 0; i < page->use_count && count < MOST_GPUS; i++) {
		const struct gt_header_device *gpu =
			gt_flops_gpu_of(page->uses[i].model, page->uses[i].device);
		int known = 0;

		while (known < count && !gt_flops_gpus_are_like(gpus[known], gpu))
			known++;
		if (known == count)
			gpus[count++] = gpu;
	}
	for (int i = 0; !rc && i < count; i++)
		rc = print_roof(page, gpus[i], &has_heading);
	return rc;
}
