/* SPDX-License-Identifier: Apache-2.0
 *
 * The plug-in of NCCL's profiler interface. NCCL loads it, asks for the newest version that both
 * know, and calls it: init for each communicator on the thread that makes it, operations on the
 * thread that launches them, right behind the launch, proxy operations and transfers on the threads
 * of NCCL's proxies. A handle of NULL is no event, which NCCL then does not mention again. Without
 * libgputrace.so in the process nothing is asked for.
 *
 * Not asked for are events of the kernel's channels: for them NCCL gives each operation work for
 * its proxies, which the program alone would not have; when a kernel runs, CUPTI knows.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "core/schema/library_sink.h"
#include "preload/nccl/abi.h"
#include "preload/nccl/operations.h"

#define EXPORTED __attribute__((visibility("default")))
#define WANTED                                                                                     \
	(NCCL_EVENT_COLLECTIVE | NCCL_EVENT_MESSAGE | NCCL_EVENT_PROXY_OP | NCCL_EVENT_PROXY_STEP)
#define CONTEXTS 256u

/* A communicator, of which this process may have several ranks. */
struct nccl_context {
	_Atomic bool is_taken;
	uint64_t hash;
	uint32_t ranks, rank; /* rank: plus 1 */
};

static struct nccl_context contexts[CONTEXTS];
static struct nccl_context nameless; /* of the communicators for which there is no room */
static _Atomic(_Atomic(const struct gt_library_sink *) *) variable;
static _Atomic pid_t own_pid;

static const struct gt_library_sink *listener(void)
{
	_Atomic(const struct gt_library_sink *) *there =
		atomic_load_explicit(&variable, memory_order_relaxed);

	return there ? atomic_load_explicit(there, memory_order_acquire) : NULL;
}

static void count_untaken(void)
{
	const struct gt_library_sink *sink = listener();

	if (sink)
		atomic_fetch_add_explicit(sink->untaken, 1, memory_order_relaxed);
}

/* ---- communicators ---- */

static struct nccl_context *take_context(void)
{
	for (unsigned int i = 0; i < CONTEXTS; i++)
		if (!atomic_exchange(&contexts[i].is_taken, true))
			return &contexts[i];
	return &nameless;
}

/* The variable is that of the library in front of NCCL, which was loaded before NCCL. */
static bool find_listener(void)
{
	int saved = errno;

	if (!atomic_load(&variable))
		atomic_store(&variable, dlsym(RTLD_DEFAULT, GT_LIBRARY_VARIABLE));
	if (!atomic_load(&variable))
		dlerror(); /* not the program's */
	atomic_store(&own_pid, getpid());
	errno = saved;
	return listener();
}

static int begin(void **context, int *mask, uint64_t hash, int ranks, int rank)
{
	struct nccl_context *c = &nameless;

	if (find_listener()) {
		c = take_context();
		*mask = WANTED;
	} else {
		*mask = 0;
	}
	if (c != &nameless) {
		c->hash = hash;
		c->ranks = ranks > 0 ? (uint32_t)ranks : 0;
		c->rank = (uint32_t)(rank + 1);
	}
	*context = c;
	return 0;
}

static int init_4(void **context, int *mask, const char *communicator, uint64_t hash, int nodes,
		  int ranks, int rank, nccl_log log)
{
	(void)communicator, (void)nodes, (void)log;
	return begin(context, mask, hash, ranks, rank);
}

static int init_5(void **context, uint64_t hash, int *mask, const char *communicator, int nodes,
		  int ranks, int rank, nccl_log log)
{
	(void)communicator, (void)nodes, (void)log;
	return begin(context, mask, hash, ranks, rank);
}

static int init_2(void **context, int *mask)
{
	return begin(context, mask, 0, 0, -1);
}

static int finalize(void *context)
{
	struct nccl_context *c = context;

	if (c && c != &nameless)
		atomic_store(&c->is_taken, false);
	return 0;
}

/* ---- operations ---- */

/* "AllReduce" */
static uint8_t function_of(const char *name)
{
	char full[64] = "nccl";
	size_t length = name ? strnlen(name, sizeof(full) - sizeof("nccl")) : 0;

	memcpy(full + sizeof("nccl") - 1, name ? name : "", length);
	return (uint8_t)gt_library_find_function(full, sizeof("nccl") - 1 + length);
}

static size_t length_of(const char *text)
{
	return text ? strnlen(text, 64) : 0;
}

static void *tell(const struct nccl_context *context, const struct gt_library_call *operation)
{
	const struct gt_library_sink *sink = listener();
	struct gt_library_call call = *operation, kept = {.function = operation->function};
	uint64_t number;
	void *handle;

	call.operations = kept.operations = 1;
	call.communicator = kept.communicator = context->hash;
	call.ranks = kept.ranks = context->ranks;
	call.rank = kept.rank = context->rank;
	kept.algorithm = call.algorithm;
	kept.protocol = call.protocol;
	kept.channels = call.channels;
	handle = sink ? nccl_operation_begin(&kept, &number) : NULL;
	if (handle)
		sink->told(&call, number);
	else
		count_untaken();
	return handle;
}

static void *start_collective(struct nccl_context *context, const struct nccl_event *event)
{
	const struct gt_library_call call = {
		.function = function_of(event->collective.function),
		.in = event->collective.count,
		.dtype = gt_nccl_type_find(event->collective.type,
					   length_of(event->collective.type)),
		.algorithm = gt_nccl_algorithm_find(event->collective.algorithm,
						    length_of(event->collective.algorithm)),
		.protocol = gt_nccl_protocol_find(event->collective.protocol,
						  length_of(event->collective.protocol)),
		.channels = event->collective.channels,
	};

	return tell(context, &call);
}

