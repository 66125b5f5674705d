/* SPDX-License-Identifier: Apache-2.0
 *
 * Only makes calls: run under callgrind with two numbers of calls, the difference gives the
 * instructions per call (tests/targets/test_instructions.py).
 *
 *   call_instructions CALLS STACK-DEPTH FRAMES [stream | nvtx]
 *
 * stream: as in the callback of CUPTI, the stream and the kernel are taken from the parameters;
 * nvtx: no calls but ranges of NVTX, pushed and popped. Then there are no further frames.
 */
#include <stdlib.h>
#include <string.h>

#include <cupti.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtCounters.h>

#include "collectors/call/call.h"
#include "collectors/cupti/library/streams.h"
#include "collectors/nvtx/nvtx.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"

#define CBID_LAUNCH 211

static void empty_ring(void)
{
	struct gt_thread *self = gt_thread_get();
	const struct gt_ring_record *record;

	while ((record = gt_ring_next(&self->ring)))
		gt_ring_pass(&self->ring, record);
	gt_ring_release(&self->ring);
}

static __attribute__((noinline)) int make_calls(int calls)
{
	for (int i = 0; i < calls; i++) {
		gt_call_enter(GT_API_RUNTIME, CBID_LAUNCH, (uint32_t)i + 1);
		gt_call_exit(GT_API_RUNTIME, CBID_LAUNCH, 0);
		if (i % 1000 == 999)
			empty_ring();
	}
	return calls;
}

static __attribute__((noinline)) int make_calls_with_stream(int calls)
{
	static const cudaLaunchKernel_v7000_params parameters = {.stream = (cudaStream_t)0x1000};
	struct gt_cupti_stream stream;

	for (int i = 0; i < calls; i++) {
		gt_call_enter(GT_API_RUNTIME, CBID_LAUNCH, (uint32_t)i + 1);
		if (gt_cupti_stream_of(GT_API_RUNTIME, CBID_LAUNCH, &parameters, &stream))
			gt_call_aim(stream.handle, (uint64_t)&parameters, 1);
		gt_call_exit(GT_API_RUNTIME, CBID_LAUNCH, 0);
		if (i % 1000 == 999)
			empty_ring();
	}
	return calls;
}

static __attribute__((noinline)) int make_ranges(int ranges)
{
	InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;
	for (int i = 0; i < ranges; i++) {
		nvtxRangePushA("a range of 24 characters");
		nvtxRangePop();
		if (i % 1000 == 999)
			empty_ring();
	}
	return ranges;
}

static __attribute__((noinline)) int descend(int frames, int calls)
{
	int made = frames > 0 ? descend(frames - 1, calls) : make_calls(calls);

	__asm__ volatile("" ::: "memory");
	return made;
}

int main(int argc, char **argv)
{
	struct gt_thread_limits limits = {
		.ring_bytes = 1 << 20, .extra_bytes = gt_call_state_bytes(), .max_bytes = 64 << 20};

	if (argc < 4)
		return 2;
	gt_forkguard_arm();
	gt_threads_start(&limits);
	gt_call_configure((uint32_t)atoi(argv[2]));
	if (argc == 5 && !strcmp(argv[4], "nvtx"))
		return make_ranges(atoi(argv[1])) == atoi(argv[1]) ? 0 : 1;
	if (argc == 5)
		return make_calls_with_stream(atoi(argv[1])) == atoi(argv[1]) ? 0 : 1;
	return descend(atoi(argv[3]), atoi(argv[1])) == atoi(argv[1]) ? 0 : 1;
}
