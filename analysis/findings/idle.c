/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules about idle time by its cause (analysis/gaps/gaps.h): a slow loader, a host that is behind
 * or blocked.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/findings/rule.h"
#include "analysis/gaps/place.h"

/* Words for the loading of data in names of functions, ranges and files. Whole ones stand alone. */
static const struct {
	const char *word;
	bool is_whole;
} loader_words[] = {
	{"loader", false},    {"dataset", false},   {"collate", false},    {"decode_", false},
	{"get_batch", false}, {"gen_batch", false}, {"load_batch", false}, {"next_batch", false},
	{"data_load", false}, {"load_data", false}, {"read_batch", false}, {"augment", false},
	{"load", true},       {"data", true},
};

static bool is_part_of_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

static bool has_word(const char *text, const char *word, bool is_whole)
{
	size_t n = strlen(word);

	for (const char *p = text; (p = strcasestr(p, word)); p += n)
		if (!is_whole || ((p == text || !is_part_of_word(p[-1])) && !is_part_of_word(p[n])))
			return true;
	return false;
}

/* The import system has loaders, too; and what the host was not yet in, or not any more, is no
 * place. */
static bool is_loader(const char *whole)
{
	const char *after = strstr(whole, ", after a call in "),
		   *before = strstr(whole, ", up to ");
	const char *behind = after ? after : before;
	char where[4096];

	snprintf(where, sizeof(where), "%.*s", behind ? (int)(behind - whole) : (int)strlen(whole),
		 whole);
	if (strstr(where, "importlib"))
		return false;
	for (size_t i = 0; i < sizeof(loader_words) / sizeof(loader_words[0]); i++)
		if (has_word(where, loader_words[i].word, loader_words[i].is_whole))
			return true;
	return false;
}

static size_t column_of(const struct gt_table *table, const char *id)
{
	size_t c = 0;

	while (strcmp(table->columns[c].id, id))
		c++;
	return c;
}

/* A row of the table of causes. */
struct idle_row {
	const char *cause, *where;
	int64_t ns;
	uint64_t count;
};

static struct idle_row row_at(const struct gt_table *causes, size_t row)
{
	const struct gt_cell *cells = &causes->cells.at[row * causes->width];

	return (struct idle_row){
		.cause = cells[column_of(causes, "cause")].text,
		.where = cells[column_of(causes, "where")].text,
		.ns = (int64_t)cells[column_of(causes, "total")].number,
		.count = (uint64_t)cells[column_of(causes, "count")].number,
	};
}

static bool is_cause(const struct idle_row *row, enum gt_cause cause)
{
	return !strcmp(row->cause, gt_cause_names[cause]);
}

static bool is_loading_by(enum gt_cause cause, const char *where)
{
	return cause == GT_CAUSE_DATA ||
	       ((cause == GT_CAUSE_HOST || cause == GT_CAUSE_BLOCKED) && is_loader(where));
}

static bool is_loading(const struct idle_row *row)
{
	for (int cause = 0; cause < GT_CAUSE_COUNT_; cause++)
		if (is_cause(row, (enum gt_cause)cause))
			return is_loading_by((enum gt_cause)cause, row->where);
	return false;
}

static int see_piece(const struct gt_gap *gap, const struct gt_piece *piece, void *data)
{
	bool *is_seen = data;
	char call[4096];

	if (*is_seen)
		return 0;
	if (piece->os_call != GT_NONE)
		gt_gaps_os_call(gap->model, piece->os_call, true, call, sizeof(call));
	*is_seen = is_loading_by(piece->cause, piece->os_call != GT_NONE ? call : piece->where);
	return 0;
}

/* " in 3 gaps"; "" where only samples, of several gaps together, show loading. */
static int count_gaps(const struct gt_survey *survey, char *ret_text, size_t size)
{
	uint64_t gaps = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < survey->gaps.list.count; i++) {
		bool is_seen = false;

		rc = gt_gaps_explain(gt_gaps_at(&survey->gaps, i), see_piece, &is_seen);
		gaps += is_seen;
	}
	snprintf(ret_text, size, " in %" PRIu64 " gap%s", gaps, gaps == 1 ? "" : "s");
	if (!gaps)
		*ret_text = 0;
	return rc;
}

/* The tracer's own slices and the steps say nothing of the host's work. */
static bool names_work(const struct gt_model *model, const struct gt_model_range *range)
{
	return range->kind != GT_RANGE_OVERHEAD && !gt_model_is_step(model, range);
}

static bool has_stack(const struct gt_model *model, uint32_t stack)
{
	return stack < model->stacks.count && model->stacks.at[stack].count;
}

/* Does the trace say what the host does between calls? */
static bool model_has_names(const struct gt_model *model)
{
	for (size_t i = 0; i < model->ranges.count; i++)
		if (names_work(model, &model->ranges.at[i]))
			return true;
	for (size_t i = 0; i < model->calls.count; i++)
		if (has_stack(model, gt_model_call_traits(model, i)->stack))
			return true;
	for (size_t i = 0; i < model->samples.count; i++)
		if (has_stack(model, model->samples.at[i].stack))
			return true;
	return false;
}

