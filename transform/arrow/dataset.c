/* SPDX-License-Identifier: Apache-2.0
 *
 * See dataset.h.
 */
#include "transform/arrow/dataset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/communication.h"
#include "trace/user_code.h"
#include "transform/arrow/tables.h"

#define BATCH_ROWS 65536

struct gt_arrow_dataset {
	struct gt_arrow_job job;
	size_t users;    /* itself, and its streams */
	size_t left_out; /* files */
};

struct table_stream {
	struct gt_arrow_dataset *dataset;
	const struct gt_arrow_table *table;
	size_t process, unit, count;
	const char *error;
};

/* ---- the job ---- */

static _Thread_local FILE *said; /* what gt_job_load complains of */

static void complain(const char *line)
{
	if (said)
		fprintf(said, "%s\n", line);
}

static int analyze(struct gt_arrow_job *job)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < job->job.count; i++)
		rc = gt_communication_mark(&job->job.models[i], NULL);
	for (size_t i = 0; !rc && i < job->job.count; i++)
		rc = gt_user_code_mark(&job->job.models[i], NULL, 0);
	if (!rc)
		rc = gt_gaps_build(&job->job, &job->filter, 0, &job->gaps);
	if (!rc)
		rc = gt_ranks_find(&job->job, &job->filter, &job->ranks);
	return rc ? rc : gt_arrow_job_index(job);
}

static void drop(struct gt_arrow_dataset *dataset)
{
	if (--dataset->users)
		return;
	free(dataset->job.gaps_from);
	gt_ranks_fini(&dataset->job.ranks);
	gt_gaps_fini(&dataset->job.gaps);
	gt_filter_fini(&dataset->job.filter);
	gt_job_fini(&dataset->job.job);
	free(dataset);
}

struct gt_arrow_dataset *gt_arrow_open(char *const *inputs, size_t count, char *ret_said,
				       size_t size)
{
	struct gt_arrow_dataset *dataset = calloc(1, sizeof(*dataset));
	int rc;

	*ret_said = 0;
	said = fmemopen(ret_said, size, "w");
	if (!dataset) {
		complain("not enough memory");
	} else {
		dataset->users = 1;
		rc = gt_job_load(&dataset->job.job, inputs, count, complain, &dataset->left_out);
		rc = rc < 0 ? rc : analyze(&dataset->job);
		if (rc < 0) {
			drop(dataset);
			dataset = NULL;
		}
		if (rc == -ENOMEM)
			complain("not enough memory");
	}
	if (said)
		fclose(said); /* ends the text */
	said = NULL;
	return dataset;
}

size_t gt_arrow_processes(const struct gt_arrow_dataset *dataset)
{
	return dataset->job.job.count;
}

size_t gt_arrow_left_out(const struct gt_arrow_dataset *dataset)
{
	return dataset->left_out;
}

int64_t gt_arrow_rank(const struct gt_arrow_dataset *dataset, size_t process)
{
	return dataset->job.job.models[process].rank;
}

const char *gt_arrow_table_name(size_t table)
{
	return gt_arrow_tables[table].name;
}

void gt_arrow_close(struct gt_arrow_dataset *dataset)
{
	drop(dataset);
}

/* ---- streams ---- */

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
	const struct table_stream *s = stream->private_data;

	return gt_arrow_schema(s->table->columns, s->table->width, out);
}

/* The next rows, at least one unit. */
static int fill(struct table_stream *s, struct gt_arrow_batch *batch)
{
	int rc = gt_arrow_batch_init(batch, s->table->columns, s->table->width);

	while (!rc && s->unit < s->count && batch->rows < BATCH_ROWS)
		rc = s->table->put(&s->dataset->job, s->process, s->unit++, batch);
	return rc ? rc : batch->is_short ? -ENOMEM : 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
	struct table_stream *s = stream->private_data;
	struct gt_arrow_batch batch;
	int rc;

	*out = (struct ArrowArray){0};
	if (s->unit == s->count)
		return 0;
	rc = -fill(s, &batch);
	if (!rc && batch.rows)
		rc = gt_arrow_batch_give(&batch, out);
	gt_arrow_batch_fini(&batch);
	s->error = rc ? strerror(rc) : NULL;
	return rc;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
	return ((const struct table_stream *)stream->private_data)->error;
}

static void release(struct ArrowArrayStream *stream)
{
	struct table_stream *s = stream->private_data;

	drop(s->dataset);
	free(s);
	stream->release = NULL;
}

int gt_arrow_stream(struct gt_arrow_dataset *dataset, size_t process, size_t table,
		    struct ArrowArrayStream *out)
{
	struct table_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return ENOMEM;
	*s = (struct table_stream){
		.dataset = dataset, .table = &gt_arrow_tables[table], .process = process};
	s->count = s->table->count(&dataset->job, process);
	dataset->users++;
	*out = (struct ArrowArrayStream){.get_schema = get_schema,
					 .get_next = get_next,
					 .get_last_error = get_last_error,
					 .release = release,
					 .private_data = s};
	return 0;
}
