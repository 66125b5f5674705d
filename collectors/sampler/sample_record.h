/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns a captured stack (collectors/sampler/signal.h) into the record of a sample. Threads of the
 * tracer only.
 */
#ifndef GT_COLLECTORS_SAMPLER_SAMPLE_RECORD_H
#define GT_COLLECTORS_SAMPLER_SAMPLE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/call/call.h"
#include "collectors/sampler/signal.h"

/* Bytes of a record with @frames frames, native plus Python. */
static inline size_t gt_sample_record_bytes(uint32_t frames)
{
	return sizeof(struct gt_call_record) + frames * sizeof(uint64_t);
}

/* Fills @record, which has room for 2 * @max frames, except its tid and size. Consumes the copy of
 * the stack in @slot. False: no frame is known. */
bool gt_sample_record_fill(struct gt_sample_slot *slot, uint32_t max,
			   struct gt_call_record *record);

#endif
