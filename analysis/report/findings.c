/* SPDX-License-Identifier: Apache-2.0
 *
 * What could be faster, on top of the page, see parts.h. Pure over constant models; one thread per
 * page.
 */
#include "analysis/report/parts.h"

#include <inttypes.h>

#include "analysis/findings/findings.h"
#include "readers/show.h"
#include "trace/frame.h"

static void print_places(const struct gt_finding *finding, FILE *out)
{
	if (!finding->place_count)
		return;
	fputs("<ul>\n", out);
	for (size_t i = 0; i < finding->place_count; i++) {
		const struct gt_finding_place *place = &finding->places[i];
		char where[2048];

		gt_frame_shorten_place(place->where, where, sizeof(where));
		fputs("<li>", out);
		gt_show_xml(where, out);
		fprintf(out, " <span class=\"quiet\">(%" PRIu64 " x, ", place->count);
		gt_page_time((double)place->ns, out);
		fputs(")</span></li>\n", out);
	}
	if (finding->place_total > finding->place_count)
		fprintf(out, "<li class=\"quiet\">%zu more</li>\n",
			finding->place_total - finding->place_count);
	fputs("</ul>\n", out);
}

static void print_finding(const struct gt_finding *finding, FILE *out)
{
	double wall = (double)finding->wall;

	fputs("<li><b>", out);
	gt_show_xml(finding->rule->title, out);
	fputs("</b>", out);
	if (finding->saves) {
		fputs(" <span class=\"quiet\">saves at most ", out);
		gt_page_time((double)finding->saves, out);
		fprintf(out, " (%.1f %% of wall)</span>",
			wall > 0 ? (double)finding->saves * 100 / wall : 0);
	}
	fputs("<p>", out);
	gt_show_xml(finding->evidence, out);
	fputs("</p>\n", out);
	print_places(finding, out);
	fputs("<p class=\"do\">", out);
	gt_show_xml(finding->rule->advice, out);
	fputs("</p></li>\n", out);
}

static void print_undecided(const struct gt_findings *findings, FILE *out)
{
	const char *gap = "<p class=\"quiet\">Not decidable from these traces: ";

	for (size_t i = 0; i < findings->list.count; i++) {
		const struct gt_finding *finding = &findings->list.at[i];

		if (finding->state != GT_FINDING_UNDECIDED)
			continue;
		fprintf(out, "%s%s needs ", gap, finding->rule->id);
		gt_show_xml(finding->needs, out);
		gap = "; ";
	}
	if (*gap == ';')
		fputs("</p>\n", out);
}

int gt_page_findings(const struct gt_page *page)
{
	struct gt_findings findings;
	int rc = gt_findings_find(page->job, page->filter, &findings);

	if (!rc) {
		bool any = gt_findings_count(&findings, GT_FINDING_FOUND) > 0;

		fputs("<h2>What could be faster</h2>\n", page->out);
		fputs(any ? "<ol class=\"findings\">\n" : "<p>Nothing found.</p>\n", page->out);
		for (size_t i = 0; i < findings.list.count; i++)
			if (findings.list.at[i].state == GT_FINDING_FOUND)
				print_finding(&findings.list.at[i], page->out);
		fputs(any ? "</ol>\n" : "", page->out);
		print_undecided(&findings, page->out);
	}
	gt_findings_fini(&findings);
	return rc;
}
