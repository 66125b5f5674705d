/* SPDX-License-Identifier: Apache-2.0
 *
 * The head of the page: what was traced, when, on what; sums; see parts.h. Pure over constant
 * models; one thread per page.
 */
#include "analysis/holes/holes.h"
#include "analysis/report/parts.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "analysis/report/page.h"
#include "analysis/report/report.h"
#include "readers/show.h"
#include "trace/job_twins.h"

#define MAX_MODELS 8 /* of GPUs that are named */

static void program_of(const struct gt_model *model, char *out, size_t size)
{
	const char *name = gt_model_name(model, model->process);

	if (gt_header_text(&model->reading.header, "metadata", "process", out, size) && out[0])
		return;
	snprintf(out, size, "%s", name[0] ? name : model->path);
}

/* When the first slice began, in UTC; "": not known. */
static void date_of(const struct gt_page *page, char *out, size_t size)
{
	time_t first = 0;
	struct tm when;

	out[0] = 0;
	for (size_t i = 0; i < page->job->count; i++) {
		const struct gt_model *model = &page->job->models[i];
		const struct gt_header *header = &model->reading.header;
		int64_t ns;

		if (!header->has_base || header->base_ns <= 0 ||
		    __builtin_add_overflow(header->base_ns, model->first, &ns) || ns <= 0)
			continue;
		if (!first || ns / 1000000000 < first)
			first = ns / 1000000000;
	}
	if (first && gmtime_r(&first, &when))
		strftime(out, size, "%Y-%m-%d %H:%M:%S UTC", &when);
}

/* Processes of one rank that use a device of one number use one device. */
static bool is_counted(const struct gt_page *page, int use)
{
	const struct gt_device_use *uses = page->uses;

	for (int i = 0; i < use; i++)
		if (uses[i].model->rank == uses[use].model->rank &&
		    uses[i].device == uses[use].device)
			return true;
	return false;
}

static int count_devices(const struct gt_page *page)
{
	int count = 0;

	for (int i = 0; i < page->use_count; i++)
		count += !is_counted(page, i);
	return count;
}

/* "2 x NVIDIA H200, NVIDIA A100" */
static void print_gpus(const struct gt_page *page, FILE *out)
{
	const char *names[MAX_MODELS];
	int counts[MAX_MODELS] = {0}, known = 0;

	for (int i = 0; i < page->use_count; i++) {
		int k = 0;

		if (!page->uses[i].name[0] || is_counted(page, i))
			continue;
		while (k < known && strcmp(names[k], page->uses[i].name))
			k++;
		if (k == MAX_MODELS)
			continue;
		names[k] = page->uses[i].name;
		counts[k]++;
		known += k == known;
	}
	for (int k = 0; k < known; k++) {
		fputs(k ? ", " : " \xc2\xb7 ", out);
		if (counts[k] > 1)
			fprintf(out, "%d x ", counts[k]);
		gt_show_xml(names[k], out);
	}
}

/* What was traced: on the page, and behind the program's name in its title. */
static void print_subject(const struct gt_page *page, FILE *out)
{
	size_t ranks, processes;
	char date[64], words[80];

	gt_job_count(page->job->models, page->job->count, &ranks, &processes);
	gt_job_words(ranks, processes, words, sizeof(words));
	date_of(page, date, sizeof(date));
	fputs(date[0] ? date : "time not known", out);
	print_gpus(page, out);
	if (*words)
		fprintf(out, " \xc2\xb7 %s", words);
	else if (page->job->count && page->job->models[0].reading.header.world_size > 1)
		fprintf(out, " \xc2\xb7 rank %d of %" PRId64, page->job->models[0].rank,
			(int64_t)page->job->models[0].reading.header.world_size);
}

static void print_title(const struct gt_page *page, const char *title)
{
	char program[256] = "gputrace report";

	if (!title && page->job->count)
		program_of(&page->job->models[0], program, sizeof(program));
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">" GT_REPORT_MARK
	      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>",
	      page->out);
	gt_show_xml(title ? title : program, page->out);
	if (!title) {
		fputs(" \xc2\xb7 ", page->out);
		print_subject(page, page->out);
	}
	fprintf(page->out, "</title><style>%s</style></head><body>\n<h1>", report_style);
	gt_show_xml(title ? title : program, page->out);
	fputs("</h1>\n<p class=\"quiet\">", page->out);
	print_subject(page, page->out);
	fputs("</p>\n", page->out);
}

static bool is_filtered(const struct gt_job *job)
{
	for (size_t i = 0; i < job->count; i++)
		if (gt_holes_lack_work(&job->models[i].reading))
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

static void print_cost(const struct gt_page *page)
{
	const struct gt_stats_cost cost = gt_stats_cost(page->job);
	char text[256];

	if (!gt_stats_cost_text(&cost, text, sizeof(text)))
		return;
	fputs("<p>tracer cost: ", page->out);
	gt_show_xml(text, page->out);
	fputs("</p>\n", page->out);
}

static void print_summary(const struct gt_page *page)
{
	uint64_t events = 0, ops = 0, calls = 0;
	double busy = 0, wall = 0;
	int devices = count_devices(page);
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
	snprintf(text, sizeof(text), "%d", devices);
	print_card(devices == 1 ? "device" : "devices", text, page->out);
	print_card("from first to last GPU operation",
		   gt_table_time((double)(page->last - page->first), text, sizeof(text)),
		   page->out);
	snprintf(text, sizeof(text), "%.1f %%", wall > 0 ? busy * 100 / wall : 0);
	print_card(is_filtered(page->job) ? "GPU busy (filtered)"
		   : page->use_count > 1  ? "GPU busy, each from its first to its last"
					  : "GPU busy",
		   text, page->out);
	snprintf(text, sizeof(text), "%" PRIu64, ops);
	print_card("GPU operations", text, page->out);
	snprintf(text, sizeof(text), "%" PRIu64, calls);
	print_card("CUDA calls", text, page->out);
	snprintf(text, sizeof(text), "%" PRIu64, events);
	print_card("events", text, page->out);
	fputs("</div>\n", page->out);
	print_cost(page);
}

void gt_page_head(const struct gt_page *page, const char *title)
{
	print_title(page, title);
	print_summary(page);
}
