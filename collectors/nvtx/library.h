/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of libraries (--libraries) as ranges: the same records, on a stack of their own, with a
 * struct gt_library_call in place of name and payload.
 */
#ifndef GT_COLLECTORS_NVTX_LIBRARY_H
#define GT_COLLECTORS_NVTX_LIBRARY_H

#include "collectors/nvtx/record.h"
#include "core/schema/library_call.h"

/* Has @interposer (GT_LIBRARY_LIBRARY, ...) tell its calls from now on. False: it is
 * not loaded, or there is no memory. */
bool gt_libraries_listen(const char *interposer);

/* Events of NCCL's profiler interface that its plug-in had no room for. */
uint64_t gt_libraries_untaken(void);

/* The call of a record, NULL: it has none, or is not whole. */
static inline const struct gt_library_call *gt_nvtx_library(const struct gt_nvtx_record *record)
{
	if (record->value_type != GT_NVTX_LIBRARY ||
	    record->payload_length != sizeof(struct gt_library_call))
		return NULL;
	return (const void *)(record->data + gt_nvtx_payload_offset(record->text_length));
}

#endif
