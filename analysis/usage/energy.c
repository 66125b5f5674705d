/* SPDX-License-Identifier: Apache-2.0
 *
 * See usage.h: energy by key. Between two readings of a GPU its energy is spread evenly over time,
 * and where several operations run, evenly over them. How wrong that may be follows from the
 * largest power that was read: none can have used more than that in its time, nor less than what
 * the rest could not have used in theirs. Pure over constant models; one thread per table.
 */
#include "analysis/usage/usage.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/key_group.h"
#include "analysis/usage/energy_curve.h"

#define IDLE "(GPU idle)"

static const struct gt_column columns[] = {
	{"share", "Energy (%)", "share", GT_COLUMN_PERCENT},
	{"energy", "Energy (J)", "energy", GT_COLUMN_ENERGY},
	{"error", "Error (J)", "+-", GT_COLUMN_ENERGY},
	{"power", "Power (W)", "W", GT_COLUMN_NUMBER},
	{"count", "Instances", "count", GT_COLUMN_COUNT},
	{"each", "Energy Each (J)", "each", GT_COLUMN_ENERGY},
	{"total", "Total Time (ns)", "total", GT_COLUMN_TIME},
	{"measured", "Measured (%)", "measured", GT_COLUMN_PERCENT},
	{"name", "Name", "name", GT_COLUMN_CODE},
};

/* What is summed under a name. */
struct energy_row {
	double joules, below, above; /* it may be so much less, or more */
	double time;                 /* ns between readings; shared time counts in parts */
	double within;               /* of that in the interval that is looked at */
	int64_t total, measured;     /* ns: of all operations, and the part between readings */
	uint64_t count;
	bool touched; /* in this interval */
};

#define NOBODY SIZE_MAX /* the filter leaves it out */

struct running {
	int64_t end;
	size_t row;
};

/* One table while it is made. */
struct energy_sum {
	const struct gt_filter *filter;
	enum gt_key key;
	struct gt_groups groups;
	GT_VEC(struct energy_row) rows; /* as the groups; the first one is that of the idle GPU */
	GT_VEC(struct running) running; /* now */
	GT_VEC(size_t) touched;
};

/* One device. */
struct device_sum {
	const struct gt_model *model;
	const struct gt_device_track *track;
	struct gt_energy_curve curve;
	struct gt_keymap known;
	uint32_t next; /* operation that has not begun */
};

static int row_of(struct energy_sum *sum, const struct gt_group *group, size_t *ret_row)
{
	if (!group)
		return -ENOMEM;
	*ret_row = (size_t)(group - sum->groups.list.at);
	while (sum->rows.count <= *ret_row)
		if (!gt_vec_push(&sum->rows, ((struct energy_row){0})))
			return -ENOMEM;
	return 0;
}

/* ---- one interval between two readings ---- */

static int add_time(struct energy_sum *sum, size_t row, double ns)
{
	struct energy_row *r = &sum->rows.at[row];

	r->within += ns;
	if (r->touched)
		return 0;
	r->touched = true;
	return gt_vec_push(&sum->touched, row) ? 0 : -ENOMEM;
}

/* Operations that begin at @t or before join; those that ended are left out. */
static int let_begin(struct energy_sum *sum, struct device_sum *d, int64_t t)
{
	for (; d->next < d->track->count; d->next++) {
		const struct gt_op *op = gt_model_device_op(d->model, d->track, d->next);
		struct running running = {.end = op->start + op->dur, .row = NOBODY};
		int rc = 0;

		if (op->start > t)
			return 0;
		if (gt_filter_op(sum->filter, d->model, op))
			rc = row_of(sum,
				    gt_key_group(d->model, op, sum->key, &d->known, &sum->groups),
				    &running.row);
		if (rc)
			return rc;
		if (running.row != NOBODY) {
			sum->rows.at[running.row].count++;
			sum->rows.at[running.row].total += op->dur;
		}
		if (running.end > t && !gt_vec_push(&sum->running, running))
			return -ENOMEM;
	}
	return 0;
}

/* When the set of running operations changes, before @end. */
static int64_t next_change(const struct energy_sum *sum, const struct device_sum *d, int64_t end)
{
	if (d->next < d->track->count) {
		int64_t start = gt_model_device_op(d->model, d->track, d->next)->start;

		end = start < end ? start : end;
	}
	for (size_t i = 0; i < sum->running.count; i++)
		end = sum->running.at[i].end < end ? sum->running.at[i].end : end;
	return end;
}

static void let_end(struct energy_sum *sum, int64_t t)
{
	size_t kept = 0;

	for (size_t i = 0; i < sum->running.count; i++)
		if (sum->running.at[i].end > t)
			sum->running.at[kept++] = sum->running.at[i];
	sum->running.count = kept;
}

