/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened to unified memory, see values.h.
 */
#include "core/schema/unified.h"
#include "transform/arrow/values.h"

const struct gt_arrow_column gt_arrow_page_columns[GT_ARROW_PAGE_COLUMNS] = {
	GT_ARROW_SPAN,
	{"kind", GT_ARROW_TEXT},
	{"address", GT_ARROW_INT_OR_NONE},
	{"bytes", GT_ARROW_INT_OR_NONE},
	{"faults", GT_ARROW_INT_OR_NONE},
	{"from", GT_ARROW_TEXT_OR_NONE},
	{"to", GT_ARROW_TEXT_OR_NONE},
	{"processors", GT_ARROW_TEXT_OR_NONE},
	{"cause", GT_ARROW_TEXT_OR_NONE}};

size_t gt_arrow_count_pages(const struct gt_arrow_job *job, size_t process)
{
	return gt_arrow_model(job, process)->pages.count;
}

static void put_page_number(const struct gt_unified_facts *facts, enum gt_unified_arg arg,
			    struct gt_arrow_batch *batch)
{
	char text[GT_UNIFIED_TEXT];
	uint64_t number;
	bool is_known = gt_unified_get(facts, arg, text, &number);

	gt_arrow_put_known(batch, (int64_t)number, is_known);
}

/* The first of two arguments that is there. */
static void put_page_text(const struct gt_unified_facts *facts, enum gt_unified_arg arg,
			  enum gt_unified_arg other, struct gt_arrow_batch *batch)
{
	char text[GT_UNIFIED_TEXT];
	uint64_t number;

	if (gt_unified_get(facts, arg, text, &number) ||
	    gt_unified_get(facts, other, text, &number))
		gt_arrow_put_text(batch, text);
	else
		gt_arrow_put_none(batch);
}

int gt_arrow_put_page(const struct gt_arrow_job *job, size_t process, size_t unit,
		      struct gt_arrow_batch *batch)
{
	const struct gt_model_pages *pages = &gt_arrow_model(job, process)->pages.at[unit];
	const struct gt_unified_facts *facts = &pages->facts;
	static const enum gt_unified_arg numbers[] = {GT_UNIFIED_ADDRESS, GT_UNIFIED_BYTES,
						      GT_UNIFIED_FAULTS};
	static const enum gt_unified_arg texts[][2] = {
		{GT_UNIFIED_FROM, GT_UNIFIED_FROM},
		{GT_UNIFIED_TO, GT_UNIFIED_TO},
		{GT_UNIFIED_PROCESSOR, GT_UNIFIED_PROCESSORS},
		{GT_UNIFIED_CAUSE, GT_UNIFIED_ACCESS}};

	gt_arrow_put_span(job, process, pages->start, pages->dur, batch);
	gt_arrow_put_text(batch, gt_unified_name(facts->kind));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		put_page_number(facts, numbers[i], batch);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		put_page_text(facts, texts[i][0], texts[i][1], batch);
	return 0;
}
