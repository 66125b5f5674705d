/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of a job as a consumer of Arrow's C data interface sees them: columns of one length,
 * texts that are UTF-8, streams that outlive the dataset, children that are moved. Mainly for the
 * sanitizer builds; other programs read them in tests/numbers/test_dataset.py.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "transform/arrow/batch.h"
#include "transform/arrow/dataset.h"

#define RANKS 3

static void write_rank(const char *folder, int rank)
{
	char path[128];
	FILE *out;

	snprintf(path, sizeof(path), "%s/r%d.json", folder, rank);
	out = fopen(path, "w");
	cr_assert_not_null(out);
	fprintf(out,
		"{\"schemaVersion\": 1, \"baseTimeNanoseconds\": 1700000000000000000,\n"
		"\"distributedInfo\": {\"rank\": %d, \"world_size\": %d}, \"traceEvents\": [\n",
		rank, RANKS);
	for (int i = 0; i < 4; i++)
		fprintf(out,
			"%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, "
			"\"tid\": 7, \"ts\": %d, \"dur\": %d, \"args\": {\"device\": 0, "
			"\"stream\": 7, \"launched by\": \"f%d (a) < main (a)\"}}",
			i ? ",\n" : "",
			i % 2 ? "ncclDevKernel_AllReduce_Sum_f32_RING_LL(int)" : "bad \xff name",
			i * 100 + (i % 2 ? rank : 0), i % 2 ? 50 - rank : 20, i);
	fputs("\n]}\n", out);
	cr_assert_eq(fclose(out), 0);
}

static struct gt_arrow_dataset *open_job(void)
{
	char folder[] = "/tmp/gputrace-arrow-XXXXXX", *input = folder, command[64], said[512];
	struct gt_arrow_dataset *dataset;

	cr_assert_not_null(mkdtemp(folder));
	for (int rank = 0; rank < RANKS; rank++)
		write_rank(folder, rank);
	dataset = gt_arrow_open(&input, 1, said, sizeof(said));
	cr_assert_not_null(dataset, "%s", said);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	cr_assert_eq(system(command), 0);
	return dataset;
}

static size_t table_of(const char *name)
{
	size_t table = 0;

	while (strcmp(gt_arrow_table_name(table), name) != 0)
		table++;
	return table;
}

/* Each column as long as the table, its offsets in order. */
static void check_batch(const struct ArrowArray *batch, const struct ArrowSchema *schema)
{
	cr_assert_eq(batch->n_children, schema->n_children);
	for (int64_t c = 0; c < batch->n_children; c++) {
		const struct ArrowArray *column = batch->children[c];

		cr_assert_eq(column->length, batch->length);
		cr_assert(!column->null_count || schema->children[c]->flags);
		cr_assert_eq(column->n_buffers, *schema->children[c]->format == 'U' ? 3 : 2);
		if (column->n_buffers == 3)
			for (int64_t i = 0; i < column->length; i++)
				cr_assert_leq(((const int64_t *)column->buffers[1])[i],
					      ((const int64_t *)column->buffers[1])[i + 1]);
	}
}

static int64_t count_rows(struct ArrowArrayStream *stream)
{
	struct ArrowSchema schema;
	struct ArrowArray batch;
	int64_t rows = 0;

	cr_assert_eq(stream->get_schema(stream, &schema), 0);
	for (;;) {
		cr_assert_eq(stream->get_next(stream, &batch), 0);
		if (!batch.release)
			break;
		check_batch(&batch, &schema);
		rows += batch.length;
		batch.release(&batch);
		cr_assert_null((void *)batch.release);
	}
	schema.release(&schema);
	return rows;
}

static int64_t rows_of(struct gt_arrow_dataset *dataset, size_t process, size_t table)
{
	struct ArrowArrayStream stream;
	int64_t rows;

	cr_assert_eq(gt_arrow_stream(dataset, process, table, &stream), 0);
	rows = count_rows(&stream);
	stream.release(&stream);
	return rows;
}

