/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the simulated libnccl.so.2. Ranks, threads or processes of one machine, meet in
 * shared memory whose name is in the unique id: each says when its kernel began, and the kernels of
 * all end together. Nothing is moved or reduced, as kernels of this device compute nothing.
 */
#ifndef SIMCUDA_NCCL_SIM_NCCL_H
#define SIMCUDA_NCCL_SIM_NCCL_H

#include "sim.h"

#include <stdatomic.h>

#include "nccl/include/nccl.h"

#define SIM_NCCL_EXPORT __attribute__((visibility("default")))

enum sim_nccl_function {
	SIM_ALL_REDUCE,
	SIM_BROADCAST,
	SIM_REDUCE,
	SIM_ALL_GATHER,
	SIM_REDUCE_SCATTER,
	SIM_ALL_TO_ALL,
	SIM_GATHER,
	SIM_SCATTER,
	SIM_SEND,
	SIM_RECV,
	SIM_PUT, /* and what follows: no kernel, as NCCL copies by other engines */
	SIM_SIGNAL,
	SIM_WAIT_SIGNAL,
};

/* When one rank came to one meeting; @tag is its number, from 1. */
struct sim_cell {
	_Atomic uint64_t tag;
	_Atomic uint64_t start;
	_Atomic uint64_t kbs; /* kB/s of its network */
};

/* What a rank asked for in ncclCommSplit. */
struct sim_split {
	_Atomic uint32_t ready;
	int color, key;
};

#define SIM_SLOTS      256u /* meetings of all that are kept */
#define SIM_PAIRS      64u  /* ... of two */
#define SIM_SPLITS     64u
#define SIM_MOST_RANKS 64

struct sim_shared {
	_Atomic uint32_t joined;
	_Atomic uint32_t aborted;
	_Atomic uint32_t grows;
	char grown[NCCL_UNIQUE_ID_BYTES]; /* of the newest */
	struct sim_split splits[SIM_SPLITS][SIM_MOST_RANKS];
	struct sim_cell all[SIM_SLOTS][SIM_MOST_RANKS];
	struct sim_cell pairs[SIM_MOST_RANKS][SIM_MOST_RANKS][SIM_PAIRS][2]; /* from, to; sides */
};

/* A communicator that is made from another one: its handle is written when it is whole. */
struct sim_part {
	ncclComm_t parent, made;
	ncclComm_t *place; /* NULL: there is none */
	char name[2 * NCCL_UNIQUE_ID_BYTES];
	struct sim_split *all; /* of a split: what all asked for */
	int ranks, rank;
	bool blocks;
};

struct ncclComm {
	struct sim_shared *shared;
	char name[NCCL_UNIQUE_ID_BYTES];
	int rank, ranks, device;
	bool blocks;
	bool is_deferred;     /* made in a group that has not ended */
	struct sim_part part; /* being made from it without blocking */
	CUcontext context;
	CUmodule module;
	uint64_t sequence;
	uint64_t splits;
	uint64_t sent[SIM_MOST_RANKS], received[SIM_MOST_RANKS];
	_Atomic int meetings; /* kernels that have not ended */
	uint64_t hash;        /* as the plug-in of the profiler knows it */
	uint64_t counts[SIM_RECV + 1];
	void *profiler; /* what the plug-in has of it */
};

struct sim_operation {
	enum sim_nccl_function function;
	size_t count;
	ncclDataType_t type;
	int reduction, peer;
	uint64_t number; /* of its meeting */
	ncclComm_t comm;
	cudaStream_t stream;
};

/* driver.c: what of the simulated driver is called; found by dlsym as NCCL does it. */
struct sim_nccl_driver {
	const struct sim_table *table;
	CUresult (*get_current)(CUcontext *context);
	CUresult (*get_device)(CUdevice *device);
	CUresult (*retain)(CUcontext *context, CUdevice device);
	CUresult (*push)(CUcontext context);
	CUresult (*pop)(CUcontext *context);
	CUresult (*load)(CUmodule *module, const void *image);
	CUresult (*find)(CUfunction *function, CUmodule module, const char *name);
	CUresult (*launch)(CUfunction function, unsigned int gx, unsigned int gy, unsigned int gz,
			   unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
			   CUstream stream, void **params, void **extra);
};

/* NULL: there is no simulated driver. */
const struct sim_nccl_driver *sim_nccl_driver(void);

/* communicator.c */
ncclResult_t sim_comm_attach(ncclComm_t *comm, const char *name, int ranks, int rank, int device);
ncclResult_t sim_comm_wait_all(ncclComm_t comm);
bool sim_comm_is_whole(ncclComm_t comm);
/* ncclInvalidArgument, with NCCL's warning, while it or a part of it is being made. */
ncclResult_t sim_comm_ensure_ready(ncclComm_t comm);
/* Its members are waited for: now, at the end of the group, or when the program asks. */
ncclResult_t sim_comm_join(ncclComm_t *comm, const char *name, int ranks, int rank, bool blocks);
/* Takes "blocking" from it. */
bool sim_comm_blocks(const ncclConfig_t *config, bool otherwise);

/* parts.c: ncclInProgress: not all have come, which is only without @waits. */
ncclResult_t sim_part_go_on(struct sim_part *part, bool waits);

/* group.c: whether this thread is in one; then @comm is waited for, @part made at its end. */
bool sim_group_defers(ncclComm_t comm);
bool sim_group_defers_part(const struct sim_part *part);

/* Now, or at the end of the group. */
ncclResult_t sim_group_take(const struct sim_operation *operation);

/* An error in a group is that of its end, too. */
ncclResult_t sim_group_result(ncclResult_t result);

/* launch.c: one kernel for all of them, which are of one communicator. */
ncclResult_t sim_nccl_launch(const struct sim_operation *operations, size_t count);

/* profiler.c: what a plug-in of the profiler interface hears. */
void sim_profiler_init(ncclComm_t comm);
void sim_profiler_finalize(ncclComm_t comm);
void sim_profiler_launched(const struct sim_operation *operations, size_t count);
void sim_profiler_wait(void);

/* nvtx.c: the ranges that NCCL itself makes. _begin_operation, _end are around a call with a
 * payload at its beginning; _begin_call around one that has it at its end, or none. */

void sim_nvtx_begin_operation(const struct sim_operation *operation);
void sim_nvtx_begin_destroy(ncclComm_t comm);
void sim_nvtx_begin_call(const char *function);
void sim_nvtx_end(void);
void sim_nvtx_end_made(ncclComm_t comm);
void sim_nvtx_end_all(ncclComm_t comm, int devices);
void sim_nvtx_end_split(ncclComm_t comm, ncclComm_t parent, int color, int key);

/* Waits for what another rank does. False: the communicator was aborted. */
bool sim_nccl_wait(const struct sim_shared *shared, const _Atomic uint64_t *value, uint64_t least);
void sim_nccl_nap(unsigned int *times);

#endif
