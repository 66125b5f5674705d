/* SPDX-License-Identifier: Apache-2.0
 *
 * What an annotation costs the annotating thread: handlers as the NVTX headers call them, records
 * into the ring, emptied between the rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <nvtx3/nvToolsExtCounters.h>

#include "collectors/call/call.h"
#include "collectors/nvtx/nvtx.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"
#include "tests/bench/use_clock.h"

#define ROUNDS 200
#define PAIRS  2000

static nvtxDomainHandle_t domain;
static nvtxEventAttributes_t registered;

static void push_text(void)
{
	nvtxRangePushA("a range of 24 characters");
	nvtxRangePop();
}

static void push_registered(void)
{
	nvtxDomainRangePushEx(domain, &registered);
	nvtxDomainRangePop(domain);
}

static void read_clock(void)
{
	gt_clock_now();
	gt_clock_now();
}

static void empty_ring(void)
{
	const struct gt_ring_record *record;

	while (gt_thread_self && (record = gt_ring_next(&gt_thread_self->ring)))
		gt_ring_pass(&gt_thread_self->ring, record);
	if (gt_thread_self)
		gt_ring_release(&gt_thread_self->ring);
}

static void measure(const char *what, void (*pair)(void))
{
	uint64_t best = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = gt_clock_now(), took;

		for (int i = 0; i < PAIRS; i++)
			pair();
		took = gt_clock_now() - start;
		best = took < best ? took : best;
		empty_ring();
	}
	printf("%-28s %6.1f ns a call\n", what, (double)best / PAIRS / 2);
}

int main(void)
{
	struct gt_thread_limits limits = {
		.ring_bytes = 2 << 20, .extra_bytes = gt_call_state_bytes(), .max_bytes = 64 << 20};

	unsetenv("NVTX_INJECTION64_PATH");
	InitializeInjectionNvtx2_fnptr = InitializeInjectionNvtx2;
	if (gt_forkguard_arm() || gt_threads_start(&limits))
		return 1;
	use_fast_clock();
	domain = nvtxDomainCreateA("domain");
	registered = (nvtxEventAttributes_t){.version = NVTX_VERSION,
					     .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
					     .messageType = NVTX_MESSAGE_TYPE_REGISTERED};
	registered.message.registered = nvtxDomainRegisterStringA(domain, "registered");
	measure("push and pop, text", push_text);
	measure("push and pop, registered", push_registered);
	measure("clock alone", read_clock);
	return gt_nvtx_count().lost != 0;
}
