/* SPDX-License-Identifier: Apache-2.0
 *
 * The reports of `gputrace stats` by name: those of nsys, and our own. Single-threaded.
 */
#ifndef GT_CLI_COMMANDS_REPORT_NAMES_H
#define GT_CLI_COMMANDS_REPORT_NAMES_H

#include <stdio.h>

#include "analysis/stats.h"
#include "cli/cmdline.h"

#define GT_REPORT_LISTS 2

/* Each ends with a report without a name. */
extern const struct gt_report *const gt_report_lists[GT_REPORT_LISTS];

/* The report whose name has these @len bytes, NULL: there is none. */
const struct gt_report *gt_report_called(const char *name, size_t len);

/* 0: @list, names between commas or "all", has only reports that there are. Else says so, with the
 * one that was probably meant. */
int gt_report_names_check(const struct gt_cmdline *args, const char *list);

/* The words that a shell completes. */
void gt_report_names_print(FILE *out);

#endif
