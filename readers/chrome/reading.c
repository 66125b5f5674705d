/* SPDX-License-Identifier: Apache-2.0
 *
 * Files by their path, and what became of a reading (see reader.h).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "readers/chrome/reader.h"
#include "readers/input.h"

int gt_reading_fail(struct gt_reading *reading, const char *path, int rc)
{
	snprintf(reading->error, sizeof(reading->error), "%s: %s", path,
		 rc == -EFBIG ? "one value in it is larger than 1 GiB" : strerror(-rc));
	return rc;
}

int gt_reader_read(const char *path, gt_reader_event event, void *data,
		   struct gt_reading *ret_reading)
{
	struct gt_input in;
	int rc = gt_input_open(&in, path);

	if (rc < 0) {
		memset(ret_reading, 0, sizeof(*ret_reading));
		return gt_reading_fail(ret_reading, path, rc);
	}
	rc = gt_reader_read_input(&in, event, data, ret_reading);
	gt_input_close(&in);
	return rc;
}

int gt_reader_read_either(const char *path, gt_reader_form json, gt_reader_form pftrace, void *data,
			  struct gt_reading *ret_reading)
{
	struct gt_input in;
	int rc = gt_input_open(&in, path);

	*ret_reading = (struct gt_reading){0};
	if (!rc)
		rc = gt_input_more(&in);
	if (rc < 0)
		gt_reading_fail(ret_reading, path, rc);
	else
		rc = (gt_input_is_pftrace(&in) ? pftrace : json)(&in, data, ret_reading);
	gt_input_close(&in);
	return rc;
}

void gt_reading_fini(struct gt_reading *reading)
{
	gt_header_fini(&reading->header);
}

int64_t gt_record_int(const struct gt_trace_event *record, enum gt_arg arg, int64_t otherwise)
{
	int64_t value;

	if (!gt_record_has(record, arg) || !gt_span_int(&record->arg[arg], &value))
		return otherwise;
	return value;
}
