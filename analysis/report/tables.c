/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of the page, see parts.h. Pure over constant models; one thread per page.
 */
#include "analysis/report/parts.h"

#include <string.h>

#include "analysis/gaps/gaps.h"
#include "analysis/ranks/peers.h"
#include "analysis/table/short_names.h"
#include "readers/show.h"

#define SHOWN    25   /* rows of a table that are shown at first */
#define WRITTEN  125  /* that are in the page */
#define SMALL    0.05 /* %: a share that would be shown as 0.0 */
#define NO_SHARE SIZE_MAX
#define UNBROKEN 16 /* characters */

/* The column with a row's share of the whole: the first that people see. */
static size_t share_column(const struct gt_table *table)
{
	for (size_t c = 0; c < table->width; c++)
		if (table->columns[c].brief)
			return table->columns[c].kind == GT_COLUMN_PERCENT ? c : NO_SHARE;
	return NO_SHARE;
}

/* How many rows are shown: those behind are beyond SHOWN, or a tail of small ones. */
static size_t shown_rows(const struct gt_table *table, size_t share)
{
	size_t rows = table->rows < SHOWN ? table->rows : SHOWN, end = rows;

	while (share != NO_SHARE && end > 1) {
		const struct gt_cell *cell = &table->cells.at[(end - 1) * table->width + share];

		if (cell->is_absent || cell->number >= SMALL)
			break;
		end--;
	}
	return table->rows - end > 1 ? end : table->rows;
}

/* A name of many parts may be broken between them, so that it takes no more room than a sentence.
 */
static void print_text(char *text, FILE *out)
{
	size_t run = 0, from = 0;

	for (size_t i = 0; text[i]; i++) {
		char next = text[i + 1];

		run = text[i] == ' ' ? 0 : run + 1;
		if (run < UNBROKEN || !next || !strchr("_:,<(/.", text[i]) || next == ' ' ||
		    next == text[i])
			continue;
		text[i + 1] = 0;
		gt_show_xml(text + from, out);
		fputs("<wbr>", out);
		text[i + 1] = next;
		from = i + 1;
		run = 0;
	}
	gt_show_xml(text + from, out);
}

static void print_cell(const struct gt_table *table, size_t i, const struct gt_short_names *names,
		       FILE *out)
{
	const struct gt_column *column = &table->columns[i % table->width];
	const struct gt_cell *cell = &table->cells.at[i];
	char text[4096], room[4096];

	if (!column->brief)
		return;
	if (column->kind <= GT_COLUMN_CODE) {
		fputs("<td class=\"t\" title=\"", out);
		gt_show_xml(cell->text ? cell->text : "", out);
		fputs("\">", out);
	} else {
		fprintf(out, "<td data-v=\"%.3f\">", cell->number);
	}
	snprintf(room, sizeof(room), "%s", gt_table_cell(table, i, names, text, sizeof(text)));
	print_text(room, out);
	fputs("</td>", out);
}

static bool is_text(const struct gt_column *column)
{
	return column->kind <= GT_COLUMN_CODE;
}

/* Names come first: a narrow window shows them without scrolling. */
static void print_titles(const struct gt_table *table, FILE *out)
{
	fputs("<table><thead><tr>", out);
	for (int texts = 1; texts >= 0; texts--)
		for (size_t c = 0; c < table->width; c++)
			if (table->columns[c].brief && is_text(&table->columns[c]) == texts)
				fprintf(out, "<th scope=\"col\" tabindex=\"0\"%s>%s</th>",
					texts ? " class=\"t\"" : "", table->columns[c].brief);
	fputs("</tr></thead><tbody>\n", out);
}

static void print_row(const struct gt_table *table, size_t row, const struct gt_short_names *names,
		      FILE *out)
{
	for (int texts = 1; texts >= 0; texts--)
		for (size_t c = 0; c < table->width; c++)
			if (is_text(&table->columns[c]) == texts)
				print_cell(table, row * table->width + c, names, out);
	fputs("</tr>\n", out);
}

