/* SPDX-License-Identifier: Apache-2.0
 *
 * The flame graph of stacks.h as SVG. Pure; one thread per set.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/stacks/stacks.h"
#include "analysis/table/table.h"
#include "readers/show.h"
#include "readers/utf8.h"
#include "trace/frame.h"

#define WIDTH     1200.0
#define ROW       17
#define MAX_DEPTH 256
#define NARROWEST 0.2  /* px; thinner boxes are left out */
#define MOST      1500 /* boxes of a page: the thinnest are left out */

const char gt_folded_svg_script[] =
	"(function(){var all=document.querySelectorAll('svg.flame');"
	"Array.prototype.forEach.call(all,function(svg){"
	"var boxes=Array.prototype.slice.call(svg.querySelectorAll('g.box'));"
	"var told=svg.querySelector('.told');"
	"function place(b,x,w){var r=b.querySelector('rect'),t=b.querySelector('text');"
	"b.style.display=w<=0.2?'none':'';r.setAttribute('x',x);r.setAttribute('width',Math.max(w-"
	"0.5,0.1));"
	"t.setAttribute('x',x+3);var n=Math.floor((w-6)/6.6),s=b.getAttribute('data-n');"
	"t.textContent=n<3?'':s.length<=n?s:s.slice(0,n-2)+'..';}"
	"function zoom(z){var "
	"x0=+z.getAttribute('data-x'),w0=+z.getAttribute('data-w'),d0=+z.getAttribute('data-d');"
	"boxes.forEach(function(b){var "
	"x=+b.getAttribute('data-x'),w=+b.getAttribute('data-w'),d=+b.getAttribute('data-d');"
	"if(d<d0&&x<=x0+1e-6&&x+w>=x0+w0-1e-6)place(b,0,1200);"
	"else if(x>=x0-1e-6&&x+w<=x0+w0+1e-6&&d>=d0)place(b,(x-x0)*1200/w0,w*1200/w0);"
	"else b.style.display='none';});}"
	"boxes.forEach(function(b){b.addEventListener('click',function(){zoom(b);});"
	"b.addEventListener('mouseover',function(){told.textContent=b.querySelector('title')."
	"textContent;});"
	"place(b,+b.getAttribute('data-x'),+b.getAttribute('data-w'));});});})();";

void gt_folded_lines(const char *text, FILE *out)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		char *line = strndup(text, n);

		if (line)
			gt_show_xml(line, out);
		free(line);
		text += n;
		if (*text) {
			fputc('\n', out);
			text++;
		}
	}
}

struct flame {
	const struct gt_folded *stacks;
	enum gt_weight weight;
	int64_t total;
	const char **next;  /* of each fold: the frame that is drawn next, NULL: none */
	unsigned int depth; /* deepest row that is drawn */
	double narrowest;   /* px */
	size_t boxes;
	FILE *out;
};

/* A warm colour that is a function of the name; GPU work (the leaf) is green. */
static void print_color(const char *name, size_t len, bool leaf, FILE *out)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	if (leaf)
		fprintf(out, "rgb(%u,%u,%u)", 90 + hash % 50, 175 + hash / 64 % 50,
			90 + hash / 4096 % 50);
	else
		fprintf(out, "rgb(%u,%u,%u)", 215 + hash % 35, 105 + hash / 64 % 100,
			40 + hash / 4096 % 40);
}

static void print_weight(const struct flame *flame, int64_t weight, FILE *out)
{
	char text[64];

	switch (flame->weight) {
	case GT_WEIGHT_BYTES:
		fputs(gt_table_bytes((double)weight, text, sizeof(text)), out);
		break;
	case GT_WEIGHT_COUNT:
		fprintf(out, "%" PRId64 " operations", weight);
		break;
	default:
		fputs(gt_table_time((double)weight, text, sizeof(text)), out);
	}
}

static void print_box(struct flame *flame, const char *name, size_t len, bool leaf, int64_t before,
		      int64_t weight, unsigned int depth)
{
	double x = (double)before * WIDTH / (double)flame->total;
	double w = (double)weight * WIDTH / (double)flame->total;
	char whole[4096], brief[256];

	if (w < flame->narrowest)
		return;
	flame->boxes++;
	if (depth > flame->depth)
		flame->depth = depth;
	snprintf(whole, sizeof(whole), "%.*s", (int)len, name);
	gt_frame_shorten(whole, 0, brief, sizeof(brief));
	fprintf(flame->out,
		"<g class=\"box\" data-x=\"%.3f\" data-w=\"%.3f\" data-d=\"%u\" data-n=\"", x, w,
		depth);
	gt_show_xml(brief, flame->out);
	fputs("\"><title>", flame->out);
	gt_show_xml(whole, flame->out);
	fputs(": ", flame->out);
	print_weight(flame, weight, flame->out);
	fprintf(flame->out,
		" (%.2f %%)</title><rect x=\"%.3f\" y=\"%u\" width=\"%.3f\" height=\"%d\" fill=\"",
		(double)weight * 100 / (double)flame->total, x, 34 + depth * ROW,
		w > 0.6 ? w - 0.5 : w, ROW - 1);
	print_color(name, len, leaf, flame->out);
	fprintf(flame->out, "\"/><text x=\"%.3f\" y=\"%u\">", x + 3, 34 + depth * ROW + 12);
	if (w > 30) {
		brief[gt_utf8_prefix(brief, (size_t)((w - 6) / 6.6))] = 0;
		gt_show_xml(brief, flame->out);
	}
	fputs("</text></g>\n", flame->out);
}

