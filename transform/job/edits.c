/* SPDX-License-Identifier: Apache-2.0
 *
 * See edits.h.
 */
#include "transform/job/edits.h"

#include <inttypes.h>
#include <stdlib.h>

struct gt_edit *gt_edits_new(struct gt_edits *edits, const struct gt_span *span)
{
	struct gt_edit *edit;

	if (edits->count == GT_EDITS || span->kind == GT_SPAN_NONE)
		return NULL;
	edit = &edits->list[edits->count++];
	edit->at = span->text;
	edit->len = span->len;
	*edit->text = 0;
	return edit;
}

void gt_edits_int(struct gt_edits *edits, const struct gt_span *span, int64_t value)
{
	struct gt_edit *edit = span->kind == GT_SPAN_NUMBER ? gt_edits_new(edits, span) : NULL;

	if (edit)
		snprintf(edit->text, sizeof(edit->text), "%" PRId64, value);
}

static int by_place(const void *a, const void *b)
{
	const struct gt_edit *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

void gt_edits_put(struct gt_edits *edits, const struct gt_span *text, FILE *out)
{
	const char *p = text->text, *end = p + text->len;

	if (edits->count > 1)
		qsort(edits->list, edits->count, sizeof(edits->list[0]), by_place);
	for (size_t i = 0; i < edits->count; i++) {
		fwrite(p, 1, (size_t)(edits->list[i].at - p), out);
		fputs(edits->list[i].text, out);
		p = edits->list[i].at + edits->list[i].len;
	}
	fwrite(p, 1, (size_t)(end - p), out);
}
