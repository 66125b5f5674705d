/* SPDX-License-Identifier: Apache-2.0
 *
 * See stats_parts.h.
 */
#include "cli/reduce/stats_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/holes/holes.h"
#include "cli/cmdline.h"
#include "readers/show.h"

/* Names of groups: facts by their number, lines (labels) by kind, trace and place. */
#define FACT "fact %d"
#define LINE "line %d of %" PRIu64 ": %zu"

int gt_stats_parts_init(struct gt_stats_parts *parts)
{
	*parts = (struct gt_stats_parts){.set_count = 1};
	parts->sets[0].name = "lines";
	parts->sets[0].joins[0] = GT_TAG_SUM;
	parts->sets[0].joins[1] = GT_TAG_FIRST; /* the kind of a line, + 1 */
	return gt_groups_init(&parts->sets[0].groups);
}

void gt_stats_parts_fini(struct gt_stats_parts *parts)
{
	for (size_t i = 0; i < parts->set_count; i++)
		gt_groups_fini(&parts->sets[i].groups);
}

int gt_stats_parts_want(struct gt_stats_parts *parts, const struct gt_report *report)
{
	struct gt_stats_part *part = &parts->part[parts->count++];
	struct gt_group_set *set = &parts->sets[parts->set_count];

	*part = (struct gt_stats_part){.report = *report};
	if (!report->map)
		return 0;
	part->set = parts->set_count++;
	set->name = report->name;
	memcpy(set->joins, report->joins, sizeof(set->joins));
	return gt_groups_init(&set->groups);
}

int gt_stats_parts_want_mangled(struct gt_stats_parts *parts)
{
	parts->mangled = parts->set_count++;
	parts->sets[parts->mangled].name = "mangled";
	return gt_groups_init(&parts->sets[parts->mangled].groups);
}

static int map_mangled(const struct gt_job *job, struct gt_groups *groups)
{
	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (uint32_t i = 0; i < model->mangled.count; i++)
			if (model->mangled.at[i] != GT_NAME_NONE &&
			    !gt_pair_get(groups, gt_model_name(model, i),
					 gt_model_name(model, model->mangled.at[i])))
				return -ENOMEM;
	}
	return 0;
}

int gt_stats_parts_mangled(struct gt_stats_parts *parts, struct gt_mangled_names *names)
{
	struct gt_groups *groups = &parts->sets[parts->mangled].groups;

	for (size_t i = 0, count = groups->list.count; i < count; i++) {
		const char *pair = gt_group_name(groups, &groups->list.at[i]);
		const struct gt_group *first = gt_pair_first(groups, pair);

		if (!first ||
		    gt_mangled_names_put(names, gt_group_name(groups, first), gt_pair_second(pair)))
			return -ENOMEM;
	}
	return 0;
}

static int add_fact(struct gt_groups *groups, enum gt_stats_fact fact, int64_t number)
{
	struct gt_group *group;
	char name[32];

	snprintf(name, sizeof(name), FACT, (int)fact);
	group = gt_groups_get(groups, name);
	if (!group)
		return -ENOMEM;
	group->tag[0] += number;
	return 0;
}

__attribute__((format(printf, 3, 4))) static int add_line(struct gt_groups *groups,
							  enum gt_stats_lines kind,
							  const char *format, ...)
{
	struct gt_group *group;
	char name[80], *text;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&text, format, list);
	va_end(list);
	if (length < 0)
		return -ENOMEM;
	snprintf(name, sizeof(name), LINE, (int)kind, groups->trace, groups->list.count);
	group = gt_groups_get(groups, name);
	if (group) {
		group->label = gt_names_put(&groups->names, text, (size_t)length);
		group->tag[1] = kind + 1;
	}
	free(text);
	return group ? 0 : -ENOMEM;
}

static int add_trace(const struct gt_model *model, struct gt_groups *groups)
{
	char span[32];

	return add_line(groups, GT_STATS_TRACES, "%s: %" PRIu64 " event%s over %s",
			strcmp(model->path, "-") ? model->path : "standard input",
			model->reading.events, gt_plural(model->reading.events),
			gt_table_time((double)(model->last - model->first), span, sizeof(span)));
}

/* How much of all that was looked at, where that is more than from the first operation to the
 * last. */
static void print_window(const struct gt_device_use *use, char *out, size_t size)
{
	int64_t length = use->until - use->from;
	char time[32];

	*out = 0;
	if (length > use->last - use->first)
		snprintf(out, size, ", %.1f %% of the window of %s",
			 (double)use->busy * 100 / (double)length,
			 gt_table_time((double)length, time, sizeof(time)));
}

/* Busy time that lacks what a filter left out is not that of the device. */
static const char *filtered(const struct gt_model *model)
{
	return gt_holes_lack_work(&model->reading) ? " (filtered)" : "";
}

