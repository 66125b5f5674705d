/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack as it was found (collectors/sampler/signal.h), made into the record of a sample. Threads
 * of the tracer only.
 */
#ifndef GT_COLLECTORS_SAMPLER_SAMPLE_RECORD_H
#define GT_COLLECTORS_SAMPLER_SAMPLE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/call/call.h"
#include "collectors/sampler/signal.h"

/* Bytes of a record with @frames native and Python frames together. */
static inline size_t gt_sample_record_bytes(uint32_t frames)
{
	return sizeof(struct gt_call_record) + frames * sizeof(uint64_t);
}

/* Fills @record, which has room for 2 * @max frames, but for its tid and its size. The copy of the
 * stack in @slot is used up. False: no frame can be told. */
bool gt_sample_record_fill(struct gt_sample_slot *slot, uint32_t max,
			   struct gt_call_record *record);

#endif