static int share_out(struct energy_sum *sum, int64_t ns)
{
	size_t count = sum->running.count;
	int rc = count || sum->filter->terms.count ? 0 : add_time(sum, 0, (double)ns);

	for (size_t i = 0; !rc && i < count; i++) {
		size_t row = sum->running.at[i].row;

		if (row == NOBODY)
			continue;
		sum->rows.at[row].measured += ns;
		rc = add_time(sum, row, (double)ns / (double)count);
	}
	return rc;
}

static void close_interval(struct energy_sum *sum, double joules, double ns, double most_watts)
{
	double most = fmax(most_watts * ns / 1e9, joules); /* that it could have used */

	for (size_t i = 0; i < sum->touched.count; i++) {
		struct energy_row *row = &sum->rows.at[sum->touched.at[i]];
		double part = row->within / ns, own = joules * part;

		row->joules += own;
		row->below += own - fmax(0, joules - most * (1 - part));
		row->above += fmin(joules, most * part) - own;
		row->time += row->within;
		row->within = 0;
		row->touched = false;
	}
	sum->touched.count = 0;
}

static int add_interval(struct energy_sum *sum, struct device_sum *d,
			const struct gt_energy_point *from, const struct gt_energy_point *to)
{
	int rc = 0;

	for (int64_t t = from->ts, next; !rc && t < to->ts; t = next) {
		rc = let_begin(sum, d, t);
		next = next_change(sum, d, to->ts);
		if (!rc)
			rc = share_out(sum, next - t);
		let_end(sum, next);
	}
	if (to->ts > from->ts)
		close_interval(sum, to->joules - from->joules, (double)(to->ts - from->ts),
			       d->curve.most_watts);
	return rc;
}

static int add_device(struct energy_sum *sum, const struct gt_model *model,
		      const struct gt_device_track *track)
{
	struct device_sum d = {.model = model, .track = track};
	int rc = gt_energy_curve_make(model, track->device, &d.curve);
	size_t count = d.curve.points.count;

	sum->running.count = 0;
	for (size_t i = 1; !rc && i < count; i++)
		rc = add_interval(sum, &d, &d.curve.points.at[i - 1], &d.curve.points.at[i]);
	if (!rc && count > 1) /* what comes behind the last reading is counted, not measured */
		rc = let_begin(sum, &d, INT64_MAX);
	gt_energy_curve_fini(&d.curve);
	gt_keymap_fini(&d.known);
	return rc;
}

/* ---- the table ---- */

static void put_row(struct gt_table *table, const struct energy_row *row, double all,
		    const char *name, bool is_idle)
{
	gt_table_number(table, all > 0 ? row->joules * 100 / all : 0);
	gt_table_number(table, row->joules);
	gt_table_number(table, fmax(row->below, row->above));
	if (row->time > 0)
		gt_table_number(table, row->joules * 1e9 / row->time);
	else
		gt_table_absent(table, "-");
	if (is_idle) {
		gt_table_absent(table, "-");
		gt_table_absent(table, "-");
		gt_table_number(table, row->time);
		gt_table_number(table, 100);
	} else {
		gt_table_number(table, (double)row->count);
		if (row->measured > 0) /* each, as if all of it had been measured */
			gt_table_number(table, row->joules * (double)row->total /
						       (double)row->measured / (double)row->count);
		else
			gt_table_absent(table, "-");
		gt_table_number(table, (double)row->total);
		gt_table_number(table, row->total > 0
					       ? (double)row->measured * 100 / (double)row->total
					       : 0);
	}
	gt_table_text(table, name);
}

static void fill(const struct energy_sum *sum, struct gt_table *table)
{
	double all = 0;

	for (size_t i = 0; i < sum->rows.count; i++)
		all += sum->rows.at[i].joules;
	for (size_t i = 0; i < sum->rows.count; i++)
		if (sum->rows.at[i].count || sum->rows.at[i].time > 0)
			put_row(table, &sum->rows.at[i], all,
				gt_group_name(&sum->groups, &sum->groups.list.at[i]), i == 0);
	gt_table_sort(table, "energy");
}

int gt_usage_energy(const struct gt_job *job, const struct gt_filter *filter, enum gt_key key,
		    struct gt_table *ret_table)
{
	struct energy_sum sum = {.filter = filter, .key = key};
	size_t idle;
	int rc = gt_groups_init(&sum.groups);

	gt_table_init(ret_table, "gpu_energy_sum", "Energy", columns,
		      sizeof(columns) / sizeof(columns[0]));
	if (!rc)
		rc = row_of(&sum, gt_groups_get(&sum.groups, IDLE), &idle);
	for (size_t f = 0; !rc && f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; !rc && i < model->devices.count; i++)
			rc = add_device(&sum, model, &model->devices.at[i]);
	}
	if (!rc)
		fill(&sum, ret_table);
	gt_groups_fini(&sum.groups);
	gt_vec_free(&sum.rows);
	gt_vec_free(&sum.running);
	gt_vec_free(&sum.touched);
	return rc;
}
