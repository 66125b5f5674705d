// SPDX-License-Identifier: Apache-2.0
//
// libc10.so with the one function of PyTorch's that its allocators call for each block, here of
// PyTorch 2 or, with GT_OLD, of PyTorch 1; and libc10_cuda.so, whose allocator calls it through the
// PLT. See test_tensors.py.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>

#ifdef GT_OLD
typedef int64_t size_type;
#else
typedef size_t size_type;
#endif

namespace c10 {

struct Device {
	int8_t type;
	int8_t index;
};

void reportMemoryUsageToProfiler(void *address, int64_t bytes, size_type allocated,
				 size_type reserved, Device device);

} // namespace c10

#ifdef GT_C10
namespace c10 {

static int64_t blocks, in_use;

/* What PyTorch's profiler would have been told. */
__attribute__((visibility("default"))) void
reportMemoryUsageToProfiler(void *address, int64_t bytes, size_type allocated, size_type reserved,
			    Device device)
{
	blocks++;
	in_use += bytes;
	if (!address || allocated > reserved || device.index != 0)
		fprintf(stderr, "wrong arguments\n");
}

} // namespace c10

extern "C" __attribute__((visibility("default"))) void c10_told(long *ret_blocks, long *ret_in_use)
{
	*ret_blocks = (long)c10::blocks;
	*ret_in_use = (long)c10::in_use;
}
#else

static const size_t segment_bytes = (size_t)20 << 20;
static char *segment;
static size_t in_use;

static __attribute__((noinline)) void *give(size_t at, size_t bytes)
{
	if (!segment && cudaMalloc((void **)&segment, segment_bytes))
		return NULL;
	in_use += bytes;
	c10::reportMemoryUsageToProfiler(segment + at, (int64_t)bytes, (size_type)in_use,
					 (size_type)segment_bytes, c10::Device{1, 0});
	return segment + at;
}

static __attribute__((noinline)) void take_back(void *block, size_t bytes)
{
	in_use -= bytes;
	c10::reportMemoryUsageToProfiler(block, -(int64_t)bytes, (size_type)in_use,
					 (size_type)segment_bytes, c10::Device{1, 0});
}

#define STEP extern "C" __attribute__((visibility("default"), noinline))

STEP void linear_weights(void)
{
	give(0, 4096);
}

STEP void *attention_scores(int i)
{
	return give(4096 + (size_t)i * ((size_t)2 << 20), (size_t)2 << 20);
}

STEP void free_scores(void *block)
{
	take_back(block, (size_t)2 << 20);
}

/* A tensor of the CPU, which is not recorded. */
STEP void on_the_cpu(void)
{
	static char block[64];

	c10::reportMemoryUsageToProfiler(block, 64, 64, 64, c10::Device{0, 0});
	c10::reportMemoryUsageToProfiler(block, -64, 0, 64, c10::Device{0, 0});
}
#endif
