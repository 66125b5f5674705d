/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies raw activity records into a file (GPUTRACE_CAPTURE_BUFFERS=FILE), so that tests can replay
 * what real hardware delivered. Drain thread only.
 *
 * The file: "GTCUPTI1", u32 cuptiGetVersion, u32 0; then for each record u32 size, u32 length of
 * its name, the record's bytes, the name's bytes (kernels and devices, whose record has a pointer).
 */
#ifndef GT_COLLECTORS_CUPTI_CAPTURE_H
#define GT_COLLECTORS_CUPTI_CAPTURE_H

#include <stdint.h>

#define GT_CUPTI_CAPTURE_MAGIC "GTCUPTI1"

/* Head of a capture file. */
struct gt_cupti_capture_header {
	char magic[8];
	uint32_t version;
	uint32_t reserved;
};

/* Precedes each captured buffer; its bytes follow. */
struct gt_cupti_capture_record {
	uint32_t size;
	uint32_t name_length;
};

/* Opens the file named by the environment variable; without it nothing is captured. */
void gt_cupti_capture_start(uint32_t cupti_version);

/* Whether a capture file is open. */
int gt_cupti_capture_on(void);

/* Appends one record of @size bytes. */
void gt_cupti_capture_add(const void *record, uint32_t size);

#endif
