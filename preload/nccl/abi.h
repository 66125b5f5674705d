/* SPDX-License-Identifier: Apache-2.0
 *
 * NCCL's profiler interface, versions 2 (NCCL 2.24 and later), 3 (2.26), 4 (2.27), 5 (2.28) and 6
 * (2.29), as far as the plug-in needs it (NVIDIA/nccl src/include/plugin/profiler/). From 4 on they
 * differ in the order of the parameters of init and in the width of the type; what is read of an
 * event lies at the same offsets.
 */
#ifndef GT_PRELOAD_NCCL_ABI_H
#define GT_PRELOAD_NCCL_ABI_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Kinds of events, and bits of the mask of those that are wanted. */
enum {
	NCCL_EVENT_COLLECTIVE = 1 << 1,
	NCCL_EVENT_MESSAGE = 1 << 2,
	NCCL_EVENT_PROXY_OP = 1 << 3,
	NCCL_EVENT_PROXY_STEP = 1 << 4,
};

/* States of a transfer; the others have no meaning here. */
enum {
	NCCL_STATE_SEND_GPU_WAIT = 8,
	NCCL_STATE_SEND_WAIT = 9,
	NCCL_STATE_RECEIVE_WAIT = 10,
	NCCL_STATE_RECEIVE_FLUSH_WAIT = 11,
	NCCL_STATE_RECEIVE_GPU_WAIT = 12,
	NCCL_STATE_SEND_PEER_WAIT = 20,
	NCCL_STATE_COUNT = 21,
};

/* What an event tells when it begins. */
struct nccl_event {
	uint64_t type; /* of version 4 the lowest byte alone, the others are not set */
	void *parent;  /* of a proxy operation the operation, of a transfer the proxy operation */
	int rank;
	union {
		struct {
			uint64_t sequence; /* among its communicator's of the same function */
			const char *function;
			const void *from;
			void *to;
			size_t count;
			int root;
			const char *type;
			uint8_t channels, warps;
			const char *algorithm, *protocol;
		} collective;
		struct {
			const char *function;
			void *buffer;
			const char *type;
			size_t count;
			int peer;
			uint8_t channels; /* not set where a newer NCCL speaks version 4 */
		} message;
		struct {
			pid_t pid; /* of the process whose operation it is */
			uint8_t channel;
			int peer, steps, chunk, sends;
		} proxy;
		struct {
			int step;
		} transfer;
	};
};

_Static_assert(offsetof(struct nccl_event, collective.type) == 72 &&
		       offsetof(struct nccl_event, collective.protocol) == 96 &&
		       offsetof(struct nccl_event, message.channels) == 60 &&
		       offsetof(struct nccl_event, proxy.sends) == 44,
	       "the layout of ncclProfilerEventDescr_v4_t, _v5_t, _v6_t");

/* The operations of versions 2 and 3: they name the communicator, whose init tells nothing. What is
 * behind type differs, and proxies and transfers are as above. */
struct nccl_event_2 {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *name;
			uint64_t hash, sequence;
			const char *function;
			const void *from;
			void *to;
			size_t count;
			int root;
			const char *type;
			union {
				struct {
					size_t traffic;
					uint8_t most_channels, warps;
					const char *algorithm, *protocol;
				} of_2;
				struct {
					uint8_t most_channels, warps;
					const char *algorithm, *protocol;
				} of_3;
			};
		} collective;
		struct {
			const char *name;
			uint64_t hash;
			const char *function;
			void *buffer;
			const char *type;
			size_t count;
			int peer;
		} message;
	};
};

_Static_assert(offsetof(struct nccl_event_2, collective.type) == 88 &&
		       offsetof(struct nccl_event_2, collective.of_2.protocol) == 120 &&
		       offsetof(struct nccl_event_2, collective.of_3.protocol) == 112 &&
		       offsetof(struct nccl_event_2, message.peer) == 72,
	       "the layout of ncclProfilerEventDescr_v2_t, _v3_t");

/* What a state tells, of transfers. */
union nccl_state_args {
	size_t bytes;
};

/* NCCL's own log, which is not used. */
typedef void (*nccl_log)(int level, unsigned long flags, const char *file, int line,
			 const char *format, ...);

/* ncclProfiler_v2_t, ncclProfiler_v3_t, whose states of transfers come without arguments */
struct nccl_profiler_2 {
	const char *name;
	int (*init)(void **context, int *mask);
	int (*start)(void *context, void **handle, struct nccl_event *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, union nccl_state_args *args);
	int (*finalize)(void *context);
};

/* ncclProfiler_v4_t */
struct nccl_profiler_4 {
	const char *name;
	int (*init)(void **context, int *mask, const char *communicator, uint64_t hash, int nodes,
		    int ranks, int rank, nccl_log log);
	int (*start)(void *context, void **handle, struct nccl_event *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, union nccl_state_args *args);
	int (*finalize)(void *context);
};

/* ncclProfiler_v5_t, ncclProfiler_v6_t */
struct nccl_profiler_5 {
	const char *name;
	int (*init)(void **context, uint64_t hash, int *mask, const char *communicator, int nodes,
		    int ranks, int rank, nccl_log log);
	int (*start)(void *context, void **handle, struct nccl_event *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, union nccl_state_args *args);
	int (*finalize)(void *context);
};

#endif
