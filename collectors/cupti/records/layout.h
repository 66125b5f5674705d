/* SPDX-License-Identifier: Apache-2.0
 *
 * The record layouts that we read: those of CUPTI 11.8, the oldest supported. Records only grow at
 * their end, and every newer CUPTI keeps these offsets (checked for 11.8 to 13.5 by
 * tests/compat/real_cupti.py). The asserts check the toolkit that we are built with; newer fields
 * are read behind a version check in translate.c.
 */
#ifndef GT_COLLECTORS_CUPTI_RECORDS_LAYOUT_H
#define GT_COLLECTORS_CUPTI_RECORDS_LAYOUT_H

#include <stddef.h>

#include <cupti.h>

#define GT_AT(type, field, offset)                                                                 \
	_Static_assert(offsetof(type, field) == (offset), #type "." #field " has moved")

GT_AT(CUpti_ActivityKernel8, registersPerThread, 6);
GT_AT(CUpti_ActivityKernel8, start, 16);
GT_AT(CUpti_ActivityKernel8, end, 24);
GT_AT(CUpti_ActivityKernel8, deviceId, 40);
GT_AT(CUpti_ActivityKernel8, contextId, 44);
GT_AT(CUpti_ActivityKernel8, streamId, 48);
GT_AT(CUpti_ActivityKernel8, gridX, 52);
GT_AT(CUpti_ActivityKernel8, blockX, 64);
GT_AT(CUpti_ActivityKernel8, staticSharedMemory, 76);
GT_AT(CUpti_ActivityKernel8, dynamicSharedMemory, 80);
GT_AT(CUpti_ActivityKernel8, localMemoryPerThread, 84);
GT_AT(CUpti_ActivityKernel8, correlationId, 92);
GT_AT(CUpti_ActivityKernel8, name, 104);
GT_AT(CUpti_ActivityKernel8, queued, 120);
GT_AT(CUpti_ActivityKernel8, submitted, 128);
GT_AT(CUpti_ActivityKernel8, launchType, 136);
GT_AT(CUpti_ActivityKernel8, sharedMemoryExecuted, 140);
GT_AT(CUpti_ActivityKernel8, graphNodeId, 144);
GT_AT(CUpti_ActivityKernel8, graphId, 156);
GT_AT(CUpti_ActivityKernel8, channelID, 168);
GT_AT(CUpti_ActivityKernel8, channelType, 172);
GT_AT(CUpti_ActivityKernel8, clusterX, 176);
GT_AT(CUpti_ActivityMemcpy5, copyKind, 4);
GT_AT(CUpti_ActivityMemcpy5, bytes, 8);
GT_AT(CUpti_ActivityMemcpy5, start, 16);
GT_AT(CUpti_ActivityMemcpy5, deviceId, 32);
GT_AT(CUpti_ActivityMemcpy5, correlationId, 44);
GT_AT(CUpti_ActivityMemcpy5, graphNodeId, 64);
GT_AT(CUpti_ActivityMemcpy5, graphId, 72);
GT_AT(CUpti_ActivityMemcpy5, channelID, 76);
GT_AT(CUpti_ActivityMemcpyPtoP4, bytes, 8);
GT_AT(CUpti_ActivityMemcpyPtoP4, srcDeviceId, 44);
GT_AT(CUpti_ActivityMemcpyPtoP4, dstDeviceId, 52);
GT_AT(CUpti_ActivityMemcpyPtoP4, correlationId, 60);
GT_AT(CUpti_ActivityMemcpyPtoP4, graphNodeId, 72);
GT_AT(CUpti_ActivityMemcpyPtoP4, channelID, 84);
GT_AT(CUpti_ActivityMemset4, value, 4);
GT_AT(CUpti_ActivityMemset4, bytes, 8);
GT_AT(CUpti_ActivityMemset4, correlationId, 44);
GT_AT(CUpti_ActivityMemset4, memoryKind, 50);
GT_AT(CUpti_ActivityMemset4, graphNodeId, 64);
GT_AT(CUpti_ActivityMemset4, channelID, 76);
GT_AT(CUpti_ActivityGraphTrace, correlationId, 4);
GT_AT(CUpti_ActivityGraphTrace, start, 8);
GT_AT(CUpti_ActivityGraphTrace, end, 16);
GT_AT(CUpti_ActivityGraphTrace, deviceId, 24);
GT_AT(CUpti_ActivityGraphTrace, graphId, 28);
GT_AT(CUpti_ActivityGraphTrace, contextId, 32);
GT_AT(CUpti_ActivityGraphTrace, streamId, 36);
GT_AT(CUpti_ActivitySynchronization, type, 4);
GT_AT(CUpti_ActivitySynchronization, start, 8);
GT_AT(CUpti_ActivitySynchronization, correlationId, 24);
GT_AT(CUpti_ActivitySynchronization, cudaEventId, 36);
GT_AT(CUpti_ActivityOverhead, overheadKind, 4);
GT_AT(CUpti_ActivityOverhead, objectId, 12);
GT_AT(CUpti_ActivityOverhead, start, 24);
GT_AT(CUpti_ActivityOverhead3, correlationId, 40);
GT_AT(CUpti_ActivityMemory3, timestamp, 32);
GT_AT(CUpti_ActivityMemory3, deviceId, 52);
GT_AT(CUpti_ActivityMemory3, memoryPoolConfig, 80);
GT_AT(CUpti_ActivityMemoryPool2, deviceId, 20);
GT_AT(CUpti_ActivityMemoryPool2, address, 32);
GT_AT(CUpti_ActivityMemoryPool2, size, 40);
GT_AT(CUpti_ActivityMemoryPool2, timestamp, 56);
GT_AT(CUpti_ActivityDevice4, globalMemorySize, 16);
GT_AT(CUpti_ActivityDevice4, numMultiprocessors, 44);
GT_AT(CUpti_ActivityDevice4, computeCapabilityMajor, 104);
GT_AT(CUpti_ActivityDevice4, id, 112);
GT_AT(CUpti_ActivityDevice4, name, 136);
GT_AT(CUpti_ActivityContext, contextId, 4);
GT_AT(CUpti_ActivityContext, nullStreamId, 14);
GT_AT(CUpti_ActivityStream, streamId, 8);
GT_AT(CUpti_ActivityStream, priority, 12);
GT_AT(CUpti_ActivityUnifiedMemoryCounter2, counterKind, 4);
GT_AT(CUpti_ActivityUnifiedMemoryCounter2, value, 8);
GT_AT(CUpti_ActivityUnifiedMemoryCounter2, start, 16);
GT_AT(CUpti_ActivityUnifiedMemoryCounter2, end, 24);
GT_AT(CUpti_ActivityUnifiedMemoryCounter2, address, 32);
GT_AT(CUpti_ActivityUnifiedMemoryCounter2, srcId, 40);
GT_AT(CUpti_ActivityUnifiedMemoryCounter2, dstId, 44);
GT_AT(CUpti_ActivityUnifiedMemoryCounter2, flags, 56);
GT_AT(CUpti_ActivityCudaEvent, eventId, 16);

/* Since 12.8 a recording of a CUDA event and a wait for it share an id, which only they have. */
#define GT_CUPTI_SYNC_ID_SINCE        26u
#define GT_CUPTI_SYNC_ID_OF_RECORDING 48
#define GT_CUPTI_SYNC_ID_OF_WAIT      40
#if CUPTI_API_VERSION >= 26
GT_AT(CUpti_ActivityCudaEvent2, cudaEventSyncId, 48);
GT_AT(CUpti_ActivitySynchronization2, cudaEventSyncId, 40);
#endif

/*
 * The time for which a stream waited for a function on the host: since 13.1, and not in every
 * toolkit's header. Times of 0 are not known.
 */
#define GT_CUPTI_HOST_SINCE       130100u
#define GT_CUPTI_KIND_HOST_NODE   56 /* CUPTI_ACTIVITY_KIND_GRAPH_HOST_NODE */
#define GT_CUPTI_KIND_HOST_LAUNCH 58 /* CUPTI_ACTIVITY_KIND_HOST_LAUNCH */

/* CUpti_ActivityGraphHostNode */
struct gt_cupti_host_node {
	uint32_t kind, stream, context, device, correlation, graph;
	uint64_t node;
	uint32_t process, thread;
	uint64_t start, end;
};

/* CUpti_ActivityHostLaunch */
struct gt_cupti_host_launch {
	uint32_t kind, stream, context, device, correlation, process, thread, padding;
	uint64_t start, end;
};

/* GT_LIKE(ours, field, CUPTI's struct without its prefix, its field, offset) */
#define GT_LIKE(type, field, theirs, their_field, offset)                                          \
	_Static_assert(offsetof(struct type, field) == (offset), #theirs "." #their_field)

GT_LIKE(gt_cupti_host_node, stream, GraphHostNode, streamId, 4);
GT_LIKE(gt_cupti_host_node, context, GraphHostNode, contextId, 8);
GT_LIKE(gt_cupti_host_node, device, GraphHostNode, deviceId, 12);
GT_LIKE(gt_cupti_host_node, correlation, GraphHostNode, correlationId, 16);
GT_LIKE(gt_cupti_host_node, graph, GraphHostNode, graphId, 20);
GT_LIKE(gt_cupti_host_node, node, GraphHostNode, graphNodeId, 24);
GT_LIKE(gt_cupti_host_node, thread, GraphHostNode, threadId, 36);
GT_LIKE(gt_cupti_host_node, start, GraphHostNode, start, 40);
GT_LIKE(gt_cupti_host_node, end, GraphHostNode, end, 48);
GT_LIKE(gt_cupti_host_launch, stream, HostLaunch, streamId, 4);
GT_LIKE(gt_cupti_host_launch, context, HostLaunch, contextId, 8);
GT_LIKE(gt_cupti_host_launch, device, HostLaunch, deviceId, 12);
GT_LIKE(gt_cupti_host_launch, correlation, HostLaunch, correlationId, 16);
GT_LIKE(gt_cupti_host_launch, thread, HostLaunch, threadId, 24);
GT_LIKE(gt_cupti_host_launch, start, HostLaunch, start, 32);
GT_LIKE(gt_cupti_host_launch, end, HostLaunch, end, 40);

#undef GT_LIKE
#undef GT_AT

#endif
