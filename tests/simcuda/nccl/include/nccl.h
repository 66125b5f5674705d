/* SPDX-License-Identifier: Apache-2.0
 *
 * What of NCCL's interface (2.28) the simulated libnccl.so.2 has: names, numbers and signatures, so
 * that programs written against NVIDIA's nccl.h compile. The configuration is opaque: NULL only.
 */
#ifndef SIMCUDA_NCCL_H
#define SIMCUDA_NCCL_H

#include <cuda_runtime.h>
#include <stddef.h>

#define NCCL_MAJOR           2
#define NCCL_MINOR           28
#define NCCL_PATCH           3
#define NCCL_VERSION_CODE    22803
#define NCCL_SPLIT_NOCOLOR   (-1)
#define NCCL_UNIQUE_ID_BYTES 128

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ncclComm *ncclComm_t;
typedef struct ncclConfig ncclConfig_t;
typedef struct ncclSimInfo ncclSimInfo_t;
typedef struct {
	char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
	ncclSuccess = 0,
	ncclUnhandledCudaError = 1,
	ncclSystemError = 2,
	ncclInternalError = 3,
	ncclInvalidArgument = 4,
	ncclInvalidUsage = 5,
	ncclRemoteError = 6,
	ncclInProgress = 7,
} ncclResult_t;

typedef enum {
	ncclSum = 0,
	ncclProd = 1,
	ncclMax = 2,
	ncclMin = 3,
	ncclAvg = 4,
	ncclNumOps = 5,
} ncclRedOp_t;

typedef enum {
	ncclInt8 = 0,
	ncclChar = 0,
	ncclUint8 = 1,
	ncclInt32 = 2,
	ncclInt = 2,
	ncclUint32 = 3,
	ncclInt64 = 4,
	ncclUint64 = 5,
	ncclFloat16 = 6,
	ncclHalf = 6,
	ncclFloat32 = 7,
	ncclFloat = 7,
	ncclFloat64 = 8,
	ncclDouble = 8,
	ncclBfloat16 = 9,
	ncclFloat8e4m3 = 10,
	ncclFloat8e5m2 = 11,
	ncclNumTypes = 12,
} ncclDataType_t;

ncclResult_t ncclGetVersion(int *version);
const char *ncclGetErrorString(ncclResult_t result);
ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank,
				    ncclConfig_t *config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank, int count,
				      ncclUniqueId *ids, ncclConfig_t *config);
ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *part,
			   ncclConfig_t *config);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommCount(const ncclComm_t comm, int *count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error);

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t type,
			   ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t type, int root,
			   ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBcast(void *data, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
		       cudaStream_t stream);
ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t type,
			ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t type,
			   ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t type,
			       ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAlltoAll(const void *from, void *to, size_t count, ncclDataType_t type,
			  ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclGather(const void *from, void *to, size_t count, ncclDataType_t type, int root,
			ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclScatter(const void *from, void *to, size_t count, ncclDataType_t type, int root,
			 ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t type, int peer,
		      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
		      cudaStream_t stream);
ncclResult_t ncclGroupStart(void);
ncclResult_t ncclGroupEnd(void);
ncclResult_t ncclGroupSimulateEnd(ncclSimInfo_t *info);

#ifdef __cplusplus
}
#endif

#endif
