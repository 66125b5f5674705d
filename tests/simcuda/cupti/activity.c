/* SPDX-License-Identifier: Apache-2.0
 *
 * The activity API besides buffers: which kinds are collected, reading records, and the questions
 * that a client may ask. Any thread.
 */
#include "cupti/cupti_sim.h"

#include <unistd.h>

static bool is_kind(uint32_t kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_NAME)
		return true;
	return kind < 60 && cupti_record_size(kind);
}

/* Kinds that exist and that nothing on the simulated device ever produces. */
static bool is_silent_kind(uint32_t kind)
{
	return kind == CUPTI_ACTIVITY_KIND_MARKER || kind == CUPTI_ACTIVITY_KIND_MARKER_DATA ||
	       kind == CUPTI_ACTIVITY_KIND_ENVIRONMENT || kind == CUPTI_ACTIVITY_KIND_MEMORY ||
	       kind == CUPTI_ACTIVITY_KIND_JIT || kind == CUPTI_ACTIVITY_KIND_MODULE ||
	       kind == CUPTI_ACTIVITY_KIND_FUNCTION || kind == CUPTI_ACTIVITY_KIND_PCIE ||
	       kind == CUPTI_ACTIVITY_KIND_NVLINK ||
	       kind == CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API;
}

static int domain_of(uint32_t kind)
{
	if (kind == CUPTI_ACTIVITY_KIND_RUNTIME)
		return SIM_RUNTIME;
	return kind == CUPTI_ACTIVITY_KIND_DRIVER ? SIM_DRIVER : 0;
}

static CUptiResult refuse(uint32_t kind)
{
	cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"enable\",\"kind\":%u}\n", kind);
	return cupti_fail(cupti.faults.enable[kind]);
}

/* The two ways to trace kernels exclude each other. */
static bool collides(uint32_t kind)
{
	return (kind == CUPTI_ACTIVITY_KIND_KERNEL &&
		cupti.kinds[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL]) ||
	       (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
		cupti.kinds[CUPTI_ACTIVITY_KIND_KERNEL]);
}

/* Enabling kernels late stalls the program for seconds (kineto#542). */
static void delay_enabling(uint32_t kind)
{
	uint64_t ns = cupti.faults.slow_enable;
	struct timespec pause = {.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};

	if (!ns || kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || !cupti.table->current_context())
		return;
	cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"slow_enable\",\"kind\":%u}\n", kind);
	nanosleep(&pause, NULL);
}

/* Until 13.0 Update 1. */
static void disable_kernels(uint32_t kind)
{
	if (!cupti.faults.first_release || kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
		return;
	cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"disable\",\"kind\":%u}\n", kind);
	for (;;)
		pause();
}

static CUptiResult set_kind(uint32_t kind, bool on)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (kind >= CUPTI_KINDS || (!is_kind(kind) && !is_silent_kind(kind)))
		return cupti_fail(CUPTI_ERROR_INVALID_KIND);
	if (on && cupti.faults.enable[kind])
		return refuse(kind);
	if (on && collides(kind))
		return cupti_fail(CUPTI_ERROR_NOT_COMPATIBLE);
	if (on)
		delay_enabling(kind);
	else
		disable_kernels(kind);
	if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
		cupti.table->truth("{\"truth\":\"graph_trace\",\"on\":%d}\n", (int)on);
	cupti.kinds[kind] = on;
	if (on && kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE)
		cupti.whole_graphs = true;
	if (domain_of(kind)) {
		cupti.table->want_call_times();
		cupti_switch_all(cupti.api_wanted[domain_of(kind)], SIM_MAX_CBID, on);
	}
	if (on)
		cupti_buffers_start_worker();
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind)
{
	return set_kind(kind, true);
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind)
{
	return set_kind(kind, false);
}

CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind)
{
	CUptiResult result = set_kind(kind, true);

	if (!result)
		cupti_dump(kind);
	return result;
}

CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return context ? set_kind(kind, true) : cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
}

