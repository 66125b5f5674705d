/* SPDX-License-Identifier: Apache-2.0
 *
 * See edits.h.
 */
#include "transform/job/edits.h"

#include <inttypes.h>

struct gt_edit *gt_edits_new(struct gt_edits *edits, const struct gt_span *span)
{
	struct gt_edit *edit;

	if (edits->count == GT_EDITS || span->kind == GT_SPAN_NONE)
		return NULL;
	edit = &edits->list[edits->count++];
	edit->at = span->text;
	edit->len = span->len;
	*edit->text = 0;
	edit->more = NULL;
	return edit;
}

struct gt_edit *gt_edits_of(struct gt_edits *edits, const struct gt_span *span)
{
	struct gt_edit *edit = NULL;

	for (size_t i = 0; i < edits->count; i++)
		if (edits->list[i].at == span->text)
			return &edits->list[i];
	edit = span->len < GT_EDIT_SIZE ? gt_edits_new(edits, span) : NULL;
	if (edit)
		snprintf(edit->text, sizeof(edit->text), "%.*s", (int)span->len, span->text);
	return edit;
}

void gt_edits_int(struct gt_edits *edits, const struct gt_span *span, int64_t value)
{
	struct gt_edit *edit = span->kind == GT_SPAN_NUMBER ? gt_edits_new(edits, span) : NULL;

	if (edit)
		snprintf(edit->text, sizeof(edit->text), "%" PRId64, value);
}

/* The places of the edits in the order of the text: there are few, mostly in order already. */
static void sort(const struct gt_edits *edits, unsigned char *ret_order)
{
	for (size_t i = 0; i < edits->count; i++) {
		size_t at = i;

		for (; at && edits->list[ret_order[at - 1]].at > edits->list[i].at; at--)
			ret_order[at] = ret_order[at - 1];
		ret_order[at] = (unsigned char)i;
	}
}

void gt_edits_put(const struct gt_edits *edits, const struct gt_span *text, FILE *out)
{
	const char *p = text->text, *end = p + text->len;
	unsigned char order[GT_EDITS];

	sort(edits, order);
	for (size_t i = 0; i < edits->count; i++) {
		const struct gt_edit *edit = &edits->list[order[i]];

		fwrite(p, 1, (size_t)(edit->at - p), out);
		fputs(edit->text, out);
		if (edit->more)
			fputs(edit->more, out);
		p = edit->at + edit->len;
	}
	fwrite(p, 1, (size_t)(end - p), out);
}
