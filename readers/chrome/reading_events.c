/* SPDX-License-Identifier: Apache-2.0
 *
 * See reading_events.h. The header is kept as JSON text for every format: made once per file, by
 * the same code as in the writers.
 */
#include "readers/chrome/reading_events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/json/metadata_json.h"

static int add_members(struct gt_header *header, struct gt_json *json, bool behind)
{
	struct gt_span object = {.kind = GT_SPAN_OBJECT};

	gt_json_char(json, '}');
	object.len = (uint32_t)json->length;
	for (int i = 0; i < GT_INPUT_PADDING; i++)
		gt_json_char(json, 0);
	object.text = json->text;
	return json->failed ? -ENOMEM : gt_header_add_object(header, &object, behind);
}

static int fill_header(const struct gt_events *events, struct gt_header *header)
{
	struct gt_ledger ledger = gt_events_ledger(events);
	struct gt_json json;
	int rc = gt_json_init(&json, 16384);

	if (rc)
		return rc;
	gt_json_char(&json, '{');
	gt_metadata_json_put(&events->metadata, &json, false, 0);
	rc = add_members(header, &json, false);
	gt_json_cut(&json, 0);
	gt_json_char(&json, '{');
	gt_metadata_json_put_ledger(&json, &ledger);
	gt_metadata_json_put_repaired(&json, &events->metadata.repaired);
	if (!rc && events->closed)
		rc = add_members(header, &json, true);
	gt_json_fini(&json);
	return rc;
}

/* Events that the ledger counts: without names. */
static uint64_t count_events(const struct gt_events *events)
{
	uint64_t sum = 0;

	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		sum += events->counted.count[i];
	return sum;
}

int gt_reading_of_events(const struct gt_events *events, const struct gt_input *in, int rc,
			 struct gt_reading *ret_reading)
{
	ret_reading->is_pftrace = true;
	ret_reading->parts = events->told_parts;
	ret_reading->form = GT_FORM_OBJECT;
	ret_reading->compressed = in->compressed;
	ret_reading->bytes = in->bytes + in->size;
	ret_reading->events = count_events(events);
	ret_reading->strange = events->strange;
	ret_reading->closed = events->closed;
	gt_events_doubt(events, ret_reading->doubt, sizeof(ret_reading->doubt));
	if (!events->closed)
		snprintf(ret_reading->note, sizeof(ret_reading->note), GT_READING_CUT_NOTE);
	if (events->told_parts > events->parts && events->parts == events->part + 1) {
		ret_reading->closed = false;
		snprintf(ret_reading->note, sizeof(ret_reading->note),
			 "of %u processes that were merged it holds %u", events->told_parts,
			 events->parts);
	}
	if (!rc)
		rc = fill_header(events, &ret_reading->header);
	if (rc && events->error[0])
		snprintf(ret_reading->error, sizeof(ret_reading->error), "%s", events->error);
	else if (rc)
		gt_reading_fail(ret_reading, in->path, rc);
	return rc;
}
