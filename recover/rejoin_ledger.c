/* SPDX-License-Identifier: Apache-2.0
 *
 * Counting a completed trace, see the header.
 */
#include "recover/rejoin_ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/schema/metadata.h"
#include "readers/chrome/reader.h"

void gt_rejoin_ledger_begin(struct gt_rejoin_ledger *totals, const struct gt_header *recovered)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
		int64_t count = 0;

		gt_header_int(recovered, "ledger", gt_ledger_rows[i].json, &count);
		totals->ledger.count[i] = count > 0 ? (uint64_t)count : 0;
	}
	totals->first_untold = 1;
	gt_header_int(recovered, "segment", gt_segment_names[GT_SEGMENT_NUMBER],
		      &totals->first_untold);
}

/* What a slice of this category, or an instant of this name, adds to. */
static const struct {
	char ph;
	const char *category, *name; /* NULL: any */
	enum gt_ledger_key key;
} rows[] = {
	{'X', "cuda_runtime", NULL, GT_LEDGER_CALLS_WRITTEN},
	{'X', "cuda_driver", NULL, GT_LEDGER_CALLS_WRITTEN},
	{'X', "kernel", NULL, GT_LEDGER_KERNELS_WRITTEN},
	{'X', "gpu_memcpy", NULL, GT_LEDGER_MEMCPYS_WRITTEN},
	{'X', "gpu_memset", NULL, GT_LEDGER_MEMSETS_WRITTEN},
	{'X', "cuda_sync", NULL, GT_LEDGER_SYNCS_WRITTEN},
	{'X', "overhead", NULL, GT_LEDGER_OVERHEADS_WRITTEN},
	{'X', "user_annotation", NULL, GT_LEDGER_RANGES_WRITTEN},
	{'X', "cpu_op", NULL, GT_LEDGER_RANGES_WRITTEN},
	{'i', "user_annotation", NULL, GT_LEDGER_RANGES_WRITTEN},
	{'X', "call_stack", NULL, GT_LEDGER_FRAMES_WRITTEN},
	{'X', "gpu_user_annotation", NULL, GT_LEDGER_SHADOWS_WRITTEN},
	{'i', "cpu_sample", NULL, GT_LEDGER_SAMPLES_WRITTEN},
	{'s', "ac2g", NULL, GT_LEDGER_FLOWS_WRITTEN},
	{'C', NULL, NULL, GT_LEDGER_COUNTERS_WRITTEN},
	{'M', NULL, NULL, GT_LEDGER_NAMES_WRITTEN},
	{'i', "gputrace", NULL, GT_LEDGER_NOTES_WRITTEN},
	{'i', "gputrace", "kernel (untimed)", GT_LEDGER_KERNELS_UNTIMED},
	{'i', "gputrace", "memcpy (untimed)", GT_LEDGER_MEMCPYS_UNTIMED},
	{'i', "gputrace", "memset (untimed)", GT_LEDGER_MEMSETS_UNTIMED},
};

static bool matches(const struct gt_span *span, const char *text)
{
	return !text || gt_span_is(span, text, strlen(text));
}

static int count_record(const struct gt_trace_event *record, const struct gt_header *header,
			void *data)
{
	struct gt_rejoin_ledger *totals = data;

	(void)header;
	if (matches(&record->name, "Record Window End"))
		return 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (record->ph == rows[i].ph && matches(&record->cat, rows[i].category) &&
		    matches(&record->name, rows[i].name))
			totals->ledger.count[rows[i].key]++;
	return 0;
}

void gt_rejoin_ledger_take_off(struct gt_rejoin_ledger *totals, const struct gt_ledger *reported)
{
	for (int i = 0; i < GT_LEDGER_COUNT_; i++) {
		uint64_t *count = &totals->ledger.count[i];

		*count -= reported->count[i] < *count ? reported->count[i] : *count;
	}
}

int gt_rejoin_ledger_leave(struct gt_rejoin_ledger *totals, const char *path)
{
	struct gt_rejoin_ledger other = {0};
	struct gt_reading reading;
	int rc = gt_reader_read(path, count_record, &other, &reading);

	if (rc >= 0 && gt_header_find(&reading.header, "ledger"))
		gt_rejoin_ledger_begin(&other, &reading.header);
	else
		other.ledger.count[GT_LEDGER_CALLS_SEEN] =
			other.ledger.count[GT_LEDGER_CALLS_WRITTEN];
	gt_reading_fini(&reading);
	if (rc < 0)
		return rc;
	gt_rejoin_ledger_take_off(totals, &other.ledger);
	return 0;
}

/* All that was received and not lost stands in the file, for what is lost has a cause. */
void gt_rejoin_ledger_balance(struct gt_ledger *ledger)
{
	uint64_t *count = ledger->count, reported;

	count[GT_LEDGER_CALLS_RECEIVED] = count[GT_LEDGER_CALLS_WRITTEN];
	count[GT_LEDGER_RECORDS_KERNEL] =
		count[GT_LEDGER_KERNELS_WRITTEN] + count[GT_LEDGER_KERNELS_UNTIMED];
	count[GT_LEDGER_RECORDS_MEMCPY] =
		count[GT_LEDGER_MEMCPYS_WRITTEN] + count[GT_LEDGER_MEMCPYS_UNTIMED];
	count[GT_LEDGER_RECORDS_MEMSET] =
		count[GT_LEDGER_MEMSETS_WRITTEN] + count[GT_LEDGER_MEMSETS_UNTIMED];
	count[GT_LEDGER_SAMPLES_RECEIVED] = count[GT_LEDGER_SAMPLES_WRITTEN];
	reported = count[GT_LEDGER_CALLS_RECEIVED] + count[GT_LEDGER_CALLS_NESTED] +
		   count[GT_LEDGER_CALLS_LOST_RING] + count[GT_LEDGER_CALLS_LOST_THREAD];
	count[GT_LEDGER_CALLS_OPEN] =
		count[GT_LEDGER_CALLS_SEEN] > reported ? count[GT_LEDGER_CALLS_SEEN] - reported : 0;
	count[GT_LEDGER_CALLS_SEEN] = reported + count[GT_LEDGER_CALLS_OPEN];
	count[GT_LEDGER_EVENTS_LOST_DISK] = count[GT_LEDGER_EVENTS_LOST_EARLY] = 0;
}

static char *print(const struct gt_ledger *ledger)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (int i = 0; i < GT_LEDGER_COUNT_; i++)
		fprintf(out, "%s\"%s\": %" PRIu64, i ? ", " : "{", gt_ledger_rows[i].json,
			ledger->count[i]);
	fputc('}', out);
	return fclose(out) ? NULL : text;
}

char *gt_rejoin_ledger_close(struct gt_rejoin_ledger *totals, const char *trace)
{
	struct gt_reading reading;
	int rc;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		totals->ledger.count[rows[i].key] = 0;
	rc = gt_reader_read(trace, count_record, totals, &reading);
	totals->ledger.count[GT_LEDGER_BYTES_WRITTEN] = reading.end_byte;
	gt_reading_fini(&reading);
	if (rc < 0)
		return NULL;
	gt_rejoin_ledger_balance(&totals->ledger);
	return print(&totals->ledger);
}
