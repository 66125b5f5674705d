/* SPDX-License-Identifier: Apache-2.0
 *
 * The plug-in of NCCL's profiler interface, as src/plugin/profiler.cc of NCCL 2.30 uses one: found
 * by NCCL_PROFILER_PLUGIN, asked for its versions from the newest on, opened with the first
 * communicator and closed with the last. Operations are reported behind their launch, by the thread
 * that launches.
 *
 *   SIMNCCL_PROFILER=N    the newest version that this NCCL knows (6), to 2
 *   SIMNCCL_NETWORK=NS    the proxies transfer what collectives and sends give: in each state of
 * each transfer they wait so long
 *   SIMNCCL_AHEAD=NS      so long before they are at it their proxy operations are begun
 */
#include "nccl/profiler.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "nccl/sim_nccl.h"

#define CHANNELS 2
#define STEPS    3
#define NEWEST   6
#define OLDEST   2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int references;
static bool has_failed;
static void *library;
static const struct sim_profiler *profiler;
static int version, mask;

/* ---- the plug-in ---- */

static void *open_library(const char *name)
{
	char other[512];
	void *found;

	if (!name)
		name = "libnccl-profiler.so";
	found = dlopen(strcasecmp(name, "STATIC_PLUGIN") ? name : NULL, RTLD_NOW | RTLD_LOCAL);
	if (found || strchr(name, '/'))
		return found;
	snprintf(other, sizeof(other), "libnccl-profiler-%s.so", name);
	return dlopen(other, RTLD_NOW | RTLD_LOCAL);
}

static bool load(void)
{
	const char *name = getenv("NCCL_PROFILER_PLUGIN"), *newest = getenv("SIMNCCL_PROFILER");

	if (name && !strcasecmp(name, "none"))
		return false;
	library = open_library(name);
	for (version = newest ? atoi(newest) : NEWEST; library && version >= OLDEST; version--) {
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", version);
		profiler = dlsym(library, symbol);
		if (profiler)
			return true;
	}
	if (library)
		dlclose(library);
	library = NULL;
	return false;
}

static void log_nothing(int level, unsigned long flags, const char *file, int line,
			const char *format, ...)
{
	(void)level, (void)flags, (void)file, (void)line, (void)format;
}

static int init(ncclComm_t comm)
{
	if (version < 4)
		return ((sim_init_2)profiler->init)(&comm->profiler, &mask);
	if (version == 4)
		return ((sim_init_4)profiler->init)(&comm->profiler, &mask, NULL, comm->hash, 1,
						    comm->ranks, comm->rank, log_nothing);
	return ((sim_init_5)profiler->init)(&comm->profiler, comm->hash, &mask, NULL, 1,
					    comm->ranks, comm->rank, log_nothing);
}

void sim_profiler_init(ncclComm_t comm)
{
	pthread_mutex_lock(&lock);
	for (const char *c = comm->name; *c; c++) /* the same in all members */
		comm->hash = (comm->hash ^ (uint64_t)(unsigned char)*c) * 0x100000001b3u;
	if (!profiler && !has_failed)
		has_failed = !load();
	if (profiler) {
		references++;
		init(comm);
	}
	pthread_mutex_unlock(&lock);
}

void sim_profiler_finalize(ncclComm_t comm)
{
	pthread_mutex_lock(&lock);
	if (profiler && comm->profiler) {
		profiler->finalize(comm->profiler);
		comm->profiler = NULL;
		if (--references == 0) {
			profiler = NULL;
			dlclose(library);
		}
	}
	pthread_mutex_unlock(&lock);
}

/* ---- events ---- */

/* What only the older versions have, of a communicator. */
#define FILL_OLD(old, d, hash)                                                                     \
	do {                                                                                       \
		(old)->type = (uint8_t)(d)->type;                                                  \
		(old)->parentObj = (d)->parentObj;                                                 \
		(old)->rank = (d)->rank;                                                           \
		if ((d)->type == SIM_PROFILE_P2P) {                                                \
			(old)->p2p.commHash = hash;                                                \
			(old)->p2p.func = (d)->p2p.func;                                           \
			(old)->p2p.datatype = (d)->p2p.datatype;                                   \
			(old)->p2p.count = (d)->p2p.count;                                         \
			(old)->p2p.peer = (d)->p2p.peer;                                           \
		} else {                                                                           \
			(old)->coll.commHash = hash;                                               \
			(old)->coll.func = (d)->coll.func;                                         \
			(old)->coll.count = (d)->coll.count;                                       \
			(old)->coll.datatype = (d)->coll.datatype;                                 \
			(old)->coll.nMaxChannels = (d)->coll.nChannels;                            \
			(old)->coll.algo = (d)->coll.algo;                                         \
			(old)->coll.proto = (d)->coll.proto;                                       \
		}                                                                                  \
	} while (0)

