/* SPDX-License-Identifier: Apache-2.0
 *
 * Communicators. The memory's name goes once all have come, so nothing is left behind.
 */
#include "nccl/sim_nccl.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SPINS 1000u

/* Long enough asleep that two processors serve many ranks. */
void sim_nccl_nap(unsigned int *times)
{
	struct timespec nap = {0, 20000};

	if ((*times)++ > SPINS)
		nanosleep(&nap, NULL);
}

bool sim_nccl_wait(const struct sim_shared *shared, const _Atomic uint64_t *value, uint64_t least)
{
	unsigned int times = 0;

	while (atomic_load(value) < least) {
		if (atomic_load(&shared->aborted))
			return false;
		sim_nccl_nap(&times);
	}
	return true;
}

static struct sim_shared *map(const char *name)
{
	int fd = shm_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	void *memory;

	if (fd < 0)
		return NULL;
	memory = ftruncate(fd, sizeof(struct sim_shared))
			 ? MAP_FAILED
			 : mmap(NULL, sizeof(struct sim_shared), PROT_READ | PROT_WRITE, MAP_SHARED,
				fd, 0);
	close(fd);
	return memory == MAP_FAILED ? NULL : memory;
}

/* @device -1: the current one. */
static ncclResult_t take_device(ncclComm_t comm, int device)
{
	const struct sim_nccl_driver *driver = sim_nccl_driver();

	if (!driver)
		return ncclUnhandledCudaError;
	if (device < 0 && !driver->get_current(&comm->context) && comm->context &&
	    !driver->get_device(&comm->device))
		return ncclSuccess;
	comm->device = device < 0 ? 0 : device;
	return driver->retain(&comm->context, comm->device) ? ncclUnhandledCudaError : ncclSuccess;
}

ncclResult_t sim_comm_attach(ncclComm_t *ret_comm, const char *name, int ranks, int rank,
			     int device)
{
	ncclComm_t comm;
	ncclResult_t result;

	if (!ret_comm || ranks < 1 || ranks > SIM_MOST_RANKS || rank < 0 || rank >= ranks ||
	    *name != '/')
		return ncclInvalidArgument;
	comm = calloc(1, sizeof(*comm));
	if (!comm)
		return ncclSystemError;
	comm->rank = rank;
	comm->ranks = ranks;
	comm->blocks = true;
	snprintf(comm->name, sizeof(comm->name), "%s", name);
	result = take_device(comm, device);
	comm->shared = result ? NULL : map(name);
	if (!comm->shared) {
		free(comm);
		return result ? result : ncclSystemError;
	}
	sim_profiler_init(comm);
	atomic_fetch_add(&comm->shared->joined, 1);
	*ret_comm = comm;
	return ncclSuccess;
}

ncclResult_t sim_comm_wait_all(ncclComm_t comm)
{
	unsigned int times = 0;

	while (atomic_load(&comm->shared->joined) < (uint32_t)comm->ranks)
		sim_nccl_nap(&times);
	if (comm->rank == 0)
		shm_unlink(comm->name);
	return ncclSuccess;
}

bool sim_comm_is_whole(ncclComm_t comm)
{
	return atomic_load(&comm->shared->joined) >= (uint32_t)comm->ranks;
}

ncclResult_t sim_comm_ensure_ready(ncclComm_t comm)
{
	if (comm->is_deferred || (sim_comm_is_whole(comm) && !comm->part.place))
		return ncclSuccess;
	fprintf(stderr, "NCCL WARN Attempt to use communicator before the previous operation "
			"returned ncclSuccess\n");
	return ncclInvalidArgument;
}

bool sim_comm_blocks(const ncclConfig_t *config, bool otherwise)
{
	return config && config->blocking != NCCL_CONFIG_UNDEF_INT ? config->blocking : otherwise;
}

ncclResult_t sim_comm_join(ncclComm_t *comm, const char *name, int ranks, int rank, bool blocks)
{
	ncclResult_t result = sim_comm_attach(comm, name, ranks, rank, -1);

	if (!result) {
		(*comm)->blocks = blocks;
		(*comm)->is_deferred = sim_group_defers(*comm);
	}
	if (result || (*comm)->is_deferred)
		return sim_group_result(result);
	return blocks ? sim_comm_wait_all(*comm) : ncclInProgress;
}

static ncclResult_t make(const char *function, ncclComm_t *comm, const char *name, int ranks,
			 int rank, const ncclConfig_t *config)
{
	ncclResult_t result;

	sim_nvtx_begin_call(function);
	result = sim_comm_join(comm, name, ranks, rank, sim_comm_blocks(config, true));
	sim_nvtx_end_made(result && result != ncclInProgress ? NULL : *comm);
	return result;
}

