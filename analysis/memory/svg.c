/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory in use over time as SVG: of each device an area by the places that hold most of it at the
 * peak. See memory.h. Pure over constant models; one thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory/memory.h"
#include "analysis/memory/place.h"
#include "readers/show.h"

#define PLACES    8 /* with a colour of their own */
#define LAYERS    (PLACES + 1)
#define COLUMNS   600
#define WIDTH     1200.0
#define HEIGHT    220.0
#define PANEL     (HEIGHT + 60 + LAYERS * 16)
#define MAX_USES  16
#define NO_LAYER  0xff
#define TEXT_SIZE 1024

static const char *const colors[LAYERS] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
					   "#aa3377", "#ee8866", "#44aa99", "#bbbbbb"};

/* What is drawn of a use. */
struct drawing {
	const struct gt_memory_use *use;
	struct gt_memory_place *places; /* by bytes at the peak */
	size_t place_count;
	uint8_t *layer;                    /* of each block; NO_LAYER: the last one */
	uint64_t columns[COLUMNS][LAYERS]; /* at the moment of each with most in use */
	uint64_t most[COLUMNS];
};

static int64_t first_of(const struct gt_memory_use *use)
{
	return use->changes.at[0].ts;
}

static int64_t last_of(const struct gt_memory_use *use)
{
	return use->changes.at[use->changes.count - 1].ts;
}

static size_t column_of(const struct gt_memory_use *use, int64_t ts)
{
	double span = (double)last_of(use) - (double)first_of(use);
	double at = span > 0 ? ((double)ts - (double)first_of(use)) * COLUMNS / span : 0;

	return at < COLUMNS - 1 ? (size_t)at : COLUMNS - 1;
}

static void keep_most(struct drawing *d, size_t column, const uint64_t now[LAYERS], uint64_t sum)
{
	if (sum < d->most[column])
		return;
	d->most[column] = sum;
	memcpy(d->columns[column], now, sizeof(d->columns[column]));
}

/* What stood at the end of a column stands at the beginning of the next one. */
static void fill_columns(struct drawing *d)
{
	uint64_t now[LAYERS] = {0}, sum = 0;
	size_t column = 0;

	for (size_t i = 0; i < d->use->changes.count; i++) {
		const struct gt_memory_change *change = &d->use->changes.at[i];
		uint64_t bytes = d->use->blocks.at[change->block].bytes;
		uint8_t layer = d->layer[change->block];
		uint64_t *of_layer = &now[layer == NO_LAYER ? PLACES : layer];

		for (; column < column_of(d->use, change->ts); column++)
			keep_most(d, column + 1, now, sum);
		*of_layer = change->came ? *of_layer + bytes : *of_layer - bytes;
		sum = change->in_use;
		keep_most(d, column, now, sum);
	}
	for (; column + 1 < COLUMNS; column++)
		keep_most(d, column + 1, now, sum);
}

static uint64_t below(const struct drawing *d, size_t column, size_t layer)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < layer; i++)
		sum += d->columns[column][i];
	return sum;
}

static void print_point(const struct drawing *d, size_t column, size_t layer, double top, FILE *out)
{
	double most = (double)gt_memory_in_use(d->use, d->use->peak);

	fprintf(out, "%.0f,%.1f ", (double)column * WIDTH / COLUMNS,
		top + HEIGHT - (most > 0 ? (double)below(d, column, layer) * HEIGHT / most : 0));
}

static void print_layer(const struct drawing *d, size_t layer, double top, FILE *out)
{
	fprintf(out, "<polygon fill=\"%s\" points=\"", colors[layer]);
	for (size_t column = 0; column < COLUMNS; column++)
		print_point(d, column, layer + 1, top, out);
	for (size_t column = COLUMNS; column-- > 0;)
		print_point(d, column, layer, top, out);
	fputs("\"/>\n", out);
}

static void print_legend(const struct drawing *d, size_t layer, uint64_t bytes, double y, FILE *out)
{
	char text[TEXT_SIZE] = "others", size[64];

	if (layer < PLACES)
		gt_memory_place(d->use->model, d->places[layer].first->stack, text, sizeof(text));
	fprintf(out,
		"<rect x=\"4\" y=\"%.0f\" width=\"10\" height=\"10\" fill=\"%s\"/>"
		"<text x=\"20\" y=\"%.0f\">",
		y, colors[layer], y + 9);
	gt_show_xml(text, out);
	fprintf(out, ": %s at the peak</text>\n",
		gt_table_bytes((double)bytes, size, sizeof(size)));
}

static void print_legends(const struct drawing *d, double y, FILE *out)
{
	uint64_t rest = gt_memory_in_use(d->use, d->use->peak);

	for (size_t i = 0; i < d->place_count && i < PLACES; i++, y += 16) {
		print_legend(d, i, d->places[i].bytes, y, out);
		rest -= d->places[i].bytes;
	}
	print_legend(d, PLACES, rest, y, out);
}

static void print_drawing(const struct drawing *d, double top, FILE *out)
{
	char label[128], size[64], time[64];

	gt_memory_label(d->use, label, sizeof(label));
	fprintf(out, "<text x=\"4\" y=\"%.0f\" font-size=\"14\">", top + 16);
	gt_show_xml(label, out);
	fprintf(out, ": at most %s, over %s</text>\n",
		gt_table_bytes((double)gt_memory_in_use(d->use, d->use->peak), size, sizeof(size)),
		gt_table_time((double)last_of(d->use) - (double)first_of(d->use), time,
			      sizeof(time)));
	for (size_t layer = 0; layer < LAYERS; layer++)
		print_layer(d, layer, top + 24, out);
	print_legends(d, top + 24 + HEIGHT + 8, out);
}

/* The blocks of the places that have a colour. */
static void assign_layers(struct drawing *d)
{
	memset(d->layer, NO_LAYER, d->use->blocks.count + 1);
	for (size_t i = 0; i < d->use->blocks.count; i++)
		for (size_t p = 0; p < d->place_count && p < PLACES; p++)
			if (gt_memory_is_same_place(&d->use->blocks.at[i], d->places[p].first))
				d->layer[i] = (uint8_t)p;
}

static int draw(const struct gt_memory_use *use, double top, FILE *out)
{
	struct drawing *d = calloc(1, sizeof(*d));
	int rc = -ENOMEM;

	if (!d)
		return rc;
	d->use = use;
	d->layer = malloc(use->blocks.count + 1);
	if (d->layer)
		rc = gt_memory_places(use, true, &d->places, &d->place_count);
	if (!rc) {
		assign_layers(d);
		fill_columns(d);
		print_drawing(d, top, out);
	}
	free(d->places);
	free(d->layer);
	free(d);
	return rc;
}

int gt_memory_print_svg(const struct gt_memory *memory, FILE *out)
{
	size_t drawn = 0, count = 0;
	int rc = 0;

	for (size_t i = 0; i < memory->uses.count; i++)
		count += memory->uses.at[i].changes.count > 0;
	count = count < MAX_USES ? count : MAX_USES;
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
		"font-family=\"monospace\" font-size=\"11\">\n",
		WIDTH, PANEL * (double)(count ? count : 1));
	for (size_t i = 0; !rc && i < memory->uses.count && drawn < count; i++)
		if (memory->uses.at[i].changes.count)
			rc = draw(&memory->uses.at[i], PANEL * (double)drawn++, out);
	if (!count)
		fputs("<text x=\"4\" y=\"16\">no allocations in this trace</text>\n", out);
	fputs("</svg>\n", out);
	return rc;
}
