/* SPDX-License-Identifier: Apache-2.0
 *
 * Is only sampled: run under callgrind with two numbers of samples, the difference gives the
 * instructions per sample on the interrupted thread (tests/targets/test_instructions.py).
 *
 *   sample_instructions SAMPLES FRAMES-OF-1-KIB
 */
#include <stdlib.h>

#include "collectors/call/call.h"
#include "collectors/sampler/sampler.h"
#include "collectors/sampler/signal.h"
#include "core/guest/forkguard.h"
#include "core/guest/memory.h"
#include "core/thread.h"

/* valgrind does not grow the stack for a signal. */
static __attribute__((noinline)) void make_room(void)
{
	volatile char room[65536];

	for (size_t i = 0; i < sizeof(room); i += 4096)
		room[i] = 0;
}

static int take_samples(int samples)
{
	struct gt_thread *self = gt_thread_get();
	struct gt_sample_slot *slot = gt_memory_map(sizeof(*slot));
	int filled = 0;

	make_room();
	for (int i = 0; i < samples; i++) {
		atomic_store(&slot->state, GT_SAMPLE_ASKED);
		atomic_store(&self->mailbox, slot);
		raise(GT_SAMPLE_SIGNAL);
		filled += atomic_load(&slot->state) == GT_SAMPLE_FILLED && !slot->inside &&
			  slot->words > 0;
	}
	return filled;
}

static __attribute__((noinline)) int descend(int frames, int samples)
{
	volatile char room[1024];

	room[0] = 1;
	return (frames > 0 ? descend(frames - 1, samples) : take_samples(samples)) + room[0] - 1;
}

int main(int argc, char **argv)
{
	struct gt_thread_limits limits = {
		.ring_bytes = 1 << 20, .extra_bytes = gt_call_state_bytes(), .max_bytes = 64 << 20};

	if (argc != 3)
		return 2;
	gt_forkguard_arm();
	gt_threads_start(&limits);
	gt_call_configure(64);
	gt_call_enter(GT_API_RUNTIME, 211, 1);
	gt_call_exit(GT_API_RUNTIME, 211, 0);
	gt_sampler_configure(100, 64);
	return descend(atoi(argv[2]), atoi(argv[1])) == atoi(argv[1]) ? 0 : 1;
}
