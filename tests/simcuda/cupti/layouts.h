/* SPDX-License-Identifier: Apache-2.0
 *
 * The record structs of each CUPTI version, with their true sizes. CUPTI always writes its own
 * newest layout; the older ones come from NVIDIA's header of deprecated structs.
 */
#ifndef SIMCUDA_CUPTI_LAYOUTS_H
#define SIMCUDA_CUPTI_LAYOUTS_H

#include "cupti/cupti_sim.h"

#define LAYOUT(name_, struct_, size_)                                                              \
	typedef struct_ name_;                                                                     \
	_Static_assert(sizeof(struct_) == (size_), "size of " #struct_)

#if SIM_CUPTI_VERSION >= 130000
LAYOUT(cupti_kernel, CUpti_ActivityKernel10, 216);
LAYOUT(cupti_memory_pool, CUpti_ActivityMemoryPool3, 80);
#else
LAYOUT(cupti_memory_pool, CUpti_ActivityMemoryPool2, 72);
#endif
#if SIM_CUPTI_VERSION >= 19 && SIM_CUPTI_VERSION < 130000
LAYOUT(cupti_kernel, CUpti_ActivityKernel9, 208);
#elif SIM_CUPTI_VERSION < 19
LAYOUT(cupti_kernel, CUpti_ActivityKernel8, 200);
#endif

#if SIM_CUPTI_VERSION >= 26
LAYOUT(cupti_memcpy, CUpti_ActivityMemcpy6, 96);
LAYOUT(cupti_sync, CUpti_ActivitySynchronization2, 56);
LAYOUT(cupti_event, CUpti_ActivityCudaEvent2, 56);
LAYOUT(cupti_context, CUpti_ActivityContext3, 32);
#else
LAYOUT(cupti_memcpy, CUpti_ActivityMemcpy5, 88);
LAYOUT(cupti_sync, CUpti_ActivitySynchronization, 40);
LAYOUT(cupti_event, CUpti_ActivityCudaEvent, 24);
#endif

#if SIM_CUPTI_VERSION >= 24
LAYOUT(cupti_memory, CUpti_ActivityMemory4, 128);
#else
LAYOUT(cupti_memory, CUpti_ActivityMemory3, 120);
#endif

#if SIM_CUPTI_VERSION >= 22
LAYOUT(cupti_overhead, CUpti_ActivityOverhead3, 56);
LAYOUT(cupti_graph_trace, CUpti_ActivityGraphTrace2, 56);
LAYOUT(cupti_device, CUpti_ActivityDevice5, 184);
#else
LAYOUT(cupti_overhead, CUpti_ActivityOverhead, 40);
LAYOUT(cupti_graph_trace, CUpti_ActivityGraphTrace, 48);
LAYOUT(cupti_device, CUpti_ActivityDevice4, 176);
LAYOUT(cupti_context, CUpti_ActivityContext, 16);
#endif
#if SIM_CUPTI_VERSION >= 22 && SIM_CUPTI_VERSION < 26
LAYOUT(cupti_context, CUpti_ActivityContext2, 24);
#endif

#if SIM_CUPTI_VERSION >= 26
LAYOUT(cupti_unified, CUpti_ActivityUnifiedMemoryCounter3, 104);
#else
LAYOUT(cupti_unified, CUpti_ActivityUnifiedMemoryCounter2, 64);
#endif

LAYOUT(cupti_memcpy_peer, CUpti_ActivityMemcpyPtoP4, 96);
LAYOUT(cupti_memset, CUpti_ActivityMemset4, 88);
LAYOUT(cupti_api, CUpti_ActivityAPI, 40);
LAYOUT(cupti_external, CUpti_ActivityExternalCorrelation, 24);
LAYOUT(cupti_device_attribute, CUpti_ActivityDeviceAttribute, 24);
LAYOUT(cupti_stream, CUpti_ActivityStream, 24);

#if SIM_CUPTI_VERSION >= 130100
/* Kinds that are newer than the header of some toolkits. */
#define HOST_NODE_KIND   56
#define HOST_LAUNCH_KIND 58
struct cupti_host_node_record {
	uint32_t kind, streamId, contextId, deviceId, correlationId, graphId;
	uint64_t graphNodeId;
	uint32_t processId, threadId;
	uint64_t start, end;
};
LAYOUT(cupti_host_node, struct cupti_host_node_record, 56);
struct cupti_host_launch_record {
	uint32_t kind, streamId, contextId, deviceId, correlationId, processId, threadId, padding;
	uint64_t start, end;
};
LAYOUT(cupti_host_launch, struct cupti_host_launch_record, 48);
#endif

/* A kind that no version of today has: for the unknown_kind switch. */
#define UNKNOWN_KIND 60
struct cupti_unknown_record {
	uint32_t kind;
	uint8_t bytes[60];
};
LAYOUT(cupti_unknown, struct cupti_unknown_record, 64);

#endif
