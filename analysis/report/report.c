/* SPDX-License-Identifier: Apache-2.0
 *
 * See report.h: the order of the page, its flame graph and its losses. Pure over constant models;
 * one thread per page.
 */
#include "analysis/report/report.h"

#include <stdlib.h>

#include "analysis/holes/holes.h"
#include "analysis/report/page.h"
#include "analysis/report/parts.h"
#include "analysis/stacks/stacks.h"
#include "readers/show.h"

void gt_page_time(double ns, FILE *out)
{
	char text[64];

	fputs(gt_table_time(ns, text, sizeof(text)), out);
}

int64_t gt_page_shift(const struct gt_page *page, const struct gt_model *model)
{
	return page->base ? model->reading.header.base_ns - page->base : 0;
}

void gt_page_more_devices(const struct gt_page *page)
{
	if (page->use_count > GT_PAGE_DEVICES)
		fprintf(page->out, "<p class=\"quiet\">%d more devices</p>\n",
			page->use_count - GT_PAGE_DEVICES);
}

static bool is_users(const struct gt_page *page)
{
	return page->job->count && page->job->models[0].ranks;
}

static int print_flame(const struct gt_page *page)
{
	struct gt_folded stacks;
	int rc = gt_folded_build(page->job, page->filter, GT_WEIGHT_GPU, true, &stacks);

	fputs("<h2>Who asked for it</h2>\n", page->out);
	if (!rc) {
		fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
		      "aria-label=\"flame graph\">\n",
		      page->out);
		gt_folded_print_svg(
			&stacks, GT_WEIGHT_GPU,
			is_users(page)
				? "Lines of the user's code by the GPU time that they asked for"
				: "Call stacks by time on the GPU",
			true, page->out);
		fputs("</div>\n", page->out);
	}
	gt_folded_fini(&stacks);
	return rc ? rc : gt_page_lines(page);
}

static void print_events(const struct gt_page *page)
{
	char *text = NULL;
	size_t size, lines = 0;
	FILE *memory = open_memstream(&text, &size);

	if (memory) {
		lines = gt_holes_events(page->job, memory);
		fclose(memory);
	}
	if (lines) {
		fputs("<p>Noted meanwhile:</p>\n<pre>", page->out);
		gt_folded_lines(text, page->out);
		fputs("</pre>\n", page->out);
	}
	free(text);
}

static void print_losses(const struct gt_page *page)
{
	char *text = NULL;
	size_t size, lines = 0;
	FILE *memory = open_memstream(&text, &size);

	if (memory) {
		lines = gt_holes_of(page->job, memory);
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
static void see_clocks(struct gt_page *page)
{
	int64_t first = INT64_MAX, last = 0;

	for (int i = 0; i < page->use_count; i++) {
		int64_t base = base_of(&page->uses[i]);

		first = base < first ? base : first;
		last = base > last ? base : last;
	}
	page->base = page->use_count && last - first < GT_JOB_NS ? first : 0;
}

static void see_devices(struct gt_page *page)
{
	page->first = INT64_MAX;
	page->last = INT64_MIN;
	see_clocks(page);
	for (int i = 0; i < page->use_count; i++) {
		int64_t shift = gt_page_shift(page, page->uses[i].model);

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
	struct gt_page page = {.job = job, .filter = filter, .out = out};
	int rc = 0;

	page.use_count = gt_stats_devices(job, filter, &page.uses);
	if (page.use_count < 0)
		return page.use_count;
	see_devices(&page);
	gt_page_head(&page, title);
	rc = gt_page_findings(&page);
	if (!rc)
		rc = gt_page_timeline(&page);
	gt_page_overlap(&page);
	if (!rc)
		rc = gt_page_gaps(&page);
	if (!rc)
		rc = print_flame(&page);
	if (!rc)
		rc = gt_page_roofline(&page);
	if (!rc)
		rc = gt_page_sums(&page);
	gt_page_memory(&page);
	print_losses(&page);
	fprintf(out, "<script>%s%s</script>\n</body></html>\n", gt_folded_svg_script,
		report_script);
	free(page.uses);
	return rc;
}
