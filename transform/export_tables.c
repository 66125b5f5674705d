/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables and columns of an export, see export.h: those of nsys that a trace can fill.
 */
#include "transform/export.h"

static const struct gt_export_column kernel_columns[] = {
	{"start", GT_EXPORT_INT},
	{"end", GT_EXPORT_INT},
	{"deviceId", GT_EXPORT_INT},
	{"contextId", GT_EXPORT_INT},
	{"streamId", GT_EXPORT_INT},
	{"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT},
	{"demangledName", GT_EXPORT_NAME},
	{"shortName", GT_EXPORT_NAME},
	{"mangledName", GT_EXPORT_NAME},
	{"launchType", GT_EXPORT_INT},
	{"gridId", GT_EXPORT_INT},
	{"registersPerThread", GT_EXPORT_INT},
	{"gridX", GT_EXPORT_INT},
	{"gridY", GT_EXPORT_INT},
	{"gridZ", GT_EXPORT_INT},
	{"blockX", GT_EXPORT_INT},
	{"blockY", GT_EXPORT_INT},
	{"blockZ", GT_EXPORT_INT},
	{"staticSharedMemory", GT_EXPORT_INT},
	{"dynamicSharedMemory", GT_EXPORT_INT},
	{"localMemoryPerThread", GT_EXPORT_INT},
	{"localMemoryTotal", GT_EXPORT_INT},
	{"sharedMemoryExecuted", GT_EXPORT_INT},
	{"graphNodeId", GT_EXPORT_INT},
};

static const struct gt_export_column memcpy_columns[] = {
	{"start", GT_EXPORT_INT},          {"end", GT_EXPORT_INT},
	{"deviceId", GT_EXPORT_INT},       {"contextId", GT_EXPORT_INT},
	{"streamId", GT_EXPORT_INT},       {"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT},      {"bytes", GT_EXPORT_INT},
	{"copyKind", GT_EXPORT_INT},       {"srcKind", GT_EXPORT_INT},
	{"dstKind", GT_EXPORT_INT},        {"srcDeviceId", GT_EXPORT_INT},
	{"dstDeviceId", GT_EXPORT_INT},    {"graphNodeId", GT_EXPORT_INT},
	{"migrationCause", GT_EXPORT_INT}, {"virtualAddress", GT_EXPORT_INT},
};

static const struct gt_export_column memset_columns[] = {
	{"start", GT_EXPORT_INT},       {"end", GT_EXPORT_INT},
	{"deviceId", GT_EXPORT_INT},    {"contextId", GT_EXPORT_INT},
	{"streamId", GT_EXPORT_INT},    {"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT},   {"value", GT_EXPORT_INT},
	{"bytes", GT_EXPORT_INT},       {"memKind", GT_EXPORT_INT},
	{"graphNodeId", GT_EXPORT_INT},
};

static const struct gt_export_column graph_columns[] = {
	{"start", GT_EXPORT_INT},     {"end", GT_EXPORT_INT},      {"deviceId", GT_EXPORT_INT},
	{"contextId", GT_EXPORT_INT}, {"streamId", GT_EXPORT_INT}, {"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT}, {"graphId", GT_EXPORT_INT},
};

static const struct gt_export_column runtime_columns[] = {
	{"start", GT_EXPORT_INT},         {"end", GT_EXPORT_INT},
	{"eventClass", GT_EXPORT_INT},    {"globalTid", GT_EXPORT_INT},
	{"correlationId", GT_EXPORT_INT}, {"nameId", GT_EXPORT_NAME},
	{"returnValue", GT_EXPORT_INT},   {"callchainId", GT_EXPORT_INT},
};

static const struct gt_export_column sync_columns[] = {
	{"start", GT_EXPORT_INT},     {"end", GT_EXPORT_INT},      {"deviceId", GT_EXPORT_INT},
	{"contextId", GT_EXPORT_INT}, {"streamId", GT_EXPORT_INT}, {"correlationId", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT}, {"syncType", GT_EXPORT_INT}, {"eventId", GT_EXPORT_INT},
};

static const struct gt_export_column cpu_fault_columns[] = {
	{"start", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT},
	{"address", GT_EXPORT_INT},
	{"originalFaultPc", GT_EXPORT_INT},
	{"CpuInstruction", GT_EXPORT_NAME},
	{"module", GT_EXPORT_NAME},
	{"unresolvedFaultPc", GT_EXPORT_INT},
};

static const struct gt_export_column gpu_fault_columns[] = {
	{"start", GT_EXPORT_INT},           {"end", GT_EXPORT_INT},
	{"globalPid", GT_EXPORT_INT},       {"deviceId", GT_EXPORT_INT},
	{"address", GT_EXPORT_INT},         {"numberOfPageFaults", GT_EXPORT_INT},
	{"faultAccessType", GT_EXPORT_INT},
};

/* A row for each frame, innermost first. */
static const struct gt_export_column callchain_columns[] = {
	{"id", GT_EXPORT_INT},         {"symbol", GT_EXPORT_NAME},    {"module", GT_EXPORT_NAME},
	{"unresolved", GT_EXPORT_INT}, {"originalIP", GT_EXPORT_INT}, {"stackDepth", GT_EXPORT_INT},
};

static const struct gt_export_column nvtx_columns[] = {
	{"start", GT_EXPORT_INT},   {"end", GT_EXPORT_INT},       {"eventType", GT_EXPORT_INT},
	{"rangeId", GT_EXPORT_INT}, {"category", GT_EXPORT_INT},  {"color", GT_EXPORT_INT},
	{"text", GT_EXPORT_TEXT},   {"globalTid", GT_EXPORT_INT}, {"endGlobalTid", GT_EXPORT_INT},
	{"textId", GT_EXPORT_NAME}, {"domainId", GT_EXPORT_INT},
};

static const struct gt_export_column gpu_columns[] = {
	{"id", GT_EXPORT_INT},           {"name", GT_EXPORT_TEXT},
	{"totalMemory", GT_EXPORT_INT},  {"computeMajor", GT_EXPORT_INT},
	{"computeMinor", GT_EXPORT_INT}, {"smCount", GT_EXPORT_INT},
};

static const struct gt_export_column cuda_device_columns[] = {
	{"gpuId", GT_EXPORT_INT},
	{"cudaId", GT_EXPORT_INT},
	{"pid", GT_EXPORT_INT},
	{"uuid", GT_EXPORT_TEXT},
	{"numMultiprocessors", GT_EXPORT_INT},
};

static const struct gt_export_column process_columns[] = {
	{"globalPid", GT_EXPORT_INT},
	{"pid", GT_EXPORT_INT},
	{"name", GT_EXPORT_TEXT},
};

static const struct gt_export_column thread_columns[] = {
	{"nameId", GT_EXPORT_NAME},
	{"priority", GT_EXPORT_INT},
	{"globalTid", GT_EXPORT_INT},
};

#define TABLE(name, columns)                                                                       \
	{                                                                                          \
		name, columns, sizeof(columns) / sizeof(columns[0])                                \
	}

const struct gt_export_table gt_export_tables[GT_EXPORT_TABLE_COUNT_] = {
	[GT_EXPORT_KERNEL] = TABLE("CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns),
	[GT_EXPORT_MEMCPY] = TABLE("CUPTI_ACTIVITY_KIND_MEMCPY", memcpy_columns),
	[GT_EXPORT_MEMSET] = TABLE("CUPTI_ACTIVITY_KIND_MEMSET", memset_columns),
	[GT_EXPORT_GRAPH] = TABLE("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_columns),
	[GT_EXPORT_RUNTIME] = TABLE("CUPTI_ACTIVITY_KIND_RUNTIME", runtime_columns),
	[GT_EXPORT_SYNC] = TABLE("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync_columns),
	[GT_EXPORT_CPU_FAULT] = TABLE("CUDA_UM_CPU_PAGE_FAULT_EVENTS", cpu_fault_columns),
	[GT_EXPORT_GPU_FAULT] = TABLE("CUDA_UM_GPU_PAGE_FAULT_EVENTS", gpu_fault_columns),
	[GT_EXPORT_CALLCHAIN] = TABLE("CUDA_CALLCHAINS", callchain_columns),
	[GT_EXPORT_NVTX] = TABLE("NVTX_EVENTS", nvtx_columns),
	[GT_EXPORT_GPU] = TABLE("TARGET_INFO_GPU", gpu_columns),
	[GT_EXPORT_CUDA_DEVICE] = TABLE("TARGET_INFO_CUDA_DEVICE", cuda_device_columns),
	[GT_EXPORT_PROCESS] = TABLE("PROCESSES", process_columns),
	[GT_EXPORT_THREAD] = TABLE("ThreadNames", thread_columns),
};