CUptiResult CUPTIAPI cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind)
{
	return context ? set_kind(kind, false) : cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
}

static CUptiResult set_api(int domain, CUpti_CallbackId cbid, uint8_t enable)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!cbid || cbid >= SIM_MAX_CBID)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	cupti.table->want_call_times();
	cupti.api_wanted[domain][cbid] = enable != 0;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return set_api(SIM_RUNTIME, cbid, enable);
}

CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable)
{
	return set_api(SIM_DRIVER, cbid, enable);
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
						CUpti_Activity **record)
{
	size_t at = 0;

	if (!buffer || !record)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	if (*record)
		at = (size_t)((uint8_t *)*record - buffer) + cupti_record_size((*record)->kind);
	if (at >= valid)
		return cupti_fail(CUPTI_ERROR_MAX_LIMIT_REACHED);
	uint32_t kind = *(uint32_t *)(buffer + at);
	if (!cupti_record_size(kind) || at + cupti_record_size(kind) > valid)
		return cupti_fail(CUPTI_ERROR_INVALID_KIND);
	*record = (CUpti_Activity *)(buffer + at);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
		return cupti_fail(CUPTI_ERROR_NOT_SUPPORTED);
	cupti.thread_id_type = type;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType *type)
{
	if (!type)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	*type = cupti.thread_id_type;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc timestamp)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!timestamp)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	/* also in the middle of a session: the header calls it unwise, not refused */
	cupti_clock_set(timestamp);
	cupti_buffers_clear_times();
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable)
{
	CUptiResult result = cupti_check();

	if (!result)
		cupti.latency = enable != 0;
	return result;
}

/* Switches without an effect on what the simulated device produces. */
#define ACCEPT(name_)                                                                              \
	CUptiResult CUPTIAPI name_(uint8_t enable)                                                 \
	{                                                                                          \
		return cupti_check();                                                              \
	}

ACCEPT(cuptiActivityEnableLaunchAttributes)
ACCEPT(cuptiActivityEnableDeviceGraph)
ACCEPT(cuptiActivityEnableAllocationSource)
ACCEPT(cuptiActivityEnableAllSyncRecords)
ACCEPT(cuptiActivityEnableCudaEventDeviceTimestamps)

/* CUPTI_ACTIVITY_ATTR_ENABLE_HES of newer headers. */
#define ENABLE_HES 13

/* Accepted where it works on hardware: records are the same. */
CUptiResult CUPTIAPI cuptiActivityEnableHWTrace(uint8_t enable)
{
	CUptiResult result = cupti_check();

	if (result || !enable)
		return result;
	if (SIM_CUPTI_VERSION < 130401)
		return cupti_fail(CUPTI_ERROR_NOT_SUPPORTED);
	if (cupti.faults.hw_trace)
		return cupti_fail((CUptiResult)cupti.faults.hw_trace);
	cupti.table->truth("{\"truth\":\"attribute\",\"attribute\":%d,\"value\":%d}\n", ENABLE_HES,
			   (int)enable);
	cupti.hw_trace = true;
	return CUPTI_SUCCESS;
}

/* "Destroys and cleans up all the resources": whoever was subscribed, registered or had kinds
 * enabled is so no longer, and is not told. Buffers that were handed out do not come back; who
 * wants them flushes before. Any later call attaches CUPTI again. */
