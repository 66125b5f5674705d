/* SPDX-License-Identifier: Apache-2.0
 *
 * Words in memory that streams write and wait for. A write has its place in the stream and its
 * effect at once; a wait never holds the stream back, as nothing here writes in another order.
 */
#include "driver/driver.h"

#include <string.h>

static CUresult put(CUstream handle, CUdeviceptr address, uint64_t value, size_t bytes)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);
	struct sim_work empty = {.kind = SIM_WORK_EMPTY};

	if (result)
		return result;
	if (!address || address % bytes)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy((void *)address, &value, bytes);
	return sim_submit(stream, &empty);
}

static CUresult await(CUstream handle, CUdeviceptr address, size_t bytes)
{
	struct CUstream_st *stream;
	CUresult result = sim_stream_find(handle, &stream);
	struct sim_work empty = {.kind = SIM_WORK_EMPTY};

	if (result)
		return result;
	return address && !(address % bytes) ? sim_submit(stream, &empty)
					     : CUDA_ERROR_INVALID_VALUE;
}

#define VALUE(bits_, version_)                                                                     \
	CUresult sim_cuStreamWriteValue##bits_##version_(                                          \
		CUstream stream, CUdeviceptr address, cuuint##bits_##_t value, unsigned int flags) \
	{                                                                                          \
		return put(stream, address, value, sizeof(value));                                 \
	}                                                                                          \
	CUresult sim_cuStreamWaitValue##bits_##version_(                                           \
		CUstream stream, CUdeviceptr address, cuuint##bits_##_t value, unsigned int flags) \
	{                                                                                          \
		return await(stream, address, sizeof(value));                                      \
	}

VALUE(32, )
VALUE(32, _v2)
VALUE(64, )
VALUE(64, _v2)

static CUresult run(CUstream stream, const CUstreamBatchMemOpParams *op)
{
	switch ((int)op->operation) {
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return put(stream, op->writeValue.address, op->writeValue.value, 4);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return put(stream, op->writeValue.address, op->writeValue.value64, 8);
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return await(stream, op->waitValue.address, 4);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return await(stream, op->waitValue.address, 8);
	default:
		return CUDA_SUCCESS; /* barriers and flushes of remote writes */
	}
}

CUresult sim_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
				   CUstreamBatchMemOpParams *list, unsigned int flags)
{
	CUresult result = list || !count ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (unsigned int i = 0; i < count && !result; i++)
		result = run(stream, &list[i]);
	return result;
}

CUresult sim_cuStreamBatchMemOp(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *list,
				unsigned int flags)
{
	return sim_cuStreamBatchMemOp_v2(stream, count, list, flags);
}
