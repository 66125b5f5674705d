/* SPDX-License-Identifier: Apache-2.0
 *
 * What changes in an event whose text is copied. One thread.
 */
#ifndef GT_TRANSFORM_JOB_EDITS_H
#define GT_TRANSFORM_JOB_EDITS_H

#include <stdio.h>

#include "readers/chrome/scan.h"

#define GT_EDITS     16
#define GT_EDIT_SIZE 320 /* bytes of a new text, with its end */

/* One text that stands for another. */
struct gt_edit {
	const char *at; /* in the event */
	uint32_t len;
	char text[GT_EDIT_SIZE];
	const char *more; /* behind it, or NULL: the caller's */
};

/* Those of an event; count begins as 0. */
struct gt_edits {
	size_t count;
	struct gt_edit list[GT_EDITS];
};

/* One more, for the caller to fill its text. NULL: there are too many, or @span is not there. */
struct gt_edit *gt_edits_new(struct gt_edits *edits, const struct gt_span *span);

/* The one at @span, or a new one that leaves it as it is. NULL as above. */
struct gt_edit *gt_edits_of(struct gt_edits *edits, const struct gt_span *span);

/* The number @value for that at @span; of something else nothing. */
void gt_edits_int(struct gt_edits *edits, const struct gt_span *span, int64_t value);

/* Writes @text with what changes in it. */
void gt_edits_put(const struct gt_edits *edits, const struct gt_span *text, FILE *out);

#endif
