/* SPDX-License-Identifier: Apache-2.0
 *
 * The lines of memory in use, see parts.h. Pure over constant models; one thread per page.
 */
#include "analysis/report/parts.h"

#define MAX_POINTS     2000 /* of a line */
#define MEMORY_DEVICES 64

/* The driver's view of a device, where there is one; else that of PyTorch's allocator. */
static bool is_of(const struct gt_model *model, uint32_t device, size_t i, bool of_allocator)
{
	return model->memory.at[i].device == device &&
	       model->memory.at[i].of_allocator == of_allocator;
}

static bool has_counter(const struct gt_model *model, uint32_t device)
{
	for (size_t i = 0; i < model->memory.count; i++)
		if (is_of(model, device, i, false))
			return true;
	return false;
}

/* Memory in use on one device of one trace, as a line; at most MAX_POINTS of it. */
static void print_memory_of(const struct gt_page *page, const struct gt_model *model,
			    uint32_t device)
{
	int64_t first = INT64_MAX, last = INT64_MIN, most = 1;
	struct gt_memory_point high = {0};
	bool of_allocator = !has_counter(model, device);
	size_t count = 0, step, k = 0;
	char text[64], label[64];

	for (size_t i = 0; i < model->memory.count; i++) {
		const struct gt_memory_point *point = &model->memory.at[i];

		if (!is_of(model, device, i, of_allocator))
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

		if (!is_of(model, device, i, of_allocator))
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

static void print_memory_of_all(const struct gt_page *page, const struct gt_model *model)
{
	uint64_t present = 0;

	for (size_t i = 0; i < model->memory.count; i++)
		if (model->memory.at[i].device < MEMORY_DEVICES)
			present |= (uint64_t)1 << model->memory.at[i].device;
	for (uint32_t device = 0; device < MEMORY_DEVICES; device++)
		if (present >> device & 1)
			print_memory_of(page, model, device);
}

void gt_page_memory(const struct gt_page *page)
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
