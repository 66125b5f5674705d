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
};

#endif