Test(arrow, all_tables_of_all_processes)
{
	struct gt_arrow_dataset *dataset = open_job();

	cr_assert_eq(gt_arrow_processes(dataset), RANKS);
	cr_assert_eq(gt_arrow_left_out(dataset), 0);
	for (size_t process = 0; process < RANKS; process++) {
		cr_assert_eq(gt_arrow_rank(dataset, process), (int64_t)process);
		for (size_t table = 0; gt_arrow_table_name(table); table++)
			rows_of(dataset, process, table);
		cr_assert_eq(rows_of(dataset, process, table_of("processes")), 1);
		cr_assert_eq(rows_of(dataset, process, table_of("kernels")), 4);
		cr_assert_eq(rows_of(dataset, process, table_of("copies")), 0);
		cr_assert_eq(rows_of(dataset, process, table_of("collectives")), 2);
		cr_assert_geq(rows_of(dataset, process, table_of("gaps")), 3);
	}
	gt_arrow_close(dataset);
}

static int column_of(const struct ArrowSchema *schema, const char *name)
{
	int c = 0;

	while (strcmp(schema->children[c]->name, name) != 0)
		c++;
	return c;
}

Test(arrow, a_stream_keeps_the_dataset_and_a_column_may_be_moved)
{
	struct gt_arrow_dataset *dataset = open_job();
	struct ArrowArrayStream stream;
	struct ArrowSchema schema;
	struct ArrowArray batch, name;
	const int64_t *offsets;

	cr_assert_eq(gt_arrow_stream(dataset, 1, table_of("kernels"), &stream), 0);
	gt_arrow_close(dataset);
	cr_assert_eq(stream.get_schema(&stream, &schema), 0);
	cr_assert_eq(stream.get_next(&stream, &batch), 0);
	stream.release(&stream);
	name = *batch.children[column_of(&schema, "name")];
	batch.children[column_of(&schema, "name")]->release = NULL;
	schema.release(&schema);
	batch.release(&batch);
	offsets = name.buffers[1];
	cr_assert_eq(offsets[1], (int64_t)strlen("bad \xef\xbf\xbd name"));
	cr_assert_eq(memcmp(name.buffers[2], "bad \xef\xbf\xbd name", (size_t)offsets[1]), 0);
	name.release(&name);
}

Test(arrow, what_is_no_trace_is_said)
{
	char nowhere[] = "/nowhere/at/all", *input = nowhere, said[512];

	cr_assert_null(gt_arrow_open(&input, 1, said, sizeof(said)));
	cr_assert_not_null(strstr(said, "/nowhere/at/all"), "%s", said);
}

/* More than a byte of bits, and nothing in between. */
Test(arrow, bits_and_nulls)
{
	static const struct gt_arrow_column columns[] = {
		{"bit", "b", false}, {"number", "l", true}, {"text", "U", true}};
	struct gt_arrow_batch batch;
	struct ArrowArray out;
	const uint8_t *bits, *known;

	cr_assert_eq(gt_arrow_batch_init(&batch, columns, 3), 0);
	for (int i = 0; i < 20; i++) {
		gt_arrow_put_bool(&batch, i % 3 == 0);
		if (i % 2)
			gt_arrow_put_none(&batch);
		else
			gt_arrow_put_int(&batch, i);
		gt_arrow_put_none(&batch);
	}
	cr_assert_eq(gt_arrow_batch_give(&batch, &out), 0);
	bits = out.children[0]->buffers[1];
	known = out.children[1]->buffers[0];
	for (int i = 0; i < 20; i++) {
		cr_assert_eq(bits[i / 8] >> i % 8 & 1, i % 3 == 0);
		cr_assert_eq(known[i / 8] >> i % 8 & 1, i % 2 == 0);
	}
	cr_assert_eq(out.children[1]->null_count, 10);
	cr_assert_eq(out.children[2]->null_count, 20);
	out.release(&out);
	gt_arrow_batch_fini(&batch);
}