/* "21 more, 0.9 % together" */
static void print_rest(const struct gt_table *table, size_t shown, size_t share, FILE *out)
{
	double sum = 0;

	if (shown == table->rows)
		return;
	for (size_t row = shown; share != NO_SHARE && row < table->rows; row++)
		sum += table->cells.at[row * table->width + share].number;
	fprintf(out, "<p class=\"quiet rest\">%zu more", table->rows - shown);
	if (share != NO_SHARE)
		fprintf(out, ", %.1f %% together", sum);
	fputs("</p>\n", out);
}

void gt_page_table(const struct gt_table *table, FILE *out)
{
	size_t share = share_column(table), shown = shown_rows(table, share);
	size_t written = table->rows < WRITTEN ? table->rows : WRITTEN;
	struct gt_short_names names;

	gt_short_names_make(&names, table, written, GT_TABLE_NAME_WIDTH, false);
	fputs("<h3>", out);
	gt_show_xml(table->title, out);
	fputs("</h3>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"", out);
	gt_show_xml(table->title, out);
	fputs("\">", out);
	print_titles(table, out);
	for (size_t row = 0; row < written; row++) {
		fputs(row < shown ? "<tr>" : "<tr hidden>", out);
		print_row(table, row, &names, out);
	}
	fputs("</tbody></table></div>\n", out);
	print_rest(table, shown, share, out);
	gt_short_names_fini(&names);
}

/* Prints a table that @rc says is complete, and frees it. Returns @rc. */
static int print_built(int rc, struct gt_table *table, FILE *out)
{
	if (!rc)
		gt_page_table(table, out);
	gt_table_fini(table);
	return rc;
}

int gt_page_sums(const struct gt_page *page)
{
	struct gt_table table = {0};
	int rc = 0;

	fputs("<h2>Sums</h2>\n", page->out);
	for (size_t i = 0; !rc && i < gt_stats_short_count(page->job); i++) {
		const struct gt_report *report = &gt_stats_short[i];

		rc = report->build(report, page->job, page->filter, &table);
		rc = print_built(rc, &table, page->out);
	}
	table = (struct gt_table){0};
	if (!rc)
		rc = gt_page_copies(page->job, page->filter, &table);
	if (!rc && table.rows)
		gt_page_table(&table, page->out);
	gt_table_fini(&table);
	return rc;
}

int gt_page_lines(const struct gt_page *page)
{
	struct gt_table table = {0};
	struct gt_report report = gt_stats_by(GT_KEY_LINE, gt_stats_any_frame(page->job));
	int rc = report.build(&report, page->job, page->filter, &table);

	return print_built(rc, &table, page->out);
}

int gt_page_gaps(const struct gt_page *page)
{
	struct gt_table causes = {0}, devices = {0}, windows = {0}, peers = {0};
	struct gt_peer_doubts doubts = {0};
	struct gt_gaps_parts gaps;
	char clocks[320];
	int rc = gt_gaps_parts_init(&gaps);

	fputs("<h2>Idle time of the GPU</h2>\n", page->out);
	if (!rc)
		rc = gt_gaps_map(&gaps, page->job, page->filter, 0);
	if (!rc)
		rc = gt_gaps_fill_causes(&gaps, &causes);
	if (!rc)
		rc = gt_gaps_fill_devices(&gaps, &devices);
	if (!rc)
		rc = gt_gaps_fill_windows(&gaps, &windows);
	if (!rc)
		rc = gt_ranks_peers(page->job, page->filter, NULL, &peers, &doubts);
	if (!rc) {
		gt_page_table(&causes, page->out);
		gt_page_table(&devices, page->out);
		gt_page_table(&windows, page->out);
		if (peers.rows)
			gt_page_table(&peers, page->out);
		if (doubts.differ)
			fputs("<p class=\"quiet\">" GT_RANKS_DIFFER "</p>\n", page->out);
		if (gt_ranks_unrelated(doubts.unrelated, clocks, sizeof(clocks)))
			fprintf(page->out, "<p class=\"quiet\">%s</p>\n", clocks);
	}
	gt_table_fini(&causes);
	gt_table_fini(&devices);
	gt_table_fini(&windows);
	gt_table_fini(&peers);
	gt_gaps_parts_fini(&gaps);
	return rc;
}
