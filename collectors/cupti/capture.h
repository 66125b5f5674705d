/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies raw activity records into a file (GPUTRACE_CAPTURE_BUFFERS=FILE), so that what real
 * hardware delivered can be replayed through the translator in tests. Drain thread only.
 *
 * The file: "GTCUPTI1", u32 cuptiGetVersion, u32 0; then for each record u32 size, u32 length of
 * its name, the record's bytes, the name's bytes (of kernels and devices: in the record it is a
 * pointer).
 */
#ifndef GT_COLLECTORS_CUPTI_CAPTURE_H
#define GT_COLLECTORS_CUPTI_CAPTURE_H

#include <stdint.h>

#define GT_CUPTI_CAPTURE_MAGIC "GTCUPTI1"

/* The beginning of a capture file. */
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

/* Opens the file that the environment names; without the variable nothing is ever captured. */
void gt_cupti_capture_start(uint32_t cupti_version);

/* True when records are wanted. */
int gt_cupti_capture_on(void);

/* Appends one record of @size bytes. */
void gt_cupti_capture_add(const void *record, uint32_t size);

#endif
