/* SPDX-License-Identifier: Apache-2.0
 *
 * How others get at the driver: the private table for the two other simulated libraries,
 * and the error names.
 */
#include "driver/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int device_count(void)
{
	return sim_device_count;
}

static const struct sim_device_facts *device_facts(int ordinal)
{
	struct sim_device *device = sim_device_find(ordinal);

	return device ? device->facts : NULL;
}

static bool in_init(void)
{
	return sim_self.in_init;
}

static uint32_t context_id(CUcontext context)
{
	return sim_context_valid(context) ? context->id : 0;
}

static int context_device(CUcontext context)
{
	return sim_context_valid(context) ? context->device->ordinal : -1;
}

static uint32_t stream_id(CUcontext context, CUstream handle, bool per_thread)
{
	struct CUctx_st *in = context ? context : sim_context_current();
	struct CUstream_st *stream =
		sim_context_valid(in) ? sim_stream_in(in, handle, per_thread) : NULL;

	return stream ? stream->id : 0;
}

static uint64_t done_until(void)
{
	return sim_options.virtual_time ? UINT64_MAX : sim_now();
}

static const char *symbol_of(CUfunction function)
{
	return sim_symbol_of(function);
}

/* Only NVIDIA's driver has the tables that its static runtime, which libraries of others carry as
 * well, asks for: the calls through that runtime fail, and this says why. Once an object. */
static void tell_private(const void *caller)
{
	static const void *_Atomic told[16];
	static _Atomic unsigned int count;
	char line[600];
	Dl_info info;

	if (!dladdr(caller, &info) || !info.dli_fname || strstr(info.dli_fname, "/libcupti.so."))
		return;
	for (unsigned int i = 0; i < count && i < 16; i++)
		if (told[i] == info.dli_fbase)
			return;
	unsigned int slot = atomic_fetch_add(&count, 1);
	if (slot >= 16)
		return;
	told[slot] = info.dli_fbase;
	int length = snprintf(line, sizeof(line),
			      "simcuda: %s has NVIDIA's static CUDA runtime inside, which runs on "
			      "NVIDIA's driver only: its CUDA calls fail\n",
			      info.dli_fname);
	if (length > 0 && write(STDERR_FILENO, line, strlen(line)) < 0)
		sim_log("simcuda: a static CUDA runtime asked for a private table\n");
}

static const struct sim_table table = {
	.watching = &sim_watching,
	.call_enter = sim_call_enter,
	.call_exit = sim_call_exit,
	.symbol_of = symbol_of,
	.set_client = sim_set_client,
	.want_call_times = sim_want_call_times,
	.now = sim_now,
	.done_until = done_until,
	.truth = sim_truth,
	.truth_is_on = &sim_truth_on,
	.driver_ready = sim_is_ready,
	.driver_gone = sim_is_gone,
	.in_init = in_init,
	.device_count = device_count,
	.device_facts = device_facts,
	.device_uuid = sim_device_uuid,
	.current_correlation = sim_current_correlation,
	.context_id = context_id,
	.context_device = context_device,
	.current_context = sim_context_current,
	.stream_id = stream_id,
	.graph_id = sim_graph_id,
	.exec_id = sim_exec_id,
	.node_id = sim_node_id,
	.walk = sim_contexts_walk,
	.meet = sim_meeting_next,
};

__attribute__((visibility("default"))) CUresult CUDAAPI cuGetExportTable(const void **ret_table,
									 const CUuuid *id)
{
	static const CUuuid ours = SIM_TABLE_UUID;
	static const CUuuid tools = {
		"\x7c\xb6\x3f\x9b\x9c\xa4\x8e\x42\xa4\x84\xbe\xb6\x6e\x6a\xed\x7f"};
	static const size_t no_functions = sizeof(no_functions);

	if (!ret_table || !id)
		return CUDA_ERROR_INVALID_VALUE;
	/* what the real CUPTI asks for first; it would call what it finds there */
	if (!memcmp(id, &tools, sizeof(tools))) {
		if (sim_driver_version < 13020)
			return CUDA_ERROR_NOT_SUPPORTED;
		*ret_table = &no_functions;
		return CUDA_SUCCESS;
	}
	if (memcmp(id, &ours, sizeof(ours))) {
		tell_private(__builtin_return_address(0));
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	*ret_table = &table;
	return CUDA_SUCCESS;
}

static const struct {
	CUresult code;
	const char *name;
	const char *text;
} errors[] = {
	{CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
	{CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	{CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	{CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	{CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	{CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	{CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	{CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	{CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	{CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	{CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
	{CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
	{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
	 "operation not permitted when stream is capturing"},
};

CUresult sim_cuGetErrorName(CUresult error, const char **name)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].code == error)
			return *name = errors[i].name, CUDA_SUCCESS;
	*name = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult sim_cuGetErrorString(CUresult error, const char **text)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (errors[i].code == error)
			return *text = errors[i].text, CUDA_SUCCESS;
	*text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

__attribute__((visibility("default"))) CUresult CUDAAPI cuProfilerInitialize(const char *config,
									     const char *output,
									     CUoutput_mode mode)
{
	return sim_check_ready();
}
