/* SPDX-License-Identifier: Apache-2.0
 *
 * The collectives, sends and receives of the simulated libnccl.so.2.
 */
#include "nccl/sim_nccl.h"

#define NONE (-1)

static ncclResult_t take(enum sim_nccl_function function, size_t count, ncclDataType_t type,
			 int reduction, int peer, ncclComm_t comm, cudaStream_t stream)
{
	const struct sim_operation operation = {.function = function,
						.count = count,
						.type = type,
						.reduction = reduction,
						.peer = peer,
						.comm = comm,
						.stream = stream};
	ncclResult_t result;

	sim_nvtx_begin_operation(&operation);
	result = sim_group_take(&operation);
	sim_nvtx_end();
	return result;
}

SIM_NCCL_EXPORT ncclResult_t ncclAllReduce(const void *from, void *to, size_t count,
					   ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
					   cudaStream_t stream)
{
	return take(SIM_ALL_REDUCE, count, type, (int)op, NONE, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclBroadcast(const void *from, void *to, size_t count,
					   ncclDataType_t type, int root, ncclComm_t comm,
					   cudaStream_t stream)
{
	return take(SIM_BROADCAST, count, type, NONE, root, comm, stream);
}

/* As NCCL does it, through the exported function. */
SIM_NCCL_EXPORT ncclResult_t ncclBcast(void *data, size_t count, ncclDataType_t type, int root,
				       ncclComm_t comm, cudaStream_t stream)
{
	return ncclBroadcast(data, data, count, type, root, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclReduce(const void *from, void *to, size_t count,
					ncclDataType_t type, ncclRedOp_t op, int root,
					ncclComm_t comm, cudaStream_t stream)
{
	return take(SIM_REDUCE, count, type, (int)op, root, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclAllGather(const void *from, void *to, size_t count,
					   ncclDataType_t type, ncclComm_t comm,
					   cudaStream_t stream)
{
	return take(SIM_ALL_GATHER, count, type, NONE, NONE, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count,
					       ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
					       cudaStream_t stream)
{
	return take(SIM_REDUCE_SCATTER, count, type, (int)op, NONE, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclAlltoAll(const void *from, void *to, size_t count,
					  ncclDataType_t type, ncclComm_t comm, cudaStream_t stream)
{
	return take(SIM_ALL_TO_ALL, count, type, NONE, NONE, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclGather(const void *from, void *to, size_t count,
					ncclDataType_t type, int root, ncclComm_t comm,
					cudaStream_t stream)
{
	return take(SIM_GATHER, count, type, NONE, root, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclScatter(const void *from, void *to, size_t count,
					 ncclDataType_t type, int root, ncclComm_t comm,
					 cudaStream_t stream)
{
	return take(SIM_SCATTER, count, type, NONE, root, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
				      ncclComm_t comm, cudaStream_t stream)
{
	return take(SIM_SEND, count, type, NONE, peer, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclPutSignal(const void *from, size_t count, ncclDataType_t type,
					   int peer, ncclWindow_t window, size_t offset, int signal,
					   int context, unsigned int flags, ncclComm_t comm,
					   cudaStream_t stream)
{
	return take(SIM_PUT, count, type, NONE, peer, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclSignal(int peer, int signal, int context, unsigned int flags,
					ncclComm_t comm, cudaStream_t stream)
{
	return take(SIM_SIGNAL, 0, ncclInt8, NONE, peer, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclWaitSignal(int count, ncclWaitSignalDesc_t *signals,
					    ncclComm_t comm, cudaStream_t stream)
{
	return take(SIM_WAIT_SIGNAL, 0, ncclInt8, NONE, NONE, comm, stream);
}

SIM_NCCL_EXPORT ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer,
				      ncclComm_t comm, cudaStream_t stream)
{
	return take(SIM_RECV, count, type, NONE, peer, comm, stream);
}
