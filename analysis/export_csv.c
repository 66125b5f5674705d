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

#include "analysis/export.h"

struct folder {
	FILE *file[GT_EXPORT_TABLE_COUNT_];
};

static int failed(struct gt_export_sink *sink, const char *path)
{
	int rc = -errno;

	snprintf(sink->error, sizeof(sink->error), "%.400s: %s", path, strerror(-rc));
	return rc;
}

static int open_table(struct gt_export_sink *sink, const char *folder, enum gt_export_table_id id)
{
	const struct gt_export_table *table = &gt_export_tables[id];
	struct folder *f = sink->priv;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.csv", folder, table->name);
	f->file[id] = fopen(path, "wx");
	if (!f->file[id])
		return failed(sink, path);
	for (size_t i = 0; i < table->width; i++)
		fprintf(f->file[id], "%s%s", table->columns[i].name,
			i + 1 < table->width ? "," : "\n");
	return 0;
}

static int open_folder(struct gt_export_sink *sink, const char *path)
{
	int rc = 0;

	if (mkdir(path, 0777) && errno != EEXIST)
		return failed(sink, path);
	sink->priv = calloc(1, sizeof(struct folder));
	if (!sink->priv)
		return -ENOMEM;
	for (int i = 0; !rc && i < GT_EXPORT_TABLE_COUNT_; i++)
		rc = open_table(sink, path, (enum gt_export_table_id)i);
	return rc;
}

static void put_text(const char *text, size_t len, FILE *out)
{
	fputc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			fputc('"', out);
		fputc(text[i], out);
	}
	fputc('"', out);
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
			put_text(values[i].text, values[i].len, out);
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

static int close_folder(struct gt_export_sink *sink, bool was_failed)
{
	struct folder *f = sink->priv;
	int rc = 0;

	(void)was_failed;
	for (int i = 0; i < GT_EXPORT_TABLE_COUNT_; i++)
		if (f->file[i] && (ferror(f->file[i]) | fclose(f->file[i])))
			rc = failed(sink, gt_export_tables[i].name);
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
