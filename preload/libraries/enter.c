/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/enter.h"

#include "core/schema/library_sink.h"
#include "preload/libraries/unmade.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED _Atomic(const struct gt_library_sink *) gputrace_library_sink;

/* Preloaded, so that its room is there from the beginning. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uint32_t inside; /* calls that have begun and not ended */
	uint32_t group;  /* ncclGroupStart without its ncclGroupEnd */
} self;

static void describe(struct gt_library_call *call, const struct nccl_communicator *c)
{
	if (!c)
		return;
	call->communicator = atomic_load_explicit(&c->id, memory_order_relaxed);
	call->ranks = atomic_load_explicit(&c->ranks, memory_order_relaxed);
	call->rank = atomic_load_explicit(&c->rank, memory_order_relaxed);
	call->device = atomic_load_explicit(&c->device, memory_order_relaxed);
}

static void tell(struct library_entry *entry, const struct gt_library_call *call)
{
	const struct gt_library_sink *sink =
		atomic_load_explicit(&gputrace_library_sink, memory_order_acquire);

	entry->sink = sink && sink->begin(call) ? sink : NULL;
}

/* Members agree on the place of a collective only: the others are between two. */
static bool is_counted(enum gt_nccl_function function)
{
	return function != GT_NCCL_SEND && function != GT_NCCL_RECV &&
	       function != GT_NCCL_PUT_SIGNAL && function != GT_NCCL_SIGNAL &&
	       function != GT_NCCL_WAIT_SIGNAL;
}

/* Sends and receives: which of them belong together. */
static void number_message(struct library_entry *entry, const struct library_operation *operation,
			   const struct nccl_communicator *c, struct gt_library_call *call)
{
	bool sends = operation->function == GT_NCCL_SEND;

	if (!sends && operation->function != GT_NCCL_RECV)
		return;
	*(sends ? &call->to : &call->from) = call->peer;
	entry->messages = nccl_messages(c, operation->peer, sends);
	if (entry->messages)
		*(sends ? &call->to_number : &call->from_number) =
			atomic_load_explicit(entry->messages, memory_order_relaxed) + 1;
}

static bool is_outermost(struct library_entry *entry)
{
	*entry = (struct library_entry){.outermost = self.inside++ == 0};
	return entry->outermost;
}

void library_begin(struct library_entry *entry, const struct library_operation *operation)
{
	struct gt_library_call call = {.function = (uint8_t)operation->function,
				       .operations = 1,
				       .dtype = (uint8_t)(operation->type + 1),
				       .reduction = (uint8_t)(operation->reduction + 1),
				       .peer = (uint32_t)(operation->peer + 1),
				       .in_group = self.group > 0};
	struct nccl_communicator *c;

	if (!is_outermost(entry))
		return;
	c = nccl_communicator_find(operation->comm);
	describe(&call, c);
	gt_library_count(&call, operation->count);
	if (c && is_counted(operation->function)) {
		entry->counted = c;
		call.sequence = atomic_load_explicit(&c->sequence, memory_order_relaxed) + 1;
	}
	number_message(entry, operation, c, &call);
	tell(entry, &call);
}

static void begin(struct library_entry *entry, enum gt_nccl_function function,
		  const struct nccl_communicator *c)
{
	struct gt_library_call call = {.function = (uint8_t)function};

	/* the end of a group that is in no other one is where its operations are launched */
	call.in_group = function == GT_NCCL_GROUP_END ? self.group > 1 : self.group > 0;
	describe(&call, c);
	tell(entry, &call);
}

void library_begin_other(struct library_entry *entry, enum gt_nccl_function function,
			 nccl_comm comm)
{
	if (is_outermost(entry))
		begin(entry, function, comm ? nccl_communicator_find(comm) : NULL);
}

void library_begin_end(struct library_entry *entry, enum gt_nccl_function function, nccl_comm comm)
{
	if (is_outermost(entry))
		begin(entry, function, nccl_communicator_known(comm));
}

void library_end(struct library_entry *entry, int result)
{
	bool accepted = result == NCCL_SUCCESS || result == NCCL_IN_PROGRESS;

	self.inside--;
	if (entry->counted && accepted)
		atomic_fetch_add_explicit(&entry->counted->sequence, 1, memory_order_relaxed);
	if (entry->messages && accepted)
		atomic_fetch_add_explicit(entry->messages, 1, memory_order_relaxed);
	if (entry->sink)
		entry->sink->end(result);
}

void library_group_opened(void)
{
	self.group++;
}

void library_group_closed(int result)
{
	if (self.group && !--self.group)
		nccl_unmade_group_ended(&self, result);
}

bool library_in_group(void)
{
	return self.group > 0;
}

const void *library_thread(void)
{
	return &self;
}
