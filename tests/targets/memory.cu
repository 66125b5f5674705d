/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of each kind, with a peak and a leak of known sizes, and calls that fail. It prints what
 * `gputrace memory` is to find, as JSON. See test_memory.py.
 */
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>

#define MB         ((size_t)1 << 20)
#define STEPS      5
#define PEAK_STEP  3
#define WEIGHTS    (8 * MB + 4096)
#define LEAK       (MB + 1024)
#define ACTIVATION (16 * MB)
#define PEAK       (64 * MB + 512)
#define IMPOSSIBLE ((size_t)1 << 50)

#define CHECK(call)                                                                                \
	do {                                                                                       \
		int error_ = (int)(call);                                                          \
		if (error_) {                                                                      \
			fprintf(stderr, "%s: %d\n", #call, error_);                                \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

/* Of each its own function, so that each has its own line in a stack. */
#define NOINLINE static __attribute__((noinline))

NOINLINE void *load_weights(void)
{
	void *memory;

	CHECK(cudaMalloc(&memory, WEIGHTS));
	return memory;
}

NOINLINE void leak(void)
{
	void *memory;

	CHECK(cudaMalloc(&memory, LEAK));
}

NOINLINE void *activations(size_t bytes)
{
	void *memory;

	CHECK(cudaMalloc(&memory, bytes));
	return memory;
}

NOINLINE void step(int i)
{
	nvtxRangePushA("step");
	void *memory = activations(i == PEAK_STEP ? PEAK : ACTIVATION);
	leak();
	CHECK(cudaFree(memory));
	nvtxRangePop();
}

/* Stream-ordered, managed, pinned, pitched memory and an array: all of it is released. */
NOINLINE void other_kinds(cudaStream_t stream)
{
	cudaChannelFormatDesc texel = cudaCreateChannelDesc<float4>();
	void *pooled, *managed, *pinned, *pitched;
	cudaArray_t array;
	size_t pitch;

	CHECK(cudaMallocAsync(&pooled, 3 * MB, stream));
	CHECK(cudaMallocManaged(&managed, 2 * MB));
	CHECK(cudaHostAlloc(&pinned, 5 * MB, 0));
	CHECK(cudaMallocPitch(&pitched, &pitch, 1000, 100));
	CHECK(cudaMallocArray(&array, &texel, 64, 32));
	CHECK(cudaFreeArray(array));
	CHECK(cudaFree(pitched));
	CHECK(cudaFreeHost(pinned));
	CHECK(cudaFree(managed));
	CHECK(cudaFreeAsync(pooled, stream));
	CHECK(cudaFree(NULL));
}

/* The handle goes first, the memory with its mapping. */
NOINLINE void virtual_memory(void)
{
	CUmemAllocationProp prop = {};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	CHECK(cuMemAddressReserve(&address, 4 * MB, 0, 0, 0));
	CHECK(cuMemCreate(&handle, 4 * MB, &prop, 0));
	CHECK(cuMemMap(address, 4 * MB, 0, handle, 0));
	CHECK(cuMemRelease(handle));
	CHECK(cuMemUnmap(address, 4 * MB));
	CHECK(cuMemAddressFree(address, 4 * MB));
}

/* A captured allocation and one that is added: their memory comes with launches of the graph. */
NOINLINE void graph_memory(cudaStream_t stream)
{
	cudaMemAllocNodeParams params = {};
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	void *memory;

	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	CHECK(cudaMallocAsync(&memory, 6 * MB, stream));
	CHECK(cudaMemsetAsync(memory, 0, MB, stream));
	CHECK(cudaFreeAsync(memory, stream));
	CHECK(cudaStreamEndCapture(stream, &graph));
	params.poolProps.allocType = cudaMemAllocationTypePinned;
	params.poolProps.location.type = cudaMemLocationTypeDevice;
	params.bytesize = 7 * MB;
	CHECK(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &params));
	CHECK(cudaGraphAddMemFreeNode(&node, graph, &node, 1, params.dptr));
	CHECK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 3; i++)
		CHECK(cudaGraphLaunch(exec, stream));
	CHECK(cudaStreamSynchronize(stream));
}

static void *release(void *memory)
{
	CHECK(cudaFree(memory));
	return NULL;
}

/* Another thread releases what this one has allocated. */
NOINLINE void hand_over(void)
{
	pthread_t thread;
	void *memory;

	for (int i = 0; i < 20; i++) {
		CHECK(cudaMalloc(&memory, MB));
		pthread_create(&thread, NULL, release, memory);
		pthread_join(thread, NULL);
	}
}

NOINLINE void wrong_calls(void *weights)
{
	void *none;

	if (cudaMalloc(&none, IMPOSSIBLE) == cudaSuccess)
		exit(1);
	CHECK(cudaFree(weights));
	if (cudaFree(weights) == cudaSuccess) /* a second time */
		exit(1);
	if (cudaFree((void *)0x1000) == cudaSuccess) /* nobody's */
		exit(1);
	cudaGetLastError();
}

int main(void)
{
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	void *weights = load_weights();
	for (int i = 0; i < STEPS; i++)
		step(i);
	other_kinds(stream);
	CHECK(cudaStreamSynchronize(stream));
	graph_memory(stream);
	virtual_memory();
	hand_over();
	wrong_calls(weights);
	printf("{\"peak\": %zu, \"weights\": %zu, \"leak\": %zu, \"steps\": %d, \"activations\": "
	       "%zu}\n",
	       WEIGHTS + PEAK_STEP * LEAK + PEAK + LEAK, (size_t)WEIGHTS, (size_t)LEAK, STEPS,
	       (size_t)PEAK);
	return 0;
}
