/* SPDX-License-Identifier: Apache-2.0
 *
 * The profiler interface of the simulated libnccl.so.2, version by version as NVIDIA's headers have
 * it (src/include/plugin/profiler/profiler_v4.h to _v6.h): what a plug-in is given.
 */
#ifndef SIMCUDA_NCCL_PROFILER_H
#define SIMCUDA_NCCL_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	SIM_PROFILE_GROUP = 1 << 0,
	SIM_PROFILE_COLL = 1 << 1,
	SIM_PROFILE_P2P = 1 << 2,
	SIM_PROFILE_PROXY_OP = 1 << 3,
	SIM_PROFILE_PROXY_STEP = 1 << 4,
	SIM_PROFILE_GROUP_API = 1 << 8,
	SIM_PROFILE_COLL_API = 1 << 9,
	SIM_PROFILE_P2P_API = 1 << 10,
};

enum {
	SIM_STATE_SEND_GPU_WAIT = 8,
	SIM_STATE_SEND_WAIT = 9,
	SIM_STATE_RECV_WAIT = 10,
	SIM_STATE_RECV_FLUSH_WAIT = 11,
	SIM_STATE_RECV_GPU_WAIT = 12,
	SIM_STATE_OP_IN_PROGRESS = 19,
	SIM_STATE_SEND_PEER_WAIT = 20,
};

/* The types of version 4 (uint8_t) and of the later ones (uint64_t), and what has changed in them
 * since. */
#define SIM_DESCRIPTOR(name, type_of, more_coll)                                                   \
	struct name {                                                                              \
		type_of type;                                                                      \
		void *parentObj;                                                                   \
		int rank;                                                                          \
		union {                                                                            \
			struct {                                                                   \
				uint64_t seqNumber;                                                \
				const char *func;                                                  \
				void const *sendBuff;                                              \
				void *recvBuff;                                                    \
				size_t count;                                                      \
				int root;                                                          \
				const char *datatype;                                              \
				uint8_t nChannels;                                                 \
				uint8_t nWarps;                                                    \
				const char *algo;                                                  \
				const char *proto;                                                 \
				more_coll                                                          \
			} coll;                                                                    \
			struct {                                                                   \
				const char *func;                                                  \
				void *buff;                                                        \
				const char *datatype;                                              \
				size_t count;                                                      \
				int peer;                                                          \
				uint8_t nChannels;                                                 \
				more_coll                                                          \
			} p2p;                                                                     \
			struct {                                                                   \
				pid_t pid;                                                         \
				uint8_t channelId;                                                 \
				int peer;                                                          \
				int nSteps;                                                        \
				int chunkSize;                                                     \
				int isSend;                                                        \
			} proxyOp;                                                                 \
			struct {                                                                   \
				int step;                                                          \
			} proxyStep;                                                               \
		};                                                                                 \
	}

SIM_DESCRIPTOR(sim_descriptor_4, uint8_t, );
SIM_DESCRIPTOR(sim_descriptor_5, uint64_t, void *parentGroup;);

/* Of versions 2 and 3; @traffic: what only version 2 has. */
#define SIM_OLD_DESCRIPTOR(name, traffic)                                                          \
	struct name {                                                                              \
		uint8_t type;                                                                      \
		void *parentObj;                                                                   \
		int rank;                                                                          \
		union {                                                                            \
			struct {                                                                   \
				const char *name;                                                  \
				uint64_t commHash;                                                 \
				uint64_t seqNumber;                                                \
				const char *func;                                                  \
				void const *sendBuff;                                              \
				void *recvBuff;                                                    \
				size_t count;                                                      \
				int root;                                                          \
				const char *datatype;                                              \
				traffic uint8_t nMaxChannels;                                      \
				uint8_t nWarps;                                                    \
				const char *algo;                                                  \
				const char *proto;                                                 \
			} coll;                                                                    \
			struct {                                                                   \
				const char *name;                                                  \
				uint64_t commHash;                                                 \
				const char *func;                                                  \
				void *buff;                                                        \
				const char *datatype;                                              \
				size_t count;                                                      \
				int peer;                                                          \
			} p2p;                                                                     \
		};                                                                                 \
	}

SIM_OLD_DESCRIPTOR(sim_descriptor_2, size_t trafficBytes;);
SIM_OLD_DESCRIPTOR(sim_descriptor_3, );

union sim_state_args {
	size_t transSize;
	void *data;
};

typedef void (*sim_logger)(int level, unsigned long flags, const char *file, int line,
			   const char *format, ...);

/* init is of the version: see both. */
struct sim_profiler {
	const char *name;
	void (*init)(void);
	int (*startEvent)(void *context, void **handle, void *descriptor);
	int (*stopEvent)(void *handle);
	int (*recordEventState)(void *handle, int state, union sim_state_args *args);
	int (*finalize)(void *context);
};

typedef int (*sim_init_2)(void **context, int *mask);
typedef int (*sim_init_4)(void **context, int *mask, const char *name, uint64_t hash, int nodes,
			  int ranks, int rank, sim_logger log);
typedef int (*sim_init_5)(void **context, uint64_t hash, int *mask, const char *name, int nodes,
			  int ranks, int rank, sim_logger log);

#endif