CUptiResult CUPTIAPI cuptiFinalize(void)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	cupti.table->truth("{\"truth\":\"fault\",\"fault\":\"finalize\"}\n");
	cupti_unsubscribe_all();
	for (int kind = 0; kind < CUPTI_KINDS; kind++)
		cupti.kinds[kind] = false;
	cupti.whole_graphs = false;
	cupti_switch_all(cupti.api_wanted[0], sizeof(cupti.api_wanted), false);
	cupti_pending_drop();
	cupti_buffers_drop();
	cupti.thread_id_type = CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT;
	cupti.latency = false;
	cupti_clock_set(NULL);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetContextId(CUcontext context, uint32_t *id)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!context || !id || !cupti.table->context_id(context))
		return cupti_fail(context ? CUPTI_ERROR_INVALID_PARAMETER
					  : CUPTI_ERROR_INVALID_CONTEXT);
	*id = cupti.table->context_id(context);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetDeviceId(CUcontext context, uint32_t *id)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	CUcontext in = context ? context : cupti.table->current_context();
	if (!id || cupti.table->context_device(in) < 0)
		return cupti_fail(CUPTI_ERROR_INVALID_CONTEXT);
	*id = (uint32_t)cupti.table->context_device(in);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetStreamIdEx(CUcontext context, CUstream stream, uint8_t per_thread,
					uint32_t *id)
{
	CUptiResult result = cupti_check();
	uint32_t found = result ? 0 : cupti.table->stream_id(context, stream, per_thread);

	if (result)
		return result;
	if (!id || !found)
		return cupti_fail(CUPTI_ERROR_INVALID_STREAM);
	*id = found;
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetStreamId(CUcontext context, CUstream stream, uint32_t *id)
{
	return cuptiGetStreamIdEx(context, stream, 0, id);
}

CUptiResult CUPTIAPI cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!graph || !id)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	*id = cupti.table->graph_id(graph);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetGraphExecId(CUgraphExec exec, uint32_t *id)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!exec || !id)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	*id = cupti.table->exec_id(exec);
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
	CUptiResult result = cupti_check();

	if (result)
		return result;
	if (!node || !id)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	*id = cupti.table->node_id(node);
	return CUPTI_SUCCESS;
}

static const char *const results[] = {
	"CUPTI_SUCCESS",
	"CUPTI_ERROR_INVALID_PARAMETER",
	"CUPTI_ERROR_INVALID_DEVICE",
	"CUPTI_ERROR_INVALID_CONTEXT",
	"CUPTI_ERROR_INVALID_EVENT_DOMAIN_ID",
	"CUPTI_ERROR_INVALID_EVENT_ID",
	"CUPTI_ERROR_INVALID_EVENT_NAME",
	"CUPTI_ERROR_INVALID_OPERATION",
	"CUPTI_ERROR_OUT_OF_MEMORY",
	"CUPTI_ERROR_HARDWARE",
	"CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT",
	"CUPTI_ERROR_API_NOT_IMPLEMENTED",
	"CUPTI_ERROR_MAX_LIMIT_REACHED",
	"CUPTI_ERROR_NOT_READY",
	"CUPTI_ERROR_NOT_COMPATIBLE",
	"CUPTI_ERROR_NOT_INITIALIZED",
	[CUPTI_ERROR_QUEUE_EMPTY] = "CUPTI_ERROR_QUEUE_EMPTY",
	[CUPTI_ERROR_INVALID_STREAM] = "CUPTI_ERROR_INVALID_STREAM",
	[CUPTI_ERROR_INVALID_KIND] = "CUPTI_ERROR_INVALID_KIND",
	[CUPTI_ERROR_DISABLED] = "CUPTI_ERROR_DISABLED",
	[CUPTI_ERROR_NOT_SUPPORTED] = "CUPTI_ERROR_NOT_SUPPORTED",
	[CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED] =
		"CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED",
	[CUPTI_ERROR_INSUFFICIENT_PRIVILEGES] = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
	[CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED] =
		"CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED",
};

CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text)
{
	CUptiResult started = cupti_check_started();

	if (started)
		return started;
	if (!text)
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	if (result == CUPTI_ERROR_UNKNOWN)
		return *text = "CUPTI_ERROR_UNKNOWN", CUPTI_SUCCESS;
	if (result >= sizeof(results) / sizeof(*results) || !results[result])
		return cupti_fail(CUPTI_ERROR_INVALID_PARAMETER);
	*text = results[result];
	return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetErrorMessage(CUptiResult result, const char **text)
{
	return cuptiGetResultString(result, text);
}
