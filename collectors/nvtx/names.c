/* SPDX-License-Identifier: Apache-2.0
 *
 * Names of threads, devices, contexts and streams. A thread's name is also registered, so that a
 * name set before the session is found later. Application threads.
 */
#include <string.h>

#include "collectors/cupti/cupti.h"
#include "collectors/nvtx/internal.h"

static void register_thread(const struct gt_nvtx_call *call)
{
	struct gt_nvtx_key key = {.kind = GT_NVTX_THREAD,
				  .number = call->id,
				  .text = call->text,
				  .length = call->text_length};
	const struct gt_nvtx_object *known = gt_nvtx_find(&key);

	if (!known || known->length != key.length || memcmp(known->text, key.text, key.length))
		gt_nvtx_add(&key, NULL);
}

/* In the trace a stream has a number, which only CUPTI knows. */
static bool find_stream(struct gt_nvtx_call *call)
{
	uint32_t device, stream;

	if (gt_cupti_find_stream((void *)(uintptr_t)call->id, &device, &stream))
		return false;
	call->id = stream;
	call->value = device;
	return true;
}

static void name_it(struct gt_nvtx_call *call)
{
	if (!call->text)
		return;
	if (call->op == GT_NVTX_NAME_THREAD)
		register_thread(call);
	if (call->op != GT_NVTX_NAME_STREAM || find_stream(call))
		gt_nvtx_write(call);
}

static void name_a(enum gt_nvtx_op op, uint64_t id, const char *name)
{
	struct gt_nvtx_call call = {.op = op, .id = id};

	gt_nvtx_set_text(&call, name);
	name_it(&call);
}

static void name_w(enum gt_nvtx_op op, uint64_t id, const wchar_t *name)
{
	struct gt_nvtx_call call = {.op = op, .id = id};
	char room[GT_NVTX_NAME_MAX];

	gt_nvtx_set_wide(&call, name, room);
	name_it(&call);
}

void gt_nvtx_name_thread_a(uint32_t tid, const char *name)
{
	name_a(GT_NVTX_NAME_THREAD, tid, name);
}

void gt_nvtx_name_thread_w(uint32_t tid, const wchar_t *name)
{
	name_w(GT_NVTX_NAME_THREAD, tid, name);
}

static void name_device_a(int device, const char *name)
{
	name_a(GT_NVTX_NAME_DEVICE, (uint32_t)device, name);
}

static void name_device_w(int device, const wchar_t *name)
{
	name_w(GT_NVTX_NAME_DEVICE, (uint32_t)device, name);
}

static void name_context_a(void *context, const char *name)
{
	name_a(GT_NVTX_NAME_CONTEXT, (uintptr_t)context, name);
}

static void name_context_w(void *context, const wchar_t *name)
{
	name_w(GT_NVTX_NAME_CONTEXT, (uintptr_t)context, name);
}

static void name_stream_a(void *stream, const char *name)
{
	name_a(GT_NVTX_NAME_STREAM, (uintptr_t)stream, name);
}

static void name_stream_w(void *stream, const wchar_t *name)
{
	name_w(GT_NVTX_NAME_STREAM, (uintptr_t)stream, name);
}

/* What a resource type names; 0: nothing that has a track. */
static enum gt_nvtx_op op_of_resource(int32_t type)
{
	switch ((uint32_t)type) {
	case NVTX_RESOURCE_TYPE_GENERIC_THREAD_NATIVE:
		return GT_NVTX_NAME_THREAD;
	case NVTX_RESOURCE_TYPE_CUDA_DEVICE:
	case NVTX_RESOURCE_TYPE_CUDART_DEVICE:
		return GT_NVTX_NAME_DEVICE;
	case NVTX_RESOURCE_TYPE_CUDA_CONTEXT:
		return GT_NVTX_NAME_CONTEXT;
	case NVTX_RESOURCE_TYPE_CUDA_STREAM:
	case NVTX_RESOURCE_TYPE_CUDART_STREAM:
		return GT_NVTX_NAME_STREAM;
	}
	return 0;
}

void gt_nvtx_name_resource(const nvtxResourceAttributes_t *attributes)
{
	enum gt_nvtx_op op;

	if (attributes->size < sizeof(*attributes))
		return;
	op = op_of_resource(attributes->identifierType);
	if (op && attributes->messageType == NVTX_MESSAGE_TYPE_ASCII)
		name_a(op, attributes->identifier.ullValue, attributes->message.ascii);
	else if (op && attributes->messageType == NVTX_MESSAGE_TYPE_UNICODE)
		name_w(op, attributes->identifier.ullValue, attributes->message.unicode);
}

const struct gt_nvtx_slot gt_nvtx_cuda_slots[] = {
	GT_NVTX_SLOT(NVTX_CBID_CUDA_NameCuDeviceA, name_device_a),
	GT_NVTX_SLOT(NVTX_CBID_CUDA_NameCuDeviceW, name_device_w),
	GT_NVTX_SLOT(NVTX_CBID_CUDA_NameCuContextA, name_context_a),
	GT_NVTX_SLOT(NVTX_CBID_CUDA_NameCuContextW, name_context_w),
	GT_NVTX_SLOT(NVTX_CBID_CUDA_NameCuStreamA, name_stream_a),
	GT_NVTX_SLOT(NVTX_CBID_CUDA_NameCuStreamW, name_stream_w),
	{0},
};

const struct gt_nvtx_slot gt_nvtx_cudart_slots[] = {
	GT_NVTX_SLOT(NVTX_CBID_CUDART_NameCudaDeviceA, name_device_a),
	GT_NVTX_SLOT(NVTX_CBID_CUDART_NameCudaDeviceW, name_device_w),
	GT_NVTX_SLOT(NVTX_CBID_CUDART_NameCudaStreamA, name_stream_a),
	GT_NVTX_SLOT(NVTX_CBID_CUDART_NameCudaStreamW, name_stream_w),
	{0},
};
