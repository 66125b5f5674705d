/* SPDX-License-Identifier: Apache-2.0
 *
 * What a call did with memory (run --memory), or with other ranks (--libraries), what happened to
 * unified memory: from the arguments. Pure, any thread.
 */
#ifndef GT_READERS_CHROME_BLOCK_ARGS_H
#define GT_READERS_CHROME_BLOCK_ARGS_H

#include "core/schema/event.h"
#include "readers/chrome/scan.h"

/* The block in the object @args of a call; op GT_BLOCK_NOTHING: there is none. */
struct gt_block gt_block_args(const struct gt_span *args);

/* The block of PyTorch's allocator in the object @args of a "[memory]" instant. */
struct gt_tensor_event gt_tensor_args(const struct gt_span *args);

/* A call of a library, or what a kernel does for one, in the object @args. @name: of the call;
 * NULL: @args tell it. */
struct gt_library_call gt_library_args(const struct gt_span *args, const struct gt_span *name);

/* What happened to unified memory, by the name of the slice and its object @args. */
struct gt_unified_facts gt_unified_args(const struct gt_span *args, const struct gt_span *name);

#endif
