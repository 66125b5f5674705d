/* SPDX-License-Identifier: Apache-2.0
 *
 * See job_twins.h.
 */
#include "trace/job_twins.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "from 57 ms to 65 ms, window 2" -> " window 2"; false: it is no window or dump. */
static bool window_of(const struct gt_model *model, char *ret, size_t size)
{
	char text[160], *number;

	if (!gt_header_text(&model->reading.header, "metadata", "window", text, sizeof(text)))
		return false;
	number = strrchr(text, ',');
	if (!number)
		return false;
	number[1 + strcspn(number + 1, "(")] = 0;
	while (number[strlen(number) - 1] == ' ')
		number[strlen(number) - 1] = 0;
	snprintf(ret, size, "%s", number + 1);
	return true;
}

/* Is there another model of this rank with this process id? They follow each other. */
static bool has_same_pid(const struct gt_job *job, size_t i)
{
	const struct gt_model *models = job->models;

	for (size_t j = i; j-- && models[j].rank == models[i].rank;)
		if (models[j].pid == models[i].pid)
			return true;
	for (size_t j = i + 1; j < job->count && models[j].rank == models[i].rank; j++)
		if (models[j].pid == models[i].pid)
			return true;
	return false;
}

/* A file of several, as some tools write it, is not called by one of them. */
static bool is_one_process(const struct gt_model *model)
{
	for (size_t i = 0; i < model->threads.count; i++)
		if (model->threads.at[i].call.count && model->threads.at[i].pid != model->pid)
			return false;
	return model->pid > 0;
}

static void name_twin(const struct gt_job *job, size_t i)
{
	struct gt_model *model = &job->models[i];
	const char *slash = strrchr(model->path, '/');
	size_t size = sizeof(model->twin);
	char window[64] = "";

	if (is_one_process(model) &&
	    (!has_same_pid(job, i) || window_of(model, window, sizeof(window))))
		snprintf(model->twin, size, " pid %" PRId64 "%s", model->pid, window);
	else
		snprintf(model->twin, size, " of %.100s", slash ? slash + 1 : model->path);
}

void gt_job_name_twins(const struct gt_job *job)
{
	for (size_t i = 0; i < job->count; i++)
		if (job->models[i].is_twin)
			name_twin(job, i);
}

void gt_job_count(const struct gt_model *models, size_t count, size_t *ret_ranks,
		  size_t *ret_processes)
{
	size_t first = 0; /* of the rank */

	*ret_ranks = *ret_processes = 0;
	for (size_t i = 0, before; i < count; i++) {
		if (models[i].rank != models[first].rank)
			first = i;
		*ret_ranks += i == first;
		for (before = first; before < i; before++)
			if (models[before].pid == models[i].pid && models[i].pid >= 0)
				break;
		*ret_processes += before == i;
	}
}

void gt_job_words(size_t ranks, size_t processes, char *ret, size_t size)
{
	char text[64] = "";

	if (processes > ranks)
		snprintf(text, sizeof(text), "%zu processes", processes);
	if (ranks > 1)
		snprintf(ret, size, "%zu ranks%s%s", ranks, *text ? ", " : "", text);
	else
		snprintf(ret, size, "%s", text);
}
