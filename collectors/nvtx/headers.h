/* SPDX-License-Identifier: Apache-2.0
 *
 * The NVTX headers as a tool needs them: types and numbers, no functions.
 */
#ifndef GT_COLLECTORS_NVTX_HEADERS_H
#define GT_COLLECTORS_NVTX_HEADERS_H

#define NVTX_NO_IMPL
#define NVTX_AS_SYSTEM_HEADER
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtCounters.h>

#endif
