/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/mpi/enter.h"

#include "core/guest/clock.h"

#define EXPORTED __attribute__((visibility("default")))
#define LONG     10000 /* ns: a poll that found nothing and took as long is recorded all the same */

EXPORTED _Atomic(const struct gt_library_sink *) gputrace_library_sink;

/* Preloaded, so that its room is there from the beginning. */
static __thread __attribute__((tls_model("initial-exec"))) struct {
	uint32_t inside; /* calls that have begun and not ended */
	uint32_t polls;  /* that found nothing, since the last one that is recorded */
} self;

static _Atomic bool has_declined, has_refused[GT_MPI_FUNCTION_COUNT_];

static const struct gt_library_sink *listener(void)
{
	const struct gt_library_sink *sink =
		atomic_load_explicit(&gputrace_library_sink, memory_order_acquire);

	if (!sink || __builtin_expect(mpi_abi() != MPI_ABI_UNKNOWN, 1))
		return sink;
	if (!atomic_exchange(&has_declined, true))
		sink->declined();
	return NULL;
}

static uint32_t above_0(int value)
{
	return value > 0 ? (uint32_t)value : 0;
}

static void describe(const struct mpi_operation *operation, const struct mpi_communicator *c,
		     struct gt_library_call *call)
{
	*call = (struct gt_library_call){.function = (uint8_t)operation->function,
					 .is_mpi = true,
					 .peer = above_0(operation->peer),
					 .source = above_0(operation->source),
					 .has_tag = operation->has_tag && operation->tag >= 0,
					 .tag = operation->tag};
	if (!c)
		return;
	call->communicator = atomic_load_explicit(&c->id, memory_order_relaxed);
	call->ranks = atomic_load_explicit(&c->ranks, memory_order_relaxed);
	call->rank = atomic_load_explicit(&c->rank, memory_order_relaxed);
}

/* Of what is not yet a communicator, or no longer one, nothing may be asked. */
static struct mpi_communicator *communicator_of(const struct mpi_operation *operation)
{
	uintptr_t handle = operation->comm;

	if (operation->freed)
		handle = mpi_stored(operation->freed);
	return handle && mpi_abi() != MPI_ABI_UNKNOWN ? mpi_communicator_find(handle) : NULL;
}

/* What all members count, nobody being told: the tracer may listen later. */
static void prepare(struct mpi_entry *entry, const struct mpi_operation *operation,
		    struct mpi_communicator *c)
{
	if (c && gt_mpi_is_collective(gt_mpi_class_of(operation->function)))
		entry->counted = c;
	if (operation->made && c)
		entry->parent = mpi_key(operation->comm);
}

void mpi_begin(struct mpi_entry *entry, const struct mpi_operation *operation)
{
	struct mpi_communicator *c;
	struct gt_library_call call;

	*entry = (struct mpi_entry){.is_outermost = self.inside++ == 0};
	if (!entry->is_outermost)
		return;
	c = communicator_of(operation);
	prepare(entry, operation, c);
	entry->sink = listener();
	if (entry->sink && operation->flag) {
		entry->began = gt_clock_now();
	} else if (entry->sink) {
		describe(operation, c, &call);
		mpi_count(operation, &call);
		if (entry->counted)
			call.sequence =
				atomic_load_explicit(&c->sequence, memory_order_relaxed) + 1;
		if (!entry->sink->begin_at(&call, 0))
			entry->sink = NULL;
	}
	if (operation->freed && c)
		mpi_communicator_remove(mpi_stored(operation->freed));
}

/* Programs poll millions of times a second: what finds something is recorded, and what takes long.
 */
static void tell_poll(struct mpi_entry *entry, const struct mpi_operation *operation, int result)
{
	bool has_found = !result && *operation->flag > 0;
	struct gt_library_call call;

	if (!has_found && !result && gt_clock_now() - entry->began < LONG) {
		self.polls++;
		return;
	}
	describe(operation, communicator_of(operation), &call);
	call.polls = self.polls;
	self.polls = 0;
	if (entry->sink->begin_at(&call, entry->began))
		entry->sink->end_from(result, 0);
}

void mpi_end(struct mpi_entry *entry, const struct mpi_operation *operation, int result)
{
	uint32_t source = 0;

	self.inside--;
	if (entry->counted && result == MPI_SUCCESS_)
		atomic_fetch_add_explicit(&entry->counted->sequence, 1, memory_order_relaxed);
	if (entry->parent && result == MPI_SUCCESS_)
		mpi_communicator_made(entry->parent, mpi_stored(operation->made));
	if (!entry->sink)
		return;
	if (operation->flag) {
		tell_poll(entry, operation, result);
		return;
	}
	if (operation->status && result == MPI_SUCCESS_)
		source = mpi_source_of(operation->status);
	entry->sink->end_from(result, source);
}

int mpi_refuse(enum gt_mpi_function function)
{
	const struct gt_library_sink *sink =
		atomic_load_explicit(&gputrace_library_sink, memory_order_acquire);

	if (sink && !atomic_exchange(&has_refused[function], true))
		sink->missing(gt_mpi_name(function), "MPI");
	return MPI_ERR_OTHER_;
}