static int add_device(const struct gt_device_use *use, struct gt_groups *groups)
{
	int64_t length = use->last - use->first;
	char span[32], busy[32], device[64], graphs[48] = "", window[80];

	gt_key_of_device(use->model, use->device, device, sizeof(device));
	print_window(use, window, sizeof(window));
	if (use->count[GT_OP_GRAPH])
		snprintf(graphs, sizeof(graphs), ", %" PRIu64 " whole graph%s",
			 use->count[GT_OP_GRAPH], gt_plural(use->count[GT_OP_GRAPH]));
	return add_line(groups, GT_STATS_DEVICES,
			"%s: busy %s%s of %s (%.1f %%)%s, %" PRIu64 " kernel%s, %" PRIu64
			" %s, %" PRIu64 " set%s%s%s%s",
			device, gt_table_time((double)use->busy, busy, sizeof(busy)),
			filtered(use->model), gt_table_time((double)length, span, sizeof(span)),
			length > 0 ? (double)use->busy * 100 / (double)length : 0.0, window,
			use->count[GT_OP_KERNEL], gt_plural(use->count[GT_OP_KERNEL]),
			use->count[GT_OP_COPY], use->count[GT_OP_COPY] == 1 ? "copy" : "copies",
			use->count[GT_OP_SET], gt_plural(use->count[GT_OP_SET]), graphs,
			*use->name ? ", " : "", use->name);
}

static int add_devices(const struct gt_job *one, const struct gt_filter *filter,
		       struct gt_groups *groups)
{
	struct gt_device_use *uses = NULL;
	int count = gt_stats_devices(one, filter, &uses), rc = count < 0 ? count : 0;

	for (int i = 0; !rc && i < count; i++)
		rc = add_device(&uses[i], groups);
	free(uses);
	return rc;
}

static int add_text(const struct gt_job *one, enum gt_stats_lines kind,
		    size_t (*print)(const struct gt_job *job, FILE *out), struct gt_groups *groups)
{
	char *text = NULL, *rest, *line;
	size_t size;
	FILE *memory = open_memstream(&text, &size);
	int rc = 0;

	if (!memory)
		return -ENOMEM;
	print(one, memory);
	if (fclose(memory))
		rc = -ENOMEM;
	rest = text;
	while (!rc && (line = strsep(&rest, "\n")) && (*line || rest))
		rc = add_line(groups, kind, "%s", line);
	free(text);
	return rc;
}

/* What is said of each trace by itself. */
static int map_trace(const struct gt_job *job, size_t f, const struct gt_filter *filter,
		     bool devices, struct gt_groups *groups)
{
	const struct gt_job one = {.models = &job->models[f], .count = 1};
	int rc;

	groups->trace = gt_job_order(job, f);
	rc = add_trace(one.models, groups);
	if (!rc && devices)
		rc = add_devices(&one, filter, groups);
	if (!rc)
		rc = add_text(&one, GT_STATS_LOSSES, gt_holes_of, groups);
	return rc ? rc : add_text(&one, GT_STATS_EVENTS, gt_holes_events, groups);
}

static bool any_passes(const struct gt_job *job, const struct gt_filter *filter)
{
	for (size_t f = 0; f < job->count; f++)
		if (!filter->terms.count || gt_filter_any(filter, &job->models[f]))
			return true;
	return false;
}

static int map_facts(const struct gt_job *job, const struct gt_filter *filter, bool backward,
		     struct gt_groups *groups)
{
	const struct gt_stats_cost cost = gt_stats_cost(job);
	struct gt_stats_backward lost = {0};
	int rc = 0;

	if (backward)
		rc = gt_stats_backward(job, filter, &lost);
	const int64_t facts[GT_STATS_FACT_COUNT_] = {
		[GT_STATS_GRAPHS] = gt_stats_short_count(job) == GT_STATS_SHORT,
		[GT_STATS_CODE] = gt_stats_has_code(job),
		[GT_STATS_MARKED] = !gt_stats_any_frame(job),
		[GT_STATS_SILENT] = lost.silent,
		[GT_STATS_ACCUMULATED] = lost.accumulated,
		[GT_STATS_UNKNOWN] = lost.unknown,
		[GT_STATS_LOST_OF] = lost.all,
		[GT_STATS_TIED] = lost.is_tied,
		[GT_STATS_PASSES] = any_passes(job, filter),
		[GT_STATS_PROCESSES] = (int64_t)cost.processes,
		[GT_STATS_COST_ADDED] = (int64_t)cost.added,
		[GT_STATS_COST_OWN] = (int64_t)cost.own,
		[GT_STATS_COST_ELAPSED] = (int64_t)cost.elapsed,
		[GT_STATS_COST_PROCESS] = (int64_t)cost.process,
		[GT_STATS_COST_THREADS] = (int64_t)cost.threads,
	};

	for (int i = 0; !rc && i < GT_STATS_FACT_COUNT_; i++)
		rc = add_fact(groups, (enum gt_stats_fact)i, facts[i]);
	return rc;
}

static int map_table(struct gt_stats_parts *parts, struct gt_stats_part *part,
		     const struct gt_job *job, const struct gt_filter *filter)
{
	if (!part->set || part->is_mapped)
		return 0;
	part->is_mapped = true;
	return part->report.map(&part->report, job, filter, &parts->sets[part->set].groups);
}