static bool has_names(const struct gt_job *job)
{
	for (size_t f = 0; f < job->count; f++)
		if (model_has_names(&job->models[f]))
			return true;
	return false;
}

int gt_rule_slow_loader(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct gt_groups places;
	int64_t loading = 0;
	int rc = gt_groups_init(&places);
	char time[32], gaps[40] = "";

	if (gt_rule_lacks_calls(survey, finding)) {
		gt_groups_fini(&places);
		return rc;
	}
	for (size_t i = 0; !rc && i < survey->causes.rows; i++) {
		struct idle_row row = row_at(&survey->causes, i);

		if (!is_loading(&row))
			continue;
		loading += row.ns;
		rc = gt_survey_add(&places, row.where, row.count, row.ns);
	}
	gt_survey_judge(survey, loading, finding);
	if (!rc && loading)
		rc = count_gaps(survey, gaps, sizeof(gaps));
	gt_rule_say(finding,
		    "The GPU was idle for %s (%.1f %% of wall)%s while the host loaded data.",
		    gt_table_time((double)loading, time, sizeof(time)),
		    gt_survey_percent(loading, survey->gaps.wall), gaps);
	if (!loading && !has_names(survey->job) &&
	    gt_survey_percent(survey->by_cause[GT_CAUSE_HOST], survey->gaps.wall) >=
		    finding->rule->least) {
		finding->state = GT_FINDING_UNDECIDED;
		finding->needs = "names of what the host does: run --sample-cpu, NVTX ranges, "
				 "torch.profiler with_stack=True";
	}
	gt_survey_places(&places, finding);
	gt_groups_fini(&places);
	return rc;
}

int gt_rule_cpu_bound(const struct gt_survey *survey, struct gt_finding *finding)
{
	int64_t host = 0, launch = 0;
	struct gt_groups places;
	int rc = gt_groups_init(&places);
	char text[3][32];

	if (gt_rule_lacks_calls(survey, finding)) {
		gt_groups_fini(&places);
		return rc;
	}
	for (size_t i = 0; !rc && i < survey->causes.rows; i++) {
		struct idle_row row = row_at(&survey->causes, i);

		if (is_cause(&row, GT_CAUSE_LAUNCH))
			launch += row.ns;
		else if (is_cause(&row, GT_CAUSE_HOST) && !is_loader(row.where))
			host += row.ns;
		else
			continue;
		rc = gt_survey_add(&places, row.where, row.count, row.ns);
	}
	gt_survey_judge(survey, host + launch, finding);
	gt_rule_say(finding,
		    "The GPU was idle for %s (%.1f %% of wall) because nothing had been launched "
		    "yet: host work %s, launch calls %s.",
		    gt_table_time((double)(host + launch), text[0], sizeof(text[0])),
		    gt_survey_percent(host + launch, survey->gaps.wall),
		    gt_table_time((double)host, text[1], sizeof(text[1])),
		    gt_table_time((double)launch, text[2], sizeof(text[2])));
	gt_survey_places(&places, finding);
	gt_groups_fini(&places);
	return rc;
}

/* Was --osrt on? Where it was, some call took as long as its threshold. */
static bool has_os_calls(const struct gt_job *job)
{
	for (size_t f = 0; f < job->count; f++)
		if (job->models[f].os_calls.count)
			return true;
	return false;
}

int gt_rule_blocked(const struct gt_survey *survey, struct gt_finding *finding)
{
	struct gt_groups places;
	int64_t blocked = 0;
	int rc = gt_groups_init(&places);
	char time[32];

	if (gt_rule_lacks_calls(survey, finding)) {
		gt_groups_fini(&places);
		return rc;
	}
	for (size_t i = 0; !rc && i < survey->causes.rows; i++) {
		struct idle_row row = row_at(&survey->causes, i);

		if (!is_cause(&row, GT_CAUSE_BLOCKED) || is_loader(row.where))
			continue;
		blocked += row.ns;
		rc = gt_survey_add(&places, row.where, row.count, row.ns);
	}
	gt_survey_judge(survey, blocked, finding);
	gt_rule_say(finding,
		    "The GPU was idle for %s (%.1f %% of wall) while the thread that feeds it was "
		    "in calls of the operating system.",
		    gt_table_time((double)blocked, time, sizeof(time)),
		    gt_survey_percent(blocked, survey->gaps.wall));
	if (!has_os_calls(survey->job) &&
	    gt_survey_percent(survey->by_cause[GT_CAUSE_HOST], survey->gaps.wall) >=
		    finding->rule->least) {
		finding->state = GT_FINDING_UNDECIDED;
		finding->needs = "calls of the operating system: gputrace run --osrt";
	}
	gt_survey_places(&places, finding);
	gt_groups_fini(&places);
	return rc;
}
