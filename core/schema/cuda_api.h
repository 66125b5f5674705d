/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of each CUDA call (core/schema/cuda_api.def): its name, its class, whether it is
 * recorded by default. Constant data without relocations: a process that never uses CUDA pays
 * nothing. Any thread, no lock, no allocation.
 */
#ifndef GT_CORE_SCHEMA_CUDA_API_H
#define GT_CORE_SCHEMA_CUDA_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"

/* Class of a call. */
enum gt_cuda_class {
	GT_CUDA_LAUNCH, /* of a kernel */
	GT_CUDA_GRAPH_LAUNCH,
	GT_CUDA_HOST_FUNC, /* a host function enqueued in a stream */
	GT_CUDA_COPY,
	GT_CUDA_SET,
	GT_CUDA_PREFETCH, /* managed memory: prefetch, discard, decompress */
	GT_CUDA_SYNC,     /* host or stream waits, or signals a waiter */
	GT_CUDA_ALLOC,    /* memory obtained, mapped, registered, imported; pools */
	GT_CUDA_FREE,
	GT_CUDA_STREAM,
	GT_CUDA_EVENT,
	GT_CUDA_GRAPH, /* capture, building, instantiation */
	GT_CUDA_CONTEXT,
	GT_CUDA_DEVICE,
	GT_CUDA_MODULE, /* modules, libraries, functions */
	GT_CUDA_MEMORY, /* attributes of memory, pools, arrays */
	GT_CUDA_TEXTURE,
	GT_CUDA_INTEROP, /* OpenGL, EGL, VDPAU, external semaphores */
	GT_CUDA_TOOL,    /* errors, occupancy, profiler control, entry points */
	GT_CUDA_CLASS_COUNT_
};

/* What a result says that an allocation may have ("out of memory"), the same of the runtime and the
 * driver. NULL: another one. */
const char *gt_cuda_result_words(int32_t result);

/* Properties of a call; see cuda_api.def. */
enum gt_cuda_flags {
	GT_CUDA_DEFAULT = 1 << 0,       /* in the default whitelist */
	GT_CUDA_ENQUEUES = 1 << 1,      /* starts work that CUPTI reports as a GPU operation */
	GT_CUDA_FLUSH_BEFORE = 1 << 2,  /* fetch all records at its entry */
	GT_CUDA_WAITS = 1 << 3,         /* returns after earlier GPU work has ended */
	GT_CUDA_WAITS_FOR_ALL = 1 << 4, /* ... of all streams of the device */
	GT_CUDA_BLOCKS = 1 << 5,        /* may wait for GPU work */
	GT_CUDA_PROFILER = 1 << 6,      /* starts or stops the profiler: --capture-range */
	GT_CUDA_KNOWN = 1 << 7,         /* set in every row; clear in the gaps between cbids */
};

/* One row of the table. */
struct gt_cuda_api {
	uint16_t name; /* see gt_cuda_api_name */
	uint8_t class; /* enum gt_cuda_class */
	uint8_t flags; /* enum gt_cuda_flags */
};

/* The row of a call, or NULL when this build does not know the cbid. O(1). */
const struct gt_cuda_api *gt_cuda_api_find(enum gt_api_domain domain, uint32_t cbid);

/* The name as users know it: "cudaLaunchKernel" also for the __cudaLaunchKernel of nvcc 13. */
const char *gt_cuda_api_name(const struct gt_cuda_api *api);

/* The name as the library exports it. */
const char *gt_cuda_api_symbol(const struct gt_cuda_api *api);

/* The end of the table: one more than the last cbid of a domain. */
uint32_t gt_cuda_api_end(enum gt_api_domain domain);

/* Whether a call asks for memory by extents, "cudaMallocPitch", so that it has no size of its own;
 * the size of one that failed may be in no record. */
bool gt_cuda_asks_by_extents(const char *call);

/* Bits per domain of a set; larger than any cbid. */
#define GT_CUDA_SET_BITS 1024

/* A set of calls, a bit per cbid. */
struct gt_cuda_set {
	uint64_t bits[GT_API_DOMAIN_COUNT_][GT_CUDA_SET_BITS / 64];
};

/* Fills the set with the known calls that have one of @flags: GT_CUDA_DEFAULT, GT_CUDA_ENQUEUES,
 * GT_CUDA_KNOWN (all). */
void gt_cuda_set_init(struct gt_cuda_set *set, unsigned int flags);

/* Fills the set with the known calls that have none of @flags. */
void gt_cuda_set_init_without(struct gt_cuda_set *set, unsigned int flags);

/* Adds a call; @cbid is below GT_CUDA_SET_BITS. */
static inline void gt_cuda_set_add(struct gt_cuda_set *set, enum gt_api_domain domain,
				   uint32_t cbid)
{
	set->bits[domain][cbid / 64] |= UINT64_C(1) << (cbid % 64);
}

/* Whether the call is in the set. O(1). */
static inline bool gt_cuda_set_has(const struct gt_cuda_set *set, enum gt_api_domain domain,
				   uint32_t cbid)
{
	return cbid < GT_CUDA_SET_BITS && (set->bits[domain][cbid / 64] >> (cbid % 64) & 1);
}

#endif