int gt_stats_parts_map(struct gt_stats_parts *parts, const struct gt_job *job,
		       const struct gt_filter *filter, struct gt_stats_asked asked)
{
	struct gt_groups *lines = &parts->sets[0].groups;
	int rc = map_facts(job, filter, asked.backward, lines);

	for (size_t f = 0; !rc && f < job->count; f++)
		rc = map_trace(job, f, filter, asked.devices, lines);
	if (!rc && parts->mangled)
		rc = map_mangled(job, &parts->sets[parts->mangled].groups);
	for (size_t i = 0; !rc && asked.tables && i < parts->count; i++)
		rc = map_table(parts, &parts->part[i], job, filter);
	return rc;
}

/* The groups of a table hold the time of each operation: of several tables those of one at a
 * time. */
int gt_stats_parts_fill(struct gt_stats_parts *parts, size_t part, const struct gt_job *job,
			const struct gt_filter *filter, struct gt_table *ret_table)
{
	struct gt_stats_part *own = &parts->part[part];
	struct gt_report report = own->report;
	struct gt_groups *groups = &parts->sets[own->set].groups;
	int rc = map_table(parts, own, job, filter);

	if (rc)
		return rc;
	report.is_any_frame = !gt_stats_parts_fact(parts, GT_STATS_MARKED);
	if (!own->set)
		return report.build(&report, job, filter, ret_table);
	rc = report.fill(&report, groups, ret_table);
	gt_groups_fini(groups);
	*groups = (struct gt_groups){0};
	return rc;
}

int64_t gt_stats_parts_fact(struct gt_stats_parts *parts, enum gt_stats_fact fact)
{
	const struct gt_group *group;
	char name[32];

	snprintf(name, sizeof(name), FACT, (int)fact);
	group = gt_groups_get(&parts->sets[0].groups, name);
	return group ? group->tag[0] : 0;
}

void gt_stats_parts_lines(const struct gt_stats_parts *parts, enum gt_stats_lines kind,
			  void (*take)(const char *line, void *data), void *data)
{
	const struct gt_groups *groups = &parts->sets[0].groups;

	for (size_t i = 0; i < groups->list.count; i++)
		if (groups->list.at[i].tag[1] == kind + 1)
			take(gt_names_get(&groups->names, groups->list.at[i].label), data);
}

static void show(const char *line, void *data)
{
	gt_show_line(data, "%s", line);
}

/* Lines of one kind as one text. */
static void tell(const struct gt_stats_parts *parts, enum gt_stats_lines kind,
		 void (*report)(const char *text, const struct gt_print *how),
		 const struct gt_print *how)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return;
	gt_stats_parts_lines(parts, kind, show, out);
	fclose(out);
	report(text, how);
	free(text);
}

void gt_shares_losses(const struct gt_stats_parts *parts, const struct gt_print *how)
{
	tell(parts, GT_STATS_LOSSES, gt_cmdline_report_losses, how);
	tell(parts, GT_STATS_EVENTS, gt_cmdline_report_events, how);
}

/* In words if there is one cause, else with the share of each. */
bool gt_stats_parts_backward(struct gt_stats_parts *parts, char *ret_line, size_t size)
{
	static const struct {
		enum gt_stats_fact fact;
		const char *alone, *among;
	} causes[] = {
		{GT_STATS_SILENT, "its forward operator launched nothing, as one that makes a view",
		 "of forward operators that launched nothing, as those that make views"},
		{GT_STATS_ACCUMULATED, "AccumulateGrad belongs to a parameter, not to an operator",
		 "of parameters (AccumulateGrad)"},
		{GT_STATS_UNKNOWN, "its forward operator is not in the trace",
		 "whose forward operator is not in the trace"},
	};
	enum { COUNT = sizeof(causes) / sizeof(causes[0]) };
	double of = (double)gt_stats_parts_fact(parts, GT_STATS_LOST_OF), time[COUNT], lost = 0;
	size_t n, told = 0;

	for (int i = 0; i < COUNT; i++)
		lost += time[i] = (double)gt_stats_parts_fact(parts, causes[i].fact);
	if (!(lost > 0))
		return false;
	n = (size_t)snprintf(ret_line, size,
			     "%.1f %% of the GPU time was launched by PyTorch's backward pass and "
			     "has no line of the user's: ",
			     lost * 100 / of);
	if (!gt_stats_parts_fact(parts, GT_STATS_TIED)) {
		snprintf(ret_line + n, size - n,
			 "gputrace run --pytorch records its forward operator");
		return true;
	}
	for (int i = 0; i < COUNT; i++) {
		if (time[i] > 0 && time[i] < lost)
			n += (size_t)snprintf(ret_line + n, size - n, "%s%.1f %% %s",
					      told++ ? ", " : "", time[i] * 100 / of,
					      causes[i].among);
		else if (time[i] > 0)
			snprintf(ret_line + n, size - n, "%s", causes[i].alone);
	}
	return true;
}