/* Of the older versions the rest of a descriptor is what lay on the stack. */
static void *start_of(ncclComm_t comm, void *context, struct sim_descriptor_5 *descriptor)
{
	union {
		struct sim_descriptor_2 of_2;
		struct sim_descriptor_3 of_3;
		struct sim_descriptor_4 of_4;
	} old;
	bool is_operation =
		descriptor->type == SIM_PROFILE_COLL || descriptor->type == SIM_PROFILE_P2P;
	void *handle = (void *)-1;

	if (version > 4) {
		profiler->startEvent(context, &handle, descriptor);
		return handle;
	}
	if (descriptor->type > UINT8_MAX)
		return NULL;
	memset(&old, 0xa5, sizeof(old));
	if (version == 4 || !is_operation) {
		memcpy(&old.of_4.rank, &descriptor->rank,
		       sizeof(old.of_4) - offsetof(struct sim_descriptor_4, rank));
		old.of_4.parentObj = descriptor->parentObj;
		old.of_4.type = (uint8_t)descriptor->type;
	} else if (version == 3) {
		FILL_OLD(&old.of_3, descriptor, comm->hash);
	} else {
		FILL_OLD(&old.of_2, descriptor, comm->hash);
	}
	profiler->startEvent(context, &handle, &old);
	return handle;
}

/* Of what is no operation. */
static void *start(void *context, struct sim_descriptor_5 *descriptor)
{
	return start_of(NULL, context, descriptor);
}

static void stop(void *handle)
{
	if (handle)
		profiler->stopEvent(handle);
}

static void state(void *handle, int to, size_t bytes)
{
	union sim_state_args args = {.transSize = bytes};

	if (handle)
		profiler->recordEventState(handle, to, version < 4 ? NULL : &args);
}

static const char *const functions[] = {"AllReduce",     "Broadcast", "Reduce", "AllGather",
					"ReduceScatter", "AlltoAll",  "Gather", "Scatter",
					"Send",          "Recv"};
