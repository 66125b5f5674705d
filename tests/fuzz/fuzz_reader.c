/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as a trace file: whatever the reader answers, it must answer, and the same if
 * another thread scans ahead.
 */
#include "readers/chrome/ahead.h"
#include "readers/chrome/reader.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int touch(const struct gt_trace_event *record, const struct gt_header *header, void *data)
{
	uint64_t *sum = data;
	struct gt_span value;
	uint32_t position = 0;
	double number;

	(void)header;
	*sum += record->name.len + record->raw.len + (uint64_t)record->raw.text[0];
	for (int i = 0; i < GT_ARG_COUNT_; i++) {
		if (!gt_record_has(record, (enum gt_arg)i))
			continue;
		*sum += (uint64_t)gt_record_int(record, (enum gt_arg)i, 0);
		if (gt_span_double(&record->arg[i], &number))
			*sum += number > 1;
		while (gt_span_next(&record->arg[i], &position, &value))
			*sum += value.len;
	}
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct gt_reading reading;
	uint64_t sum = 0, again = 0;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	gt_ahead_limits = (struct gt_ahead_limits){.chunk = 64, .least = UINT64_MAX, .cores = 2};
	gt_reader_read(path, touch, &sum, &reading);
	gt_reading_fini(&reading);
	gt_ahead_limits.least = gt_ahead_limits.threads = 1;
	gt_reader_read(path, touch, &again, &reading);
	gt_reading_fini(&reading);
	if (again != sum)
		abort();
	close(fd);
	return 0;
}
