/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares the cbids of core/schema/cuda_api.def with the toolkit's at compile time. There is no
 * code here.
 */
#include <cupti.h>

#include "core/schema/cuda_api.h"

/* The table was made from these headers, so every number is checked, except those of newer calls.
 * Other toolkits may lack or rename an enumerator, but never renumber it
 * (tests/structure/cuda_table.py). */
#if CUPTI_API_VERSION / 1000 == 130
#define GT_CUDA_RUNTIME_NEWER(cbid, version, symbol, class, flags)
#define GT_CUDA_DRIVER_NEWER(cbid, version, symbol, class, flags)
#define GT_CUDA_HOOKED_NEWER(cbid, version, symbol, class, flags, signature)
#define GT_CUDA_RUNTIME(cbid, version, symbol, class, flags)                                       \
	_Static_assert(CUPTI_RUNTIME_TRACE_CBID_##symbol##_##version == cbid, #symbol);
#define GT_CUDA_DRIVER(cbid, symbol, class, flags)                                                 \
	_Static_assert(CUPTI_DRIVER_TRACE_CBID_##symbol == cbid, #symbol);
#include "core/schema/cuda_api.def"
#endif
