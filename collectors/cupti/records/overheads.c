/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/records/overheads.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/cupti/records/layout.h"
#include "collectors/cupti/records/stamps.h"

/* Kinds that headers of 11.8 lack. */
#define OVERHEAD_MODULE_LOADING      (4u << 16)
#define OVERHEAD_LAZY_LOADING        (5u << 16)
#define OVERHEAD_COMMAND_BUFFER_FULL (6u << 16)

/* Names as Kineto writes them (its cupti_strings.cpp). */
static const struct {
	uint32_t kind;
	const char *name;
} overhead_names[] = {
	{CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER, "Driver Compiler"},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, "Buffer Flush"},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION, "Instrumentation"},
	{CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE, "Resource"},
	{OVERHEAD_MODULE_LOADING, "Runtime Triggered Module Loading"},
	{OVERHEAD_LAZY_LOADING, "Lazy Function Loading"},
	{OVERHEAD_COMMAND_BUFFER_FULL, "Command Buffer Full"},
	{7u << 16, "Activity Buffer Request"},
	{8u << 16, "UVM Activity Init"},
};

static const char *overhead_name(uint32_t kind)
{
	for (size_t i = 0; i < sizeof(overhead_names) / sizeof(overhead_names[0]); i++) {
		if (overhead_names[i].kind == kind)
			return overhead_names[i].name;
	}
	return "Unknown";
}

/* Since 12.4 this kind of overhead has memory that the client must free. */
#define OVERHEAD_DATA_SINCE 22u

static void free_overhead_data(const struct gt_translate *t, const CUpti_ActivityOverhead *record)
{
	void *data;

	if (t->borrowed || t->relayed || t->version < OVERHEAD_DATA_SINCE ||
	    (uint32_t)record->overheadKind != OVERHEAD_COMMAND_BUFFER_FULL)
		return;
	memcpy(&data, (const char *)record + offsetof(CUpti_ActivityOverhead3, overheadData),
	       sizeof(data));
	free(data);
}

/* Since 12.3 the record names the call. */
#define OVERHEAD_CALL_SINCE 21u

/* Of the driver's work for a call; 0: of CUPTI's own, or not known. */
static uint32_t loading_call(const struct gt_translate *t, const CUpti_ActivityOverhead *record)
{
	static const uint32_t kinds[] = {CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER,
					 OVERHEAD_MODULE_LOADING, OVERHEAD_LAZY_LOADING};
	uint32_t correlation = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (t->version >= OVERHEAD_CALL_SINCE && (uint32_t)record->overheadKind == kinds[i])
			memcpy(&correlation,
			       (const char *)record +
				       offsetof(CUpti_ActivityOverhead3, correlationId),
			       sizeof(correlation));
	return correlation;
}

void gt_translate_overhead(struct gt_translate *t, const void *record)
{
	const CUpti_ActivityOverhead *r = record;
	struct gt_event event = {.kind = GT_EVENT_OVERHEAD};

	gt_ledger_add(t->ledger, GT_LEDGER_RECORDS_OVERHEAD, 1);
	free_overhead_data(t, r);
	if (!gt_stamps_set(t, &event, r->start, r->end))
		return;
	if (r->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD)
		event.tid = r->objectId.pt.threadId;
	event.correlation = loading_call(t, r);
	event.overhead.name = gt_intern_cstr(t->strings, overhead_name((uint32_t)r->overheadKind));
	t->emit(t->context, &event);
}
