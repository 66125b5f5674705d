/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX ranges and marks as rows of nsys's NVTX_EVENTS. The name of a domain is a row of its own
 * there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transform/export_rows.h"

/* As in ENUM_NSYS_EVENT_TYPE. */
#define NVTX_MARK          34
#define NVTX_PUSH_POP      59
#define NVTX_START_END     60
#define NVTX_DOMAIN_CREATE 75

/* Rows of ranges that need not nest begin here (docs/FORMAT.md). */
#define RANGE_ROWS         16777216

#define PID_MASK           (~(int64_t)0xffffff)

static int put_domain(struct gt_export_rows *e, const struct gt_trace_event *record,
		      const struct gt_export_domain *domain)
{
	gt_export_put_int(e, record->ts);
	gt_export_put_none(e);
	gt_export_put_int(e, NVTX_DOMAIN_CREATE);
	for (int i = 0; i < 3; i++)
		gt_export_put_none(e);
	gt_export_put_text(e, domain->name, strlen(domain->name));
	gt_export_put_int(e, domain->process);
	gt_export_put_none(e);
	gt_export_put_none(e);
	gt_export_put_int(e, domain->id);
	return gt_export_end_row(e, GT_EXPORT_NVTX);
}

/* The id of the domain with that name; 0 is NVTX's default domain. Negative errno. */
static int64_t domain_of(struct gt_export_rows *e, const struct gt_trace_event *record,
			 int64_t process)
{
	const struct gt_span *name = &record->arg[GT_ARG_DOMAIN];
	struct gt_export_domain domain = {.process = process, .id = 1};
	int rc;

	if (!gt_record_has(record, GT_ARG_DOMAIN) || name->kind != GT_SPAN_STRING || !name->len)
		return 0;
	for (size_t i = 0; i < e->domains.count; i++) {
		const struct gt_export_domain *other = &e->domains.at[i];

		if (other->process != process)
			continue;
		if (strlen(other->name) == name->len && !memcmp(other->name, name->text, name->len))
			return other->id;
		domain.id = other->id + 1;
	}
	domain.name = strndup(name->text, name->len);
	if (!domain.name || !gt_vec_push(&e->domains, domain)) {
		free(domain.name);
		return -ENOMEM;
	}
	rc = put_domain(e, record, &domain);
	return rc < 0 ? rc : domain.id;
}

/* "0xff00ff00" */
static void put_color(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	struct gt_span span;
	char text[16];

	if (record->args.kind != GT_SPAN_OBJECT || !gt_span_member(&record->args, "color", &span) ||
	    span.kind != GT_SPAN_STRING || span.len >= sizeof(text)) {
		gt_export_put_none(e);
		return;
	}
	memcpy(text, span.text, span.len);
	text[span.len] = 0;
	gt_export_put_int(e, (int64_t)strtoul(text, NULL, 16));
}

static int type_of(const struct gt_export_rows *e, const struct gt_trace_event *record)
{
	if (record->ph != 'X')
		return NVTX_MARK;
	return e->is_ours && record->tid >= RANGE_ROWS ? NVTX_START_END : NVTX_PUSH_POP;
}

int gt_export_nvtx(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	int64_t thread = gt_export_global_tid(e->processes, record->pid, record->tid);
	int64_t domain = domain_of(e, record, thread & PID_MASK);

	if (domain < 0)
		return (int)domain;
	gt_export_put_int(e, record->ts);
	if (record->ph == 'X')
		gt_export_put_int(e, record->ts + (record->has_dur ? record->dur : 0));
	else
		gt_export_put_none(e);
	gt_export_put_int(e, type_of(e, record));
	gt_export_put_arg(e, record, GT_ARG_EXTERNAL_ID);
	gt_export_put_none(e);
	put_color(e, record);
	gt_export_put_text(e, record->name.text, record->name.len);
	gt_export_put_int(e, thread);
	gt_export_put_none(e); /* the thread that ended it, where that is another */
	gt_export_put_text(e, record->name.text, record->name.len);
	gt_export_put_int(e, domain);
	return gt_export_end_row(e, GT_EXPORT_NVTX);
}

void gt_export_nvtx_fini(struct gt_export_rows *e)
{
	for (size_t i = 0; i < e->domains.count; i++)
		free(e->domains.at[i].name);
	gt_vec_free(&e->domains);
}
