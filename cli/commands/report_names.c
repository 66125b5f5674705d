/* SPDX-License-Identifier: Apache-2.0
 *
 * See report_names.h.
 */
#include "cli/commands/report_names.h"

#include <string.h>

#include "analysis/usage/usage.h"
#include "cli/nearest.h"
#include "cli/words.h"

#define MOST 64 /* names that a mistyped one is compared with */

const struct gt_report *const gt_report_lists[GT_REPORT_LISTS] = {gt_reports, gt_usage_reports};

const struct gt_report *gt_report_called(const char *name, size_t len)
{
	for (size_t i = 0; i < GT_REPORT_LISTS; i++)
		for (const struct gt_report *report = gt_report_lists[i]; report->name; report++)
			if (strlen(report->name) == len && !memcmp(report->name, name, len))
				return report;
	return NULL;
}

/* The reports that there are, each behind a comma. */
static void list_reports(char *out, size_t size)
{
	size_t n = 0;

	*out = 0;
	for (size_t i = 0; i < GT_REPORT_LISTS; i++)
		for (const struct gt_report *report = gt_report_lists[i]; report->name && n < size;
		     report++)
			n += (size_t)snprintf(out + n, size - n, "%s, ", report->name);
}

void gt_report_names_print(FILE *out)
{
	for (size_t i = 0; i < GT_REPORT_LISTS; i++)
		for (const struct gt_report *report = gt_report_lists[i]; report->name; report++)
			fprintf(out, "--report=%s\ttables of stats, by name\n", report->name);
	fputs("--report=all\ttables of stats, by name\n", out);
}

/* The report that was probably meant, NULL: none. */
static const char *find_meant(const char *name)
{
	const char *names[MOST], *elsewhere = gt_word_report_elsewhere(name);
	size_t count = 0;

	for (size_t i = 0; i < GT_REPORT_LISTS; i++)
		for (const struct gt_report *report = gt_report_lists[i];
		     report->name && count < MOST; report++)
			names[count++] = report->name;
	return elsewhere ? elsewhere : gt_nearest(name, names, count);
}

static int refuse_report(const struct gt_cmdline *args, const char *text, size_t size)
{
	char all[1024], name[64];
	const char *meant;

	snprintf(name, sizeof(name), "%.*s", (int)size, text);
	meant = find_meant(name);
	if (meant)
		return gt_cmdline_wrong(args, "--report=%s: no such report; did you mean %s?", name,
					meant);
	list_reports(all, sizeof(all));
	return gt_cmdline_wrong(args, "--report=%s: must be one of %sall", name, all);
}

int gt_report_names_check(const struct gt_cmdline *args, const char *list)
{

	if (!strcmp(list, "all"))
		return 0;
	do {
		size_t n = strcspn(list, ",");

		if (!gt_report_called(list, n))
			return refuse_report(args, list, n);
		list += n + (list[n] == ',');
	} while (*list);
	return 0;
}
