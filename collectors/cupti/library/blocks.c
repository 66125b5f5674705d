/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "collectors/cupti/library/blocks.h"

#include <cupti.h>
#include <stddef.h>

#define CALLS_MAX 1024

/* 0: more than 64 bits; the driver refuses such sizes. */
static uint64_t product(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t bytes;

	return __builtin_mul_overflow(a, b, &bytes) || __builtin_mul_overflow(bytes, c, &bytes)
		       ? 0
		       : bytes;
}

static uint64_t at_least_one(uint64_t extent)
{
	return extent ? extent : 1;
}

/* Of an array; each level of a mipmapped one has half of the extents of the one before. */
static uint64_t levels_bytes(uint64_t texel, uint64_t width, uint64_t height, uint64_t depth,
			     unsigned int levels)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < levels && i < 32; i++)
		bytes += product(product(texel, at_least_one(width >> i), 1),
				 at_least_one(height >> i), at_least_one(depth >> i));
	return bytes;
}

static uint64_t array_bytes(const struct cudaChannelFormatDesc *desc, uint64_t width,
			    uint64_t height, uint64_t depth, unsigned int levels)
{
	uint64_t bits = (uint64_t)(uint32_t)desc->x + (uint32_t)desc->y + (uint32_t)desc->z +
			(uint32_t)desc->w;

	return levels_bytes(bits / 8, width, height, depth, levels);
}

/* 0: of a compressed format, or one of a newer driver. */
static uint64_t texel_bytes(CUarray_format format, unsigned int channels)
{
	switch ((int)format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return channels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2ull * channels;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4ull * channels;
	default:
		return 0;
	}
}

static uint64_t array3d_bytes(const CUDA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels)
{
	return levels_bytes(texel_bytes(desc->Format, desc->NumChannels), desc->Width, desc->Height,
			    desc->Depth, levels);
}

/* Physical memory may be of the host. */
static void place(const CUmemAllocationProp *prop, struct gt_block *b)
{
	if (prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE)
		b->device = (uint32_t)prop->location.id;
	else
		b->kind = GT_BLOCK_PINNED;
}

/* cudaGraphAddNode, whose parameters have other names in each version. */
typedef struct {
	cudaGraphNode_t *node;
	cudaGraph_t graph;
	const cudaGraphNode_t *dependencies;
	size_t count;
	struct cudaGraphNodeParams *params;
} any_node_before_v2_params;

typedef struct {
	cudaGraphNode_t *node;
	cudaGraph_t graph;
	const cudaGraphNode_t *dependencies;
	const void *edges;
	size_t count;
	struct cudaGraphNodeParams *params;
} any_node_params;

static void node_of(int type, const struct cudaMemAllocNodeParamsV2 *alloc, struct gt_block *b)
{
	if (type != cudaGraphNodeTypeMemAlloc) {
		b->op = GT_BLOCK_NOTHING;
		return;
	}
	b->address = (uintptr_t)alloc->dptr;
	b->bytes = alloc->bytesize;
}

/* A function a row: @p are the parameters. */
#define GT_BLOCK(domain, cbid, call, op_, kind_, set, asked)                                       \
	static void read_##domain##_##cbid(const void *parameters, bool failed,                    \
					   struct gt_block *b)                                     \
	{                                                                                          \
		const call##_params *p = parameters;                                               \
                                                                                                   \
		(void)p;                                                                           \
		b->op = GT_BLOCK_##op_;                                                            \
		b->kind = GT_BLOCK_##kind_;                                                        \
		if (failed) {                                                                      \
			asked;                                                                     \
		} else {                                                                           \
			set;                                                                       \
		}                                                                                  \
	}
#include "collectors/cupti/library/blocks.def"
#undef GT_BLOCK

static void (*const readers[GT_API_DOMAIN_COUNT_][CALLS_MAX])(const void *parameters, bool failed,
							      struct gt_block *b) = {
#define GT_BLOCK(domain, cbid, call, op, kind, set, asked)                                         \
	[GT_API_##domain][cbid] = read_##domain##_##cbid,
#include "collectors/cupti/library/blocks.def"
#undef GT_BLOCK
};

bool gt_cupti_has_block(enum gt_api_domain domain, uint32_t cbid)
{
	return cbid < CALLS_MAX && readers[domain][cbid];
}

/* Releasing and unmapping nothing is allowed. */
static bool is_nothing(const struct gt_block *block)
{
	return block->op == GT_BLOCK_NOTHING ||
	       ((block->op == GT_BLOCK_RELEASE || block->op == GT_BLOCK_UNMAP) && !block->address);
}

bool gt_cupti_block_of(enum gt_api_domain domain, uint32_t cbid, const void *parameters,
		       bool failed, struct gt_block *ret_block)
{
	if (!parameters || !gt_cupti_has_block(domain, cbid))
		return false;
	*ret_block = (struct gt_block){.device = GT_BLOCK_NO_DEVICE};
	readers[domain][cbid](parameters, failed, ret_block);
	return !is_nothing(ret_block);
}

bool gt_cupti_ends_blocks(enum gt_api_domain domain, uint32_t cbid)
{
	static const uint16_t cbids[GT_API_DOMAIN_COUNT_][4] = {
		[GT_API_RUNTIME] = {CUPTI_RUNTIME_TRACE_CBID_cudaThreadExit_v3020,
				    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceReset_v3020},
		[GT_API_DRIVER] = {CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2,
				   CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset,
				   CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2},
	};

	for (int i = 0; i < 4; i++)
		if (cbids[domain][i] && cbids[domain][i] == cbid)
			return true;
	return false;
}
