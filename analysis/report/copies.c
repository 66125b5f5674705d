/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes and bandwidth of copies and sets, see parts.h. Pure over constant models; one thread per
 * page.
 */
#include "analysis/report/parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "readers/vec.h"
#include "trace/names.h"

static const struct gt_column columns[] = {
	{"total", "Total (B)", "bytes", GT_COLUMN_BYTES},
	{"count", "Count", "count", GT_COLUMN_COUNT},
	{"sized", "Of known size", "of known size", GT_COLUMN_COUNT},
	{"mean", "Mean (B)", "mean", GT_COLUMN_BYTES},
	{"time", "Time (ns)", "time", GT_COLUMN_TIME},
	{"bandwidth", "GB/s", "GB/s", GT_COLUMN_NUMBER},
	{"name", "Name", "name", GT_COLUMN_TEXT},
};

struct kind { /* of copies: those of one name */
	const char *name;
	uint64_t count, sized;
	double bytes, time; /* of those of known size */
};

struct kinds {
	struct gt_names names;
	GT_VEC(struct kind) list; /* by number of the name */
};

static struct kind *kind_of(struct kinds *kinds, const char *name)
{
	uint32_t number = gt_names_put(&kinds->names, name, strlen(name));

	if (number == GT_NAME_NONE && *name)
		return NULL;
	while (kinds->list.count <= number)
		if (!gt_vec_push(&kinds->list, ((struct kind){.name = ""})))
			return NULL;
	kinds->list.at[number].name = name;
	return &kinds->list.at[number];
}

static int add(struct kinds *kinds, const struct gt_model *model, const struct gt_op *op)
{
	struct kind *kind = kind_of(kinds, gt_model_name(model, op->name));

	if (!kind)
		return -ENOMEM;
	kind->count++;
	if (op->bytes == GT_NO_BYTES)
		return 0;
	kind->sized++;
	kind->bytes += (double)op->bytes;
	kind->time += (double)op->dur;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct kind *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return strcmp(x->name, y->name);
}

static bool put_row(struct gt_table *table, const struct kind *kind)
{
	bool ok = gt_table_number(table, kind->bytes) &&
		  gt_table_number(table, (double)kind->count) &&
		  gt_table_number(table, (double)kind->sized) &&
		  gt_table_number(table, kind->bytes / (double)kind->sized) &&
		  gt_table_number(table, kind->time);

	if (ok && kind->time > 0) /* bytes per ns */
		ok = gt_table_number(table, kind->bytes / kind->time);
	else if (ok)
		ok = gt_table_absent(table, "-");
	return ok && gt_table_text(table, kind->name);
}

int gt_page_copies(const struct gt_job *job, const struct gt_filter *filter,
		   struct gt_table *ret_table)
{
	struct kinds kinds = {0};
	int rc = gt_names_init(&kinds.names);

	gt_table_init(ret_table, "copies", "Bytes and bandwidth of copies and sets", columns,
		      sizeof(columns) / sizeof(columns[0]));
	for (size_t f = 0; f < job->count; f++) {
		const struct gt_model *model = &job->models[f];

		for (size_t i = 0; !rc && i < model->ops.count; i++) {
			const struct gt_op *op = gt_model_op_at(model, i);

			if ((op->kind == GT_OP_COPY || op->kind == GT_OP_SET) &&
			    gt_filter_op(filter, model, op))
				rc = add(&kinds, model, op);
		}
	}
	if (kinds.list.count)
		qsort(kinds.list.at, kinds.list.count, sizeof(kinds.list.at[0]), by_bytes);
	for (size_t i = 0; !rc && i < kinds.list.count; i++)
		if (kinds.list.at[i].sized && !put_row(ret_table, &kinds.list.at[i]))
			rc = -ENOMEM;
	gt_vec_free(&kinds.list);
	gt_names_fini(&kinds.names);
	return rc;
}
