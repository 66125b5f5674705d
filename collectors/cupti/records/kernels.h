/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel's record says of the kernel. A program launches few kernels in few ways, again and
 * again: what follows from the words of a record is kept and copied. Drain thread only.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_KERNELS_H
#define GT_COLLECTORS_CUPTI_RECORDS_KERNELS_H

#include <cupti.h>

#include "collectors/cupti/records/translate.h"

/* All of @ret_kernel, which may hold anything. */
void gt_translate_fill_kernel(struct gt_translate *translate, const CUpti_ActivityKernel8 *record,
			      struct gt_kernel_event *ret_kernel);

/* What kernels' events follow from, besides their records, has changed. */
void gt_translate_forget_kernels(struct gt_translate *translate);

#endif