/* The frame of a fold at the row in hand; NULL: it has no more. */
static const char *frame_of(const struct flame *flame, size_t fold, size_t *ret_len)
{
	const char *text = flame->next[fold];

	if (text)
		*ret_len = strcspn(text, ";");
	return text;
}

/* The first of the folds from @first on that has not the same frame there. */
static size_t end_of_box(const struct flame *flame, size_t first, size_t end)
{
	size_t len, other_len, next = first + 1;
	const char *name = frame_of(flame, first, &len), *other;

	for (; next < end; next++) {
		other = frame_of(flame, next, &other_len);
		if (!other || other_len != len || memcmp(other, name, len))
			break;
	}
	return next;
}

/* Moves folds on by a frame of @len bytes. Returns their weight. */
static int64_t enter_box(struct flame *flame, size_t first, size_t end, size_t len)
{
	int64_t weight = 0;

	for (size_t i = first; i < end; i++) {
		weight += flame->stacks->folds.at[i].weight;
		flame->next[i] += len;
		flame->next[i] = *flame->next[i] ? flame->next[i] + 1 : NULL;
	}
	return weight;
}

/* Draws folds [first, end), which agree on all frames above @depth; @before: weight left of
 * them. Under what is too narrow to be drawn nothing is drawn either. */
static void draw(struct flame *flame, size_t first, size_t end, unsigned int depth, int64_t before)
{
	while (first < end && depth < MAX_DEPTH) {
		size_t len, next;
		const char *name = frame_of(flame, first, &len);
		int64_t weight;

		if (!name) {
			before += flame->stacks->folds.at[first++].weight;
			continue;
		}
		next = end_of_box(flame, first, end);
		weight = enter_box(flame, first, next, len);
		if ((double)weight * WIDTH / (double)flame->total >= flame->narrowest) {
			print_box(flame, name, len, !name[len], before, weight, depth + 1);
			draw(flame, first, next, depth + 1, before);
		}
		before += weight;
		first = next;
	}
}

/* All boxes, as text. */
static void draw_all(struct flame *flame, char **ret_boxes)
{
	size_t size;

	*ret_boxes = NULL;
	flame->out = open_memstream(ret_boxes, &size);
	if (!flame->out)
		return;
	flame->total = 0;
	flame->boxes = flame->depth = 0;
	for (size_t i = 0; i < flame->stacks->folds.count; i++) {
		flame->total += flame->stacks->folds.at[i].weight;
		flame->next[i] = flame->stacks->folds.at[i].text;
	}
	if (flame->total)
		print_box(flame, "all", 3, false, 0, flame->total, 0);
	draw(flame, 0, flame->stacks->folds.count, 0, 0);
	fclose(flame->out);
}

static void print_hint(const struct flame *flame, FILE *out)
{
	if (!flame->total) {
		fputs("nothing to show", out);
		return;
	}
	fputs("click a box to see it alone, the lowest one to see all", out);
	if (flame->narrowest > NARROWEST)
		fprintf(out, "; boxes below %.2f %% are left out", flame->narrowest * 100 / WIDTH);
}

void gt_folded_print_svg(const struct gt_folded *stacks, enum gt_weight weight, const char *title,
			 bool inner, FILE *out)
{
	struct flame flame = {.stacks = stacks, .weight = weight, .narrowest = NARROWEST};
	char *boxes;

	flame.next = malloc((stacks->folds.count + 1) * sizeof(*flame.next));
	if (!flame.next)
		return;
	draw_all(&flame, &boxes);
	while (inner && boxes && flame.boxes > MOST) {
		free(boxes);
		flame.narrowest *= 1.5;
		draw_all(&flame, &boxes);
	}
	free(flame.next);
	if (!inner)
		fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", out);
	fprintf(out,
		"<svg class=\"flame\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %u\" "
		"font-family=\"monospace\" "
		"font-size=\"11\">\n<style>.box{cursor:pointer}.box:hover rect"
		"{stroke:#000}.box text{pointer-events:none}</style>\n<text x=\"4\" y=\"14\" "
		"font-size=\"14\">",
		WIDTH, 34 + (flame.depth + 1) * ROW + 4);
	gt_show_xml(title, out);
	fputs("</text><text class=\"told\" x=\"4\" y=\"29\">", out);
	print_hint(&flame, out);
	fprintf(out, "</text>\n%s", boxes ? boxes : "");
	if (!inner)
		fprintf(out, "<script><![CDATA[%s]]></script>\n", gt_folded_svg_script);
	fputs("</svg>\n", out);
	free(boxes);
}
