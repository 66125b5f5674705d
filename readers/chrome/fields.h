/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the members of one event into a record, for readers/chrome/reader.c. One thread per taker.
 */
#ifndef GT_READERS_CHROME_FIELDS_H
#define GT_READERS_CHROME_FIELDS_H

#include "readers/chrome/keys.h"
#include "readers/chrome/reader.h"

#define GT_TAKER_SLOTS 128

/* The current event. */
struct gt_fields {
	struct gt_trace_event record;
	uint8_t slot[GT_TAKER_SLOTS]; /* hash of an argument's key -> enum gt_arg + 1 */
	struct gt_keys keys, arg_keys;
};

/* Prepares for a file: once, before its first event. */
void gt_fields_init(struct gt_fields *taker);

/* Scans the event that starts at @p, stores its members in the record. Returns the byte after it,
 * or NULL on failure. */
const char *gt_fields_scan(struct gt_scan *scan, const char *p, struct gt_fields *taker);

#endif
