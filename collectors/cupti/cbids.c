/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of the table of CUDA calls (core/schema/cuda_api.def), compared with the toolkit's by
 * the compiler. There is no code here.
 */
#include <cupti.h>

#include "core/schema/cuda_api.h"

/* The table was made from these headers: the compiler proves every number. Other toolkits may lack
 * an enumerator or have renamed it, never renumbered it (tests/structure/cuda_table.py looks). */
#if CUPTI_API_VERSION / 1000 == 130
#define GT_CUDA_RUNTIME(cbid, version, symbol, class, flags)                                       \
	_Static_assert(CUPTI_RUNTIME_TRACE_CBID_##symbol##_##version == cbid, #symbol);
#define GT_CUDA_DRIVER(cbid, symbol, class, flags)                                                 \
	_Static_assert(CUPTI_DRIVER_TRACE_CBID_##symbol == cbid, #symbol);
#include "core/schema/cuda_api.def"
#endif
