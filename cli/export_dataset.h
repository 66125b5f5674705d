/* SPDX-License-Identifier: Apache-2.0
 *
 * gputrace export --parquet and --arrow: starts the Python program that writes the files.
 */
#ifndef GT_CLI_EXPORT_DATASET_H
#define GT_CLI_EXPORT_DATASET_H

#include <stddef.h>

/* Writes @paths as a dataset of @form, "parquet" or "arrow", into the new @folder. An exit status;
 * what went wrong is said. */
int gt_export_dataset(const char *form, const char *folder, char *const *paths, size_t count);

#endif