static const char *const types[] = {"ncclInt8",     "Unknown",        "ncclInt32",
				    "ncclUint32",   "ncclInt64",      "ncclUint64",
				    "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
				    "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

static bool is_message(const struct sim_operation *op)
{
	return op->function == SIM_SEND || op->function == SIM_RECV;
}

static void *begin_message(const struct sim_operation *op, void *group)
{
	struct sim_descriptor_5 d = {.type = SIM_PROFILE_P2P, .rank = op->comm->rank};

	d.p2p.func = functions[op->function];
	d.p2p.datatype = types[op->type];
	d.p2p.count = op->count;
	d.p2p.peer = op->peer;
	d.p2p.nChannels = CHANNELS;
	d.p2p.parentGroup = d.parentObj = group;
	return start_of(op->comm, op->comm->profiler, &d);
}

static void *begin_collective(const struct sim_operation *op, void *group)
{
	bool is_tree = op->function == SIM_ALL_REDUCE;
	struct sim_descriptor_5 d = {.type = SIM_PROFILE_COLL, .rank = op->comm->rank};

	d.coll.seqNumber = op->comm->counts[op->function]++;
	d.coll.func = functions[op->function];
	d.coll.count = op->count;
	d.coll.root = op->peer;
	d.coll.datatype = types[op->type];
	d.coll.nChannels = is_tree ? CHANNELS : 1;
	d.coll.nWarps = 16;
	d.coll.algo = is_tree ? "TREE" : "RING";
	d.coll.proto = op->count > 1024 ? "SIMPLE" : "LL";
	d.coll.parentGroup = d.parentObj = group;
	return start_of(op->comm, op->comm->profiler, &d);
}

/* ---- the proxies' thread ---- */

struct work {
	struct work *next;
	void *context, *operation;
	bool is_send, is_receive;
	long ns, ahead;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct work *first, **last;
	int open;
	bool is_running;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static void nap(long ns)
{
	struct timespec time = {ns / 1000000000, ns % 1000000000};

	nanosleep(&time, NULL);
}

/* A receive in the order of its states, as transport/net.cc goes through them; that of the peer
 * comes at each turn. */
static void transfer(const struct work *work, void *op, bool sends, int step)
{
	static const int states[2][3] = {
		{SIM_STATE_RECV_WAIT, SIM_STATE_RECV_FLUSH_WAIT, SIM_STATE_RECV_GPU_WAIT},
		{SIM_STATE_SEND_GPU_WAIT, SIM_STATE_SEND_PEER_WAIT, SIM_STATE_SEND_WAIT}};
	struct sim_descriptor_5 d = {.type = SIM_PROFILE_PROXY_STEP, .parentObj = op};
	void *handle;

	d.proxyStep.step = step;
	handle = start(work->context, &d);
	for (int i = 0; i < 3; i++) {
		state(handle, states[sends][i], 4096);
		nap(work->ns);
		state(handle, states[sends][i], 4096);
	}
	stop(handle);
}

static void *begin_proxy(const struct work *work, int channel, bool sends, pid_t pid)
{
	struct sim_descriptor_5 d = {.type = SIM_PROFILE_PROXY_OP, .parentObj = work->operation};
	void *op;

	d.proxyOp.pid = pid;
	d.proxyOp.channelId = (uint8_t)channel;
	d.proxyOp.nSteps = STEPS;
	d.proxyOp.chunkSize = 4096;
	d.proxyOp.isSend = sends;
	op = start(work->context, &d);
	state(op, SIM_STATE_OP_IN_PROGRESS, 0);
	return op;
}

/* All of an operation are begun, then wait for the kernels before theirs, then done; NCCL does not
 * tell the end of each receive. */
static void progress(const struct work *work)
{
	void *ops[2 * CHANNELS] = {NULL};

	for (int i = 0; i < 2 * CHANNELS; i++)
		if (i % 2 ? work->is_send : work->is_receive)
			ops[i] = begin_proxy(work, i / 2, i % 2, getpid());
	nap(work->ahead);
	for (int i = 0; i < 2 * CHANNELS; i++)
		for (int step = 0; ops[i] && step < STEPS; step++)
			transfer(work, ops[i], i % 2, step);
	for (int i = 0; i < 2 * CHANNELS; i++)
		if (i)
			stop(ops[i]);
	stop(begin_proxy(work, 0, true, getpid() + 1)); /* of another process, as with PXN */
}

static void *serve(void *nothing)
{
	pthread_mutex_lock(&queue.lock);
	for (;;) {
		struct work *work = queue.first;

		if (!work) {
			pthread_cond_wait(&queue.more, &queue.lock);
			continue;
		}
		queue.first = work->next;
		pthread_mutex_unlock(&queue.lock);
		progress(work);
		free(work);
		pthread_mutex_lock(&queue.lock);
		queue.open--;
	}
	return nothing;
}

static void put(struct work *work)
{
	pthread_t thread;

	pthread_mutex_lock(&queue.lock);
	if (!queue.is_running)
		queue.is_running =
			!pthread_create(&thread, NULL, serve, NULL) && !pthread_detach(thread);
	work->next = NULL;
	if (!queue.first)
		queue.last = &queue.first;
	*queue.last = work;
	queue.last = &work->next;
	queue.open++;
	pthread_cond_signal(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

/* Before a communicator ends. */
void sim_profiler_wait(void)
{
	for (int open = 1; open; nap(open ? 100000 : 0)) {
		pthread_mutex_lock(&queue.lock);
		open = queue.open;
		pthread_mutex_unlock(&queue.lock);
	}
}

static void post(const struct sim_operation *op, void *operation)
{
	const char *ns = getenv("SIMNCCL_NETWORK"), *ahead = getenv("SIMNCCL_AHEAD");
	struct work *work = ns && op->comm->ranks > 1 ? malloc(sizeof(*work)) : NULL;

	if (!work)
		return;
	*work = (struct work){.context = op->comm->profiler,
			      .operation = operation,
			      .is_send = op->function != SIM_RECV,
			      .is_receive = op->function != SIM_SEND,
			      .ns = atol(ns),
			      .ahead = ahead ? atol(ahead) : 0};
	put(work);
}

/* ---- a launch ---- */

/* What a plug-in did not ask for comes all the same, if something below it was asked for. */
static void *begin_api(ncclComm_t comm, uint64_t type, void *parent)
{
	struct sim_descriptor_5 d = {.type = type, .rank = comm->rank, .parentObj = parent};

	return mask ? start(comm->profiler, &d) : NULL;
}

void sim_profiler_launched(const struct sim_operation *operations, size_t count)
{
	ncclComm_t comm = operations->comm;
	void *api, *call, *group;

	if (!comm->profiler || !profiler)
		return;
	api = begin_api(comm, SIM_PROFILE_GROUP_API, NULL);
	call = begin_api(comm, is_message(operations) ? SIM_PROFILE_P2P_API : SIM_PROFILE_COLL_API,
			 api);
	group = begin_api(comm, SIM_PROFILE_GROUP, NULL);
	for (size_t i = 0; i < count; i++) {
		const struct sim_operation *op = &operations[i];
		int wanted = is_message(op) ? SIM_PROFILE_P2P : SIM_PROFILE_COLL;
		void *handle = NULL;

		if (mask & (wanted | SIM_PROFILE_PROXY_OP | SIM_PROFILE_PROXY_STEP))
			handle = is_message(op) ? begin_message(op, group)
						: begin_collective(op, group);
		if (mask & (SIM_PROFILE_PROXY_OP | SIM_PROFILE_PROXY_STEP))
			post(op, handle);
		stop(handle);
	}
	stop(group);
	stop(call);
	stop(api);
}
