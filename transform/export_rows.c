/* SPDX-License-Identifier: Apache-2.0
 *
 * See export_rows.h.
 */
#include "transform/export_rows.h"

#include <errno.h>

void gt_export_put_int(struct gt_export_rows *e, int64_t number)
{
	e->row[e->filled++] = (struct gt_export_value){.known = true, .number = number};
}

void gt_export_put_none(struct gt_export_rows *e)
{
	e->row[e->filled++] = (struct gt_export_value){.known = false};
}

void gt_export_put_text(struct gt_export_rows *e, const char *text, size_t len)
{
	e->row[e->filled++] = (struct gt_export_value){.known = true, .text = text, .len = len};
}

static void put_number(struct gt_export_rows *e, const struct gt_span *span)
{
	int64_t value;

	if (gt_span_int(span, &value))
		gt_export_put_int(e, value);
	else
		gt_export_put_none(e);
}

void gt_export_put_arg(struct gt_export_rows *e, const struct gt_trace_event *record,
		       enum gt_arg arg)
{
	if (gt_record_has(record, arg))
		put_number(e, &record->arg[arg]);
	else
		gt_export_put_none(e);
}

void gt_export_put_member(struct gt_export_rows *e, const struct gt_trace_event *record,
			  const char *key)
{
	struct gt_span span;

	if (record->args.kind == GT_SPAN_OBJECT && gt_span_member(&record->args, key, &span))
		put_number(e, &span);
	else
		gt_export_put_none(e);
}

void gt_export_put_three(struct gt_export_rows *e, const struct gt_trace_event *record,
			 enum gt_arg arg)
{
	struct gt_span element;
	uint32_t position = 0;

	for (int i = 0; i < 3; i++) {
		if (gt_record_has(record, arg) &&
		    gt_span_next(&record->arg[arg], &position, &element))
			put_number(e, &element);
		else
			gt_export_put_none(e);
	}
}

int gt_export_end_row(struct gt_export_rows *e, enum gt_export_table_id table)
{
	int rc = e->sink->goes_on() ? e->sink->row(e->sink, table, e->row) : -EINTR;

	e->filled = 0;
	return rc;
}
