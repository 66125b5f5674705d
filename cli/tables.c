/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables on standard output, or a file each. Single-threaded.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/table/mangled.h"
#include "cli/cmdline.h"
#include "cli/outfile.h"

static const char *const suffixes[] = {
	[GT_FORMAT_TABLE] = "txt",
	[GT_FORMAT_CSV] = "csv",
	[GT_FORMAT_JSON] = "json",
	[GT_FORMAT_MARKDOWN] = "md",
};

static int write_table(const char *folder, const struct gt_table *table, const struct gt_print *how)
{
	char path[PATH_MAX];
	struct gt_outfile out;

	if (snprintf(path, sizeof(path), "%s/%s.%s", folder, table->name, suffixes[how->format]) >=
	    PATH_MAX)
		return GT_EXIT_FAILED;
	if (gt_outfile_open(&out, path))
		return GT_EXIT_FAILED;
	gt_table_print(table, 1, how, out.file);
	return gt_outfile_close(&out, 0, NULL);
}

void gt_cmdline_mangled(const struct gt_cmdline *args, const struct gt_job *jobs, size_t count,
			struct gt_mangled_names *names, struct gt_print *how)
{
	*names = (struct gt_mangled_names){0};
	if (how->names != GT_NAMES_MANGLED)
		return;
	for (size_t i = 0; i < count; i++)
		for (size_t f = 0; f < jobs[i].count; f++)
			if (gt_mangled_names_add(names, &jobs[i].models[f]))
				return;
	gt_cmdline_use_mangled(args, names, how);
}

void gt_cmdline_use_mangled(const struct gt_cmdline *args, struct gt_mangled_names *names,
			    struct gt_print *how)
{
	gt_mangled_names_sort(names);
	how->mangled = names;
	if (!names->list.count)
		gt_cmdline_wrong(args, "--names=mangled: the traces have no mangled names");
}

int gt_cmdline_print_tables(const struct gt_cmdline *args, const struct gt_table *tables,
			    size_t count, const struct gt_print *how)
{
	const char *folder = gt_cmdline_get(args, "output");
	struct gt_print plain = *how;
	int rc = GT_EXIT_OK;

	if (!folder) {
		gt_table_print(tables, count, how, stdout);
		return GT_EXIT_OK;
	}
	if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
		gt_cmdline_wrong(args, "--output=%s: %s", folder, strerror(errno));
		return GT_EXIT_FAILED;
	}
	plain.color = false;
	plain.columns = (size_t)gt_cmdline_number(args, "width", 0);
	for (size_t i = 0; !rc && i < count; i++)
		rc = write_table(folder, &tables[i], &plain);
	return rc;
}
