/* SPDX-License-Identifier: Apache-2.0
 *
 * Types of the records in the threads' rings; each struct is in its collector.
 */
#ifndef GT_COLLECTORS_CALL_RECORDS_H
#define GT_COLLECTORS_CALL_RECORDS_H

/* Types of ring records. */
enum gt_record_type {
	GT_RECORD_CALL = 1, /* struct gt_call_record, collectors/call/call.h */
	GT_RECORD_NVTX,     /* struct gt_nvtx_record, collectors/nvtx/record.h */
	GT_RECORD_SAMPLE,   /* struct gt_call_record too, collectors/sampler/sampler.h */
	GT_RECORD_TENSOR,   /* struct gt_call_record too, collectors/call/tensor.h */
};

/* What the drain thread counts of the records of a ring: recovery needs it of those that are in no
 * ring any more. */
enum gt_record_count {
	GT_RECORD_LAUNCHES,   /* calls that enqueued GPU work */
	GT_RECORD_UNEXPECTED, /* of these, without an id of CUPTI */
};

#endif
