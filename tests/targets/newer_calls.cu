/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of the runtime that came after 13.0, as a program declares them whose toolkit is older than
 * its runtime.
 */
#include "tests/targets/expect.h"

#define BYTES 4096

struct cudaExecutionContext_st;

extern "C" {
#define WEAK __attribute__((weak))
cudaError_t cudaDeviceGetExecutionCtx(cudaExecutionContext_st **context, int device) WEAK;
cudaError_t cudaExecutionCtxStreamCreate(cudaStream_t *stream, cudaExecutionContext_st *context,
					 unsigned int flags, int priority) WEAK;
cudaError_t cudaExecutionCtxSynchronize(cudaExecutionContext_st *context) WEAK;
cudaError_t cudaExecutionCtxRecordEvent(cudaExecutionContext_st *context, cudaEvent_t event) WEAK;
cudaError_t cudaExecutionCtxWaitEvent(cudaExecutionContext_st *context, cudaEvent_t event) WEAK;
cudaError_t cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t function, void *data,
				  unsigned int mode) WEAK;
cudaError_t cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size,
					  cudaMemcpyAttributes *attributes,
					  cudaStream_t stream) WEAK;
cudaError_t cudaMemcpyWithAttributesAsync_ptsz(void *dst, const void *src, size_t size,
					       cudaMemcpyAttributes *attributes,
					       cudaStream_t stream) WEAK;
cudaError_t cudaMemcpy3DWithAttributesAsync(cudaMemcpy3DBatchOp *op, unsigned long long flags,
					    cudaStream_t stream) WEAK;
}

static int host_functions;

static void CUDART_CB host_function(void *)
{
	host_functions++;
}

__attribute__((noinline)) void copy(char *to, const char *from, cudaStream_t stream)
{
	cudaMemcpyAttributes attributes = {};

	attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	CHECK(cudaMemcpyWithAttributesAsync(to, from, BYTES, &attributes, stream));
	CHECK(cudaMemcpyWithAttributesAsync_ptsz(to, from, BYTES, &attributes, stream));
}

__attribute__((noinline)) void copy_box(char *to, char *from, cudaStream_t stream)
{
	cudaMemcpy3DBatchOp op = {};

	op.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
	op.src.type = op.dst.type = cudaMemcpyOperandTypePointer;
	op.src.op.ptr.ptr = from;
	op.dst.op.ptr.ptr = to;
	op.extent = make_cudaExtent(BYTES / 2, 1, 1);
	CHECK(cudaMemcpy3DWithAttributesAsync(&op, 0, stream));
}

int main()
{
	cudaExecutionContext_st *context;
	cudaStream_t stream;
	cudaEvent_t event;
	char *from, *to;

	CHECK(cudaDeviceGetExecutionCtx(&context, 0));
	CHECK(cudaExecutionCtxStreamCreate(&stream, context, cudaStreamNonBlocking, 0));
	CHECK(cudaEventCreate(&event));
	CHECK(cudaMalloc(&from, BYTES));
	CHECK(cudaMalloc(&to, BYTES));
	copy(to, from, stream);
	copy_box(to, from, stream);
	CHECK(cudaLaunchHostFunc_v2(stream, host_function, NULL, 0));
	CHECK(cudaExecutionCtxRecordEvent(context, event));
	CHECK(cudaExecutionCtxWaitEvent(context, event));
	CHECK(cudaExecutionCtxSynchronize(context));
	CHECK(host_functions != 1);

	expect_memcpy("DtoD", BYTES, 2, "copy(char*, char const*, CUstream_st*)");
	expect_memcpy("DtoD", BYTES / 2, 1, "copy_box(char*, char*, CUstream_st*)");
	expect_call("cudaExecutionCtxStreamCreate", 1);
	expect_call("cudaMemcpyWithAttributesAsync", 2); /* the other one's name ends in _ptsz */
	expect_call("cudaMemcpy3DWithAttributesAsync", 1);
	expect_call("cudaLaunchHostFunc_v2", 1);
	expect_call("cudaExecutionCtxRecordEvent", 1);
	expect_call("cudaExecutionCtxWaitEvent", 1);
	expect_call("cudaExecutionCtxSynchronize", 1);
	return 0;
}
