/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's collectives, sends and receives, and its groups: these definitions come before those of
 * libnccl.so.2 and go on to them. A library of its own, preloaded by run --libraries alone: a
 * program that asks dlsym for an nccl function must not find one where there is no NCCL.
 *
 * A function that this NCCL does not have is refused: without us the loader would have ended the
 * program at this call.
 */
#include "core/schema/library_call.h"
#include "preload/libraries/enter.h"
#include "preload/libraries/nccl_real.h"

#define EXPORTED __attribute__((visibility("default")))
#define NONE     (-1)

/* Defines the function @name: @parameters as the program gives them, @arguments to go on with. */
#define WRAP(name, id, parameters, arguments, count, type, reduction, peer)                        \
	EXPORTED int name parameters;                                                              \
	int name parameters                                                                        \
	{                                                                                          \
		int(*real) parameters = (int(*) parameters)nccl_real(GT_NCCL_##id);                \
		struct library_operation operation = {GT_NCCL_##id, count, type,                   \
						      reduction,    peer,  comm};                  \
		struct library_entry entry;                                                        \
		int result;                                                                        \
                                                                                                   \
		if (!real)                                                                         \
			return NCCL_INVALID_USAGE;                                                 \
		library_begin(&entry, &operation);                                                 \
		result = real arguments;                                                           \
		library_end(&entry, result);                                                       \
		return result;                                                                     \
	}

WRAP(ncclAllReduce, ALL_REDUCE,
     (const void *from, void *to, size_t n, int type, int op, nccl_comm comm, void *stream),
     (from, to, n, type, op, comm, stream), n, type, op, NONE)
WRAP(ncclBroadcast, BROADCAST,
     (const void *from, void *to, size_t n, int type, int root, nccl_comm comm, void *stream),
     (from, to, n, type, root, comm, stream), n, type, NONE, root)
WRAP(ncclBcast, BCAST, (void *data, size_t n, int type, int root, nccl_comm comm, void *stream),
     (data, n, type, root, comm, stream), n, type, NONE, root)
WRAP(ncclReduce, REDUCE,
     (const void *from, void *to, size_t n, int type, int op, int root, nccl_comm comm,
      void *stream),
     (from, to, n, type, op, root, comm, stream), n, type, op, root)
WRAP(ncclAllGather, ALL_GATHER,
     (const void *from, void *to, size_t n, int type, nccl_comm comm, void *stream),
     (from, to, n, type, comm, stream), n, type, NONE, NONE)
WRAP(ncclReduceScatter, REDUCE_SCATTER,
     (const void *from, void *to, size_t n, int type, int op, nccl_comm comm, void *stream),
     (from, to, n, type, op, comm, stream), n, type, op, NONE)
WRAP(ncclAlltoAll, ALL_TO_ALL,
     (const void *from, void *to, size_t n, int type, nccl_comm comm, void *stream),
     (from, to, n, type, comm, stream), n, type, NONE, NONE)
WRAP(ncclGather, GATHER,
     (const void *from, void *to, size_t n, int type, int root, nccl_comm comm, void *stream),
     (from, to, n, type, root, comm, stream), n, type, NONE, root)
WRAP(ncclScatter, SCATTER,
     (const void *from, void *to, size_t n, int type, int root, nccl_comm comm, void *stream),
     (from, to, n, type, root, comm, stream), n, type, NONE, root)
WRAP(ncclSend, SEND, (const void *from, size_t n, int type, int peer, nccl_comm comm, void *stream),
     (from, n, type, peer, comm, stream), n, type, NONE, peer)
WRAP(ncclRecv, RECV, (void *to, size_t n, int type, int peer, nccl_comm comm, void *stream),
     (to, n, type, peer, comm, stream), n, type, NONE, peer)

WRAP(ncclPutSignal, PUT_SIGNAL,
     (const void *from, size_t n, int type, int peer, void *window, size_t offset, int signal,
      int context, unsigned int flags, nccl_comm comm, void *stream),
     (from, n, type, peer, window, offset, signal, context, flags, comm, stream), n, type, NONE,
     peer)
WRAP(ncclSignal, SIGNAL,
     (int peer, int signal, int context, unsigned int flags, nccl_comm comm, void *stream),
     (peer, signal, context, flags, comm, stream), 0, NONE, NONE, peer)
WRAP(ncclWaitSignal, WAIT_SIGNAL, (int n, void *signals, nccl_comm comm, void *stream),
     (n, signals, comm, stream), 0, NONE, NONE, NONE)

EXPORTED int ncclGroupStart(void);
EXPORTED int ncclGroupEnd(void);
EXPORTED int ncclGroupSimulateEnd(void *info);

int ncclGroupStart(void)
{
	int (*real)(void) = (int (*)(void))nccl_real(GT_NCCL_GROUP_START);
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	library_begin_other(&entry, GT_NCCL_GROUP_START, NULL);
	result = real();
	library_end(&entry, result);
	if (entry.outermost && result == NCCL_SUCCESS)
		library_group_opened();
	return result;
}

int ncclGroupEnd(void)
{
	int (*real)(void) = (int (*)(void))nccl_real(GT_NCCL_GROUP_END);
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	library_begin_other(&entry, GT_NCCL_GROUP_END, NULL);
	result = real();
	library_end(&entry, result);
	if (entry.outermost)
		library_group_closed(result); /* also when it fails */
	return result;
}

/* Ends the group and launches nothing. */
int ncclGroupSimulateEnd(void *info)
{
	int (*real)(void *) = (int (*)(void *))nccl_real(GT_NCCL_GROUP_SIMULATE_END);
	struct library_entry entry;
	int result;

	if (!real)
		return NCCL_INVALID_USAGE;
	library_begin_other(&entry, GT_NCCL_GROUP_SIMULATE_END, NULL);
	result = real(info);
	library_end(&entry, result);
	if (entry.outermost)
		library_group_closed(result);
	return result;
}
