/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Application threads, except _listen.
 */
#include "collectors/call/tensor.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/call/records.h"
#include "collectors/call/state.h"
#include "core/elf/elf_lookup.h"
#include "core/guest/clock.h"
#include "core/guest/forkguard.h"
#include "core/thread.h"

#define CPU 0 /* c10::DeviceType */

bool gt_tensors_listen(void)
{
	_Atomic(gt_tensor_sink) *variable =
		(void *)gt_elf_find_loaded(GT_TENSOR_LIBRARY, GT_TENSOR_VARIABLE, NULL);

	if (variable)
		atomic_store_explicit(variable, gt_call_put_tensor, memory_order_release);
	return variable;
}

static void commit(struct gt_thread *thread, struct call_state *state,
		   struct gt_call_record *record, const struct gt_tensor *tensor)
{
	size_t size = sizeof(*record) + (state->frames + state->python) * sizeof(record->pcs[0]);

	memcpy((char *)record + size, tensor, sizeof(*tensor));
	record->frame_count = (uint16_t)state->frames;
	record->python_count = (uint16_t)state->python;
	gt_ring_commit(&thread->ring, &record->head, size + sizeof(*tensor), GT_RECORD_TENSOR);
	if (state->frames || state->python)
		gt_unwind_set_delivered(&state->unwind, record->stack_key);
}

static void put(struct gt_thread *thread, uintptr_t frame, const struct gt_tensor *tensor)
{
	struct call_state *state = gt_call_state(thread);
	struct gt_call_record *record = NULL;

	if (!gt_call_is_open(thread, frame)) /* its slot is the ring's open one */
		record = (void *)gt_ring_reserve(&thread->ring, gt_call_slot_bytes());
	if (!record) {
		gt_thread_count(thread, GT_THREAD_TENSORS_LOST);
		return;
	}
	state->open = NULL;
	*record = (struct gt_call_record){.tid = thread->tid};
	gt_call_capture(thread, state, record);
	record->start = record->end = gt_clock_now();
	commit(thread, state, record, tensor);
}

void gt_call_put_tensor(const struct gt_tensor *tensor)
{
	struct gt_thread *thread;
	int saved = errno;

	if (tensor->device_type == CPU || !gt_call_is_recording() || !gt_forkguard_holds())
		return;
	thread = gt_thread_get();
	if (thread)
		put(thread, (uintptr_t)__builtin_frame_address(0), tensor);
	else
		gt_threads_count_refused(GT_THREAD_TENSORS_LOST);
	errno = saved;
}
