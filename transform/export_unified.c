/* SPDX-License-Identifier: Apache-2.0
 *
 * What happened to unified memory as rows of nsys's tables: migrations are copies of kinds of their
 * own there. Thrashing, throttling and remote mappings have no table of nsys's.
 */
#include "core/guest/text.h"
#include "core/schema/unified.h"
#include "readers/chrome/block_args.h"
#include "transform/export_rows.h"

/* As in ENUM_CUDA_MEMCPY_OPER, ENUM_CUDA_MEM_KIND. */
#define COPY_UNIFIED_HTOD 11
#define COPY_UNIFIED_DTOH 12
#define COPY_UNIFIED_DTOD 13
#define MEMORY_MANAGED    4

static void put_device(struct gt_export_rows *e, uint16_t processor)
{
	if (processor < GT_UNIFIED_NONE)
		gt_export_put_int(e, processor);
	else
		gt_export_put_none(e);
}

/* Addresses above the middle are negative in SQLite, as nsys's are. */
static void put_address(struct gt_export_rows *e, uint64_t address)
{
	gt_export_put_int(e, (int64_t)address);
}

static void put_process(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	gt_export_put_int(e, gt_export_global_tid(e->processes, record->pid, 0));
}

/* By the GPU that takes part; no stream, context or call is known. */
static int export_migration(struct gt_export_rows *e, const struct gt_trace_event *record,
			    const struct gt_unified_facts *facts)
{
	static const int64_t kinds[GT_UNIFIED_KIND_COUNT_] = {
		[GT_UNIFIED_HTOD] = COPY_UNIFIED_HTOD,
		[GT_UNIFIED_DTOH] = COPY_UNIFIED_DTOH,
		[GT_UNIFIED_DTOD] = COPY_UNIFIED_DTOD,
	};

	gt_export_put_int(e, record->ts);
	gt_export_put_int(e, record->ts + (record->has_dur ? record->dur : 0));
	put_device(e, facts->kind == GT_UNIFIED_DTOH ? facts->from : facts->to);
	gt_export_put_none(e);
	gt_export_put_none(e);
	gt_export_put_none(e);
	put_process(e, record);
	gt_export_put_int(e, (int64_t)facts->value);
	gt_export_put_int(e, kinds[facts->kind]);
	gt_export_put_int(e, MEMORY_MANAGED);
	gt_export_put_int(e, MEMORY_MANAGED);
	put_device(e, facts->from);
	put_device(e, facts->to);
	gt_export_put_none(e);
	gt_export_put_int(e, facts->why);
	put_address(e, facts->address);
	return gt_export_end_row(e, GT_EXPORT_MEMCPY);
}

static int export_gpu_fault(struct gt_export_rows *e, const struct gt_trace_event *record,
			    const struct gt_unified_facts *facts)
{
	gt_export_put_int(e, record->ts);
	gt_export_put_int(e, record->ts + (record->has_dur ? record->dur : 0));
	put_process(e, record);
	put_device(e, facts->from);
	put_address(e, facts->address);
	gt_export_put_int(e, (int64_t)facts->value);
	gt_export_put_int(e, facts->why);
	return gt_export_end_row(e, GT_EXPORT_GPU_FAULT);
}

/* The trace has the address of the code, not what is there. */
static int export_cpu_fault(struct gt_export_rows *e, const struct gt_trace_event *record,
			    const struct gt_unified_facts *facts)
{
	static const char module[] = "[Unknown]";
	char code[24];
	size_t len = gt_text_format(code, sizeof(code), "0x%lx", (unsigned long)facts->value);

	gt_export_put_int(e, record->ts);
	put_process(e, record);
	put_address(e, facts->address);
	put_address(e, facts->value);
	gt_export_put_text(e, code, len);
	gt_export_put_text(e, module, sizeof(module) - 1);
	gt_export_put_int(e, 1);
	return gt_export_end_row(e, GT_EXPORT_CPU_FAULT);
}

int gt_export_unified(struct gt_export_rows *e, const struct gt_trace_event *record)
{
	struct gt_unified_facts facts = gt_unified_args(&record->args, &record->name);

	if (gt_unified_is_migration(facts.kind))
		return export_migration(e, record, &facts);
	if (facts.kind == GT_UNIFIED_GPU_FAULT)
		return export_gpu_fault(e, record, &facts);
	return facts.kind == GT_UNIFIED_CPU_FAULT ? export_cpu_fault(e, record, &facts) : 0;
}
