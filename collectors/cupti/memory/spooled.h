/* SPDX-License-Identifier: Apache-2.0
 *
 * The activity buffers of a spool, whose process is gone. Its bytes are untrusted.
 */
#ifndef GT_COLLECTORS_CUPTI_MEMORY_SPOOLED_H
#define GT_COLLECTORS_CUPTI_MEMORY_SPOOLED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_ledger;
struct gt_spool_view;

/* A buffer of a spool. */
struct gt_cupti_spooled {
	const uint8_t *data;
	size_t valid;
	uint64_t order;  /* of completion */
	bool foreign;    /* a copy of another tool's buffer */
	bool was_read;   /* all its records were taken, and are counted */
	bool unfinished; /* CUPTI still had it: at most @valid bytes, zero after its records */
	/* of one whose reading began: when, trace ns, and by which clock; 0: not known */
	uint64_t read, sampled;
};

/* Calls @found for each buffer that has records, in the order of their slots. */
void gt_cupti_spooled_each(const struct gt_spool_view *view,
			   void (*found)(void *context, const struct gt_cupti_spooled *buffer),
			   void *context);

/* The counts of a spool replace those in @ledger. */
void gt_cupti_spooled_report(const struct gt_spool_view *view, struct gt_ledger *ledger);

#endif