SIM_NCCL_EXPORT ncclResult_t ncclGetVersion(int *version)
{
	if (!version)
		return ncclInvalidArgument;
	*version = NCCL_VERSION_CODE;
	return ncclSuccess;
}

SIM_NCCL_EXPORT const char *ncclGetErrorString(ncclResult_t result)
{
	return result ? "simulated NCCL error" : "no error";
}

SIM_NCCL_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
	static _Atomic int number;
	struct timespec now;

	if (!id)
		return ncclInvalidArgument;
	clock_gettime(CLOCK_REALTIME, &now);
	memset(id, 0, sizeof(*id));
	snprintf(id->internal, sizeof(id->internal), "/simnccl-%d-%d-%lld%09ld", (int)getpid(),
		 atomic_fetch_add(&number, 1), (long long)now.tv_sec, now.tv_nsec);
	return ncclSuccess;
}

SIM_NCCL_EXPORT ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id,
					      int rank)
{
	id.internal[sizeof(id.internal) - 1] = 0;
	return make("ncclCommInitRank", comm, id.internal, ranks, rank, NULL);
}

SIM_NCCL_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id,
						    int rank, ncclConfig_t *config)
{
	id.internal[sizeof(id.internal) - 1] = 0;
	return make("ncclCommInitRankConfig", comm, id.internal, ranks, rank, config);
}

SIM_NCCL_EXPORT ncclResult_t ncclCommInitRankScalable(ncclComm_t *comm, int ranks, int rank,
						      int count, ncclUniqueId *ids,
						      ncclConfig_t *config)
{
	if (!ids || count < 1)
		return sim_group_result(ncclInvalidArgument);
	return make("ncclCommInitRankScalable", comm, ids[0].internal, ranks, rank, config);
}

static ncclResult_t make_all(ncclComm_t *comms, int count, const int *devices)
{
	ncclUniqueId id;
	ncclResult_t result = comms ? ncclGetUniqueId(&id) : ncclInvalidArgument;

	for (int i = 0; !result && i < count; i++)
		result =
			sim_comm_attach(&comms[i], id.internal, count, i, devices ? devices[i] : i);
	return result ? result : sim_comm_wait_all(comms[0]);
}

SIM_NCCL_EXPORT ncclResult_t ncclCommInitAll(ncclComm_t *comms, int count, const int *devices)
{
	ncclResult_t result;

	sim_nvtx_begin_call("ncclCommInitAll");
	result = make_all(comms, count, devices);
	sim_nvtx_end_all(result ? NULL : comms[0], count);
	return result;
}

SIM_NCCL_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	return comm ? ncclSuccess : ncclInvalidArgument;
}

static ncclResult_t destroy(ncclComm_t comm)
{
	unsigned int times = 0;

	while (atomic_load(&comm->meetings))
		sim_nccl_nap(&times);
	sim_profiler_wait();
	sim_profiler_finalize(comm);
	munmap(comm->shared, sizeof(*comm->shared));
	free(comm);
	return ncclSuccess;
}

SIM_NCCL_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	ncclResult_t result;

	sim_nvtx_begin_destroy(comm);
	result = comm ? destroy(comm) : ncclSuccess;
	sim_nvtx_end();
	return result;
}

SIM_NCCL_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	if (!comm)
		return ncclSuccess;
	atomic_store(&comm->shared->aborted, 1);
	return destroy(comm);
}

SIM_NCCL_EXPORT ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
	if (!comm || !count)
		return ncclInvalidArgument;
	*count = comm->is_deferred ? 0 : comm->ranks;
	return sim_comm_ensure_ready(comm);
}

SIM_NCCL_EXPORT ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int *device)
{
	if (!comm || !device)
		return ncclInvalidArgument;
	*device = comm->device;
	return sim_comm_ensure_ready(comm);
}

SIM_NCCL_EXPORT ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
	if (!comm || !rank)
		return ncclInvalidArgument;
	*rank = comm->rank;
	return sim_comm_ensure_ready(comm);
}

/* Of a group that has not ended NCCL knows nothing here either. */
static ncclResult_t state_of(ncclComm_t comm)
{
	if (atomic_load(&comm->shared->aborted))
		return ncclRemoteError;
	if (comm->is_deferred)
		return ncclSuccess;
	if (!sim_comm_is_whole(comm))
		return ncclInProgress;
	if (!comm->blocks)
		sim_comm_wait_all(comm);
	return comm->part.place ? sim_part_go_on(&comm->part, false) : ncclSuccess;
}

SIM_NCCL_EXPORT ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
	if (!comm || !error)
		return ncclInvalidArgument;
	*error = state_of(comm);
	return ncclSuccess;
}
