/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces of processes that were killed before they had a file, or while they closed one and went
 * on: made of their spools alone. One thread.
 */
#ifndef GT_RECOVER_BEGUN_H
#define GT_RECOVER_BEGUN_H

/* Makes those whose folder is @folder or below it, and the folder, if the process had not; @spools
 * as for gt_recover_file. @made is called for each: with the path of the trace, or with NULL and
 * one line of @error. Returns how many failed. */
int gt_recover_begun(const char *folder, const char *spools,
		     void (*made)(const char *path, const char *error, void *data), void *data);

#endif
