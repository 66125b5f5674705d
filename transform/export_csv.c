/* SPDX-License-Identifier: Apache-2.0
 *
 * The CSV sink of export.h: a folder with one file a table. One thread per export.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "readers/show.h"
#include "transform/export.h"

struct folder {
	const char *path;
	bool is_new;
	FILE *file[GT_EXPORT_TABLE_COUNT_];
	bool is_ours[GT_EXPORT_TABLE_COUNT_]; /* not somebody else's file that was there */
};

static int failed(struct gt_export_sink *sink, const char *path)
{
	int rc = -errno;

	snprintf(sink->error, sizeof(sink->error), "%.400s: %s", path, strerror(-rc));
	return rc;
}

static void path_of(const struct folder *f, int id, char *out, size_t size)
{
	snprintf(out, size, "%s/%s.csv", f->path, gt_export_tables[id].name);
}

static int open_table(struct gt_export_sink *sink, int id)
{
	const struct gt_export_table *table = &gt_export_tables[id];
	struct folder *f = sink->priv;
	char path[4096];

	path_of(f, id, path, sizeof(path));
	f->file[id] = fopen(path, "wx");
	if (!f->file[id])
		return failed(sink, path);
	f->is_ours[id] = true;
	for (size_t i = 0; i < table->width; i++)
		fprintf(f->file[id], "%s%s", table->columns[i].name,
			i + 1 < table->width ? "," : "\n");
	return 0;
}

static int open_folder(struct gt_export_sink *sink, const char *path)
{
	bool is_new = !mkdir(path, 0777);
	struct folder *f;
	int rc = 0;

	if (!is_new && errno != EEXIST)
		return failed(sink, path);
	f = sink->priv = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->path = path;
	f->is_new = is_new;
	for (int i = 0; !rc && i < GT_EXPORT_TABLE_COUNT_; i++)
		rc = open_table(sink, i);
	return rc;
}

static int add_row(struct gt_export_sink *sink, enum gt_export_table_id id,
		   const struct gt_export_value *values)
{
	struct folder *f = sink->priv;
	FILE *out = f->file[id];

	for (size_t i = 0; i < gt_export_tables[id].width; i++) {
		if (i)
			fputc(',', out);
		if (values[i].known && gt_export_tables[id].columns[i].kind == GT_EXPORT_INT)
			fprintf(out, "%" PRId64, values[i].number);
		else if (values[i].known)
			gt_show_csv(values[i].text, values[i].len, true, out);
	}
	fputc('\n', out);
	return 0;
}

static int name_process(struct gt_export_sink *sink, int64_t global_pid)
{
	(void)sink;
	(void)global_pid;
	return 0;
}

/* Nothing half written stays: another try would find it and stop. */
static void remove_tables(const struct folder *f)
{
	char path[4096];

	for (int i = 0; i < GT_EXPORT_TABLE_COUNT_; i++) {
		path_of(f, i, path, sizeof(path));
		if (f->is_ours[i])
			unlink(path);
	}
	if (f->is_new)
		rmdir(f->path);
}

static int close_folder(struct gt_export_sink *sink, bool was_failed)
{
	struct folder *f = sink->priv;
	int rc = 0;

	for (int i = 0; i < GT_EXPORT_TABLE_COUNT_; i++)
		if (f->file[i] && (ferror(f->file[i]) | fclose(f->file[i])) && !was_failed)
			rc = failed(sink, gt_export_tables[i].name);
	if (was_failed || rc)
		remove_tables(f);
	free(f);
	sink->priv = NULL;
	return rc;
}

const struct gt_export_sink gt_export_csv = {
	.open = open_folder,
	.row = add_row,
	.process = name_process,
	.close = close_folder,
};