static void *start_message(struct nccl_context *context, const struct nccl_event *event)
{
	const struct gt_library_call call = {
		.function = function_of(event->message.function),
		.in = event->message.count,
		.dtype = gt_nccl_type_find(event->message.type, length_of(event->message.type)),
		.peer = event->message.peer >= 0 ? (uint32_t)event->message.peer + 1 : 0,
	};

	return tell(context, &call);
}

/* ---- proxies ---- */

/* One that another process has begun (PXN) is that one's. */
static void *start_proxy(const struct nccl_event *event)
{
	void *handle = event->proxy.pid == atomic_load_explicit(&own_pid, memory_order_relaxed) &&
				       event->parent
			       ? nccl_proxy_begin(event->parent, event->proxy.sends != 0,
						  event->proxy.steps)
			       : NULL;

	if (!handle)
		count_untaken();
	return handle;
}

static void tell_sums(const struct nccl_sums *sums)
{
	const struct gt_library_sink *sink = listener();

	if (sink)
		sink->network(&sums->call, sums->number, sums->began, sums->ended);
}

/* ---- what NCCL calls ---- */

static int start(void *context, void **handle, struct nccl_event *event)
{
	*handle = NULL;
	if (!context || !listener())
		return 0;
	switch ((uint8_t)event->type) {
	case NCCL_EVENT_COLLECTIVE:
		*handle = start_collective(context, event);
		break;
	case NCCL_EVENT_MESSAGE:
		*handle = start_message(context, event);
		break;
	case NCCL_EVENT_PROXY_OP:
		*handle = start_proxy(event);
		break;
	case NCCL_EVENT_PROXY_STEP:
		*handle = nccl_step_begin(event->parent, event->transfer.step);
		break;
	default: /* newer ones are not asked for, but come as parents of those that are */
		break;
	}
	return 0;
}

/* An operation of version 2 or 3, as version 4 has it: the communicator is that of the event. The
 * number of channels is only the most that it may take. */
static int start_old(void **handle, const struct nccl_event_2 *old, const char *algorithm,
		     const char *protocol)
{
	bool is_message = (uint8_t)old->type == NCCL_EVENT_MESSAGE;
	struct nccl_context of = {.hash = is_message ? old->message.hash : old->collective.hash,
				  .rank = (uint32_t)(old->rank + 1)};
	struct nccl_event event = {.type = (uint8_t)old->type};

	if (is_message) {
		event.message.function = old->message.function;
		event.message.type = old->message.type;
		event.message.count = old->message.count;
		event.message.peer = old->message.peer;
	} else {
		event.collective.function = old->collective.function;
		event.collective.type = old->collective.type;
		event.collective.count = old->collective.count;
		event.collective.algorithm = algorithm;
		event.collective.protocol = protocol;
	}
	return start(&of, handle, &event);
}

static bool is_operation(const struct nccl_event *event)
{
	return (uint8_t)event->type == NCCL_EVENT_COLLECTIVE ||
	       (uint8_t)event->type == NCCL_EVENT_MESSAGE;
}

static int start_2(void *context, void **handle, struct nccl_event *event)
{
	const struct nccl_event_2 *old = (const void *)event;

	return is_operation(event) ? start_old(handle, old, old->collective.of_2.algorithm,
					       old->collective.of_2.protocol)
				   : start(context, handle, event);
}

static int start_3(void *context, void **handle, struct nccl_event *event)
{
	const struct nccl_event_2 *old = (const void *)event;

	return is_operation(event) ? start_old(handle, old, old->collective.of_3.algorithm,
					       old->collective.of_3.protocol)
				   : start(context, handle, event);
}

static int stop(void *handle)
{
	enum nccl_handle_kind kind = nccl_handle_kind(handle);
	struct nccl_sums sums;

	if ((kind == NCCL_HANDLE_STEP && nccl_step_end(handle, &sums)) ||
	    (kind == NCCL_HANDLE_PROXY && nccl_proxy_end(handle, &sums)))
		tell_sums(&sums);
	return 0;
}

static int record(void *handle, int state, union nccl_state_args *args)
{
	if (nccl_handle_kind(handle) == NCCL_HANDLE_STEP)
		nccl_step_state(handle, state, args ? args->bytes : 0);
	return 0;
}

#define NAME "gputrace"

extern const struct nccl_profiler_2 ncclProfiler_v2, ncclProfiler_v3;
extern const struct nccl_profiler_4 ncclProfiler_v4;
extern const struct nccl_profiler_5 ncclProfiler_v5, ncclProfiler_v6;

EXPORTED const struct nccl_profiler_2 ncclProfiler_v2 = {NAME, init_2, start_2,
							 stop, record, finalize};
EXPORTED const struct nccl_profiler_2 ncclProfiler_v3 = {NAME, init_2, start_3,
							 stop, record, finalize};
EXPORTED const struct nccl_profiler_4 ncclProfiler_v4 = {NAME, init_4, start,
							 stop, record, finalize};
EXPORTED const struct nccl_profiler_5 ncclProfiler_v5 = {NAME, init_5, start,
							 stop, record, finalize};
EXPORTED const struct nccl_profiler_5 ncclProfiler_v6 = {NAME, init_5, start,
							 stop, record, finalize};
