/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a trace and, behind a zero, as what was recovered for it. When they are
 * joined, the file still is a trace that runs on, with all that it held and what was added; joining
 * it once more adds nothing, and repair makes a strict JSON object of it.
 */
#include "readers/chrome/reader.h"
#include "recover/rejoin.h"
#include "recover/repair.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/fuzz_file.h"

static uint64_t count_events(const char *path, bool *ret_is_running)
{
	struct gt_reading reading;
	int rc = gt_reader_read(path, NULL, NULL, &reading);
	uint64_t events = reading.events;

	*ret_is_running = rc == 0 && reading.form == GT_FORM_ARRAY && !reading.mixed;
	gt_reading_fini(&reading);
	return events;
}

static void check_joined(struct fuzz_file *trace, const char *recovered,
			 const struct gt_rejoin *joined, uint64_t before)
{
	struct gt_repair_added added = {.calls = joined->calls,
					.operations = joined->operations,
					.in_flight = joined->in_flight,
					.ledger = joined->ledger};
	struct gt_repair repaired;
	struct gt_rejoin again;
	uint64_t after;
	bool is_running;

	need(joined->calls + joined->operations <= joined->events);
	need(joined->ledger && fuzz_is_strict_json(joined->ledger, strlen(joined->ledger)));
	after = count_events(trace->path, &is_running);
	/* a slice that found its row taken comes with the name of another one */
	need(is_running && after >= before + joined->events &&
	     after <= before + joined->events + joined->operations);
	need(!gt_rejoin(trace->path, recovered, &again) && again.events == 0);
	free(again.ledger);
	if (gt_repair_file(trace->path, &added, &repaired))
		return; /* what it held before may be no strict JSON */
	fuzz_file_read(trace);
	need(repaired.events == after && fuzz_is_strict_json(trace->text, trace->size));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t first = zero ? (size_t)(zero - data) : size;
	struct fuzz_file trace, recovered;
	struct gt_rejoin joined;
	bool is_running;
	uint64_t before;

	if (!zero)
		return 0;
	fuzz_file_make(&trace, data, first);
	fuzz_file_make(&recovered, zero + 1, size - first - 1);
	before = count_events(trace.path, &is_running);
	if (gt_rejoin(trace.path, recovered.path, &joined))
		need(fuzz_file_is(&trace, data, first));
	else
		check_joined(&trace, recovered.path, &joined, before);
	free(joined.ledger);
	fuzz_file_remove(&trace);
	fuzz_file_remove(&recovered);
	return 0;
}
