/* SPDX-License-Identifier: Apache-2.0
 *
 * What the three simulated libraries (libcuda, libcudart, libcupti) know of each other.
 * libcuda is the device; the other two reach it through cuGetExportTable(SIM_TABLE_UUID), as the
 * real ones reach the real driver through private tables. Shares nothing with the tracer.
 */
#ifndef SIMCUDA_SIM_H
#define SIMCUDA_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#define SIM_MAX_CBID    1024
#define sim_likely(x)   __builtin_expect(!!(x), 1)
#define sim_unlikely(x) __builtin_expect(!!(x), 0)
#define SIM_TABLE_UUID                                                                             \
	{                                                                                          \
		{                                                                                  \
			's', 'i', 'm', 'c', 'u', 'd', 'a', '-', 't', 'a', 'b', 'l', 'e', '-', '0', \
				'1'                                                                \
		}                                                                                  \
	}

/* Numbers of CUpti_CallbackDomain. */
enum sim_domain { SIM_DRIVER = 1, SIM_RUNTIME = 2 };

/* One API call under way; lives on the caller's stack. */
struct sim_call {
	uint32_t domain;
	uint32_t cbid;
	const char *name;
	const void *params;
	const char *symbol;     /* launches: the kernel's name */
	struct sim_call *outer; /* the call that made this one */
	uint64_t start;         /* ns, CLOCK_REALTIME; 0 while nobody wants them */
	uint64_t end;
	uint64_t client_data; /* CUpti_CallbackData.correlationData */
	uint32_t correlation;
	int result;
	bool announced; /* the client saw it begin, so it sees it end */
};

enum sim_op_kind { SIM_OP_KERNEL, SIM_OP_MEMCPY, SIM_OP_MEMSET, SIM_OP_GRAPH };

struct sim_kernel_facts {
	const char *name;
	uint32_t grid[3];
	uint32_t block[3];
	uint32_t cluster[3];
	uint32_t registers;
	uint32_t static_shared;
	uint32_t dynamic_shared;
	uint32_t local_per_thread;
	uint64_t grid_id;
	uint8_t launch_type; /* CUpti_ActivityLaunchType */
};

/* Symbol of a call that launches no kernel: CUPTI 13.0 leaves there what it finds, so whoever
 * follows it crashes here. */
#define SIM_NO_SYMBOL ((const char *)0xdb0)

/* Kinds are CUpti_ActivityMemcpyKind and CUpti_ActivityMemoryKind. */
struct sim_copy_facts {
	uint64_t bytes;
	uint8_t copy_kind;
	uint8_t src_kind;
	uint8_t dst_kind;
	bool async;
	bool peer;
	uint32_t src_device;
	uint32_t src_context;
	uint32_t dst_device;
	uint32_t dst_context;
};

struct sim_set_facts {
	uint64_t bytes;
	uint32_t value;
	uint8_t memory_kind;
	bool async;
};

/* One operation with its place on the device's timeline: all of it is known when it is
 * submitted. */
struct sim_op {
	enum sim_op_kind kind;
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t channel;
	uint32_t graph; /* executable graph, 0 outside graphs */
	uint64_t node;
	uint64_t queued;
	uint64_t submitted;
	uint64_t start;
	uint64_t end;
	union {
		struct sim_kernel_facts kernel;
		struct sim_copy_facts copy;
		struct sim_set_facts set;
	};
};

/* A function that a stream, or a node of a graph, had a host thread run: the calling one. */
struct sim_host_function {
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t graph; /* executable graph, 0 outside graphs */
	uint64_t node;
	uint64_t start;
	uint64_t end;
};

/* Something was made or is about to go: numbers of CUpti_CallbackIdResource. */
struct sim_resource {
	uint32_t cbid;
	uint32_t correlation;
	CUcontext context;
	uint32_t context_id;
	uint32_t device;
	CUstream stream;
	uint32_t stream_id;
	int priority;
	unsigned int stream_flags;
	uint32_t module_id;
	size_t image_size;
	const void *image;
	CUgraph graph;
	CUgraph original_graph;
	CUgraphNode node;
	CUgraphNode original_node;
	CUgraphNode dependency;
	CUgraphNodeType node_type;
	CUgraphExec exec;
};

enum sim_sync_kind { SIM_SYNC_EVENT = 1, SIM_SYNC_WAIT_EVENT, SIM_SYNC_STREAM, SIM_SYNC_CONTEXT };

/* A host thread waited (or a stream was told to): numbers of CUpti_ActivitySynchronizationType. */
struct sim_sync {
	enum sim_sync_kind kind;
	uint32_t correlation;
	CUcontext context;
	CUstream stream;
	uint32_t context_id;
	uint32_t stream_id;
	uint32_t event_id;
	uint32_t event_sync_id;
	uint64_t start;
	uint64_t end;
	int result;
};

struct sim_event_recorded {
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t event_id;
	uint32_t event_sync_id;
	uint64_t timestamp;
};

/* Memory came or went; pool operations have a pool address. */
#define SIM_MEMORY_PREFETCH 100 /* of managed memory: device says where to, UINT32_MAX: the CPU */
struct sim_memory {
	uint32_t operation; /* CUpti_ActivityMemoryOperationType or ...PoolOperationType */
	uint32_t memory_kind;
	uint32_t correlation;
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint64_t address;
	uint64_t bytes;
	uint64_t timestamp;
	uint64_t pool;
	uint64_t pool_size;
	uint64_t pool_used;
	uint64_t pool_threshold;
	bool async;
	bool is_pool;
};

/* What a device says of itself. */
struct sim_device_facts {
	const char *name;
	const char *chip;
	uint64_t memory;
	uint64_t bandwidth_kbs;
	uint32_t clock_khz;
	uint32_t memory_clock_khz;
	uint32_t bus_bits;
	uint32_t multiprocessors;
	uint32_t major;
	uint32_t minor;
	uint32_t l2_bytes;
	uint32_t shared_per_multiprocessor;
	uint32_t shared_per_block_optin;
	uint32_t registers_per_multiprocessor;
	uint32_t threads_per_multiprocessor;
	uint32_t blocks_per_multiprocessor;
	uint32_t copy_engines;
};

/* What libcupti hands to the device: it gets everything and picks what its client asked for. */
struct sim_client {
	void (*call_enter)(struct sim_call *call);
	void (*call_exit)(struct sim_call *call);
	void (*operation)(const struct sim_op *op);
	void (*resource)(const struct sim_resource *what);
	void (*synchronized)(const struct sim_sync *sync);
	void (*host_function)(const struct sim_host_function *function);
	void (*event_recorded)(const struct sim_event_recorded *event);
	void (*memory)(const struct sim_memory *memory);
	void (*initialised)(void);
};

/* The private table. */
struct sim_table {
	const _Atomic unsigned int *watching; /* nonzero: calls must be announced */
	void (*call_enter)(struct sim_call *call);
	int (*call_exit)(struct sim_call *call, int result);
	const char *(*symbol_of)(CUfunction function);
	void (*set_client)(const struct sim_client *client);
	void (*want_call_times)(void); /* until then calls have no start and end */
	uint64_t (*now)(void);
	uint64_t (*done_until)(void); /* operations that end by then are done */
	void (*truth)(const char *format, ...) __attribute__((format(printf, 1, 2)));
	const _Atomic bool *truth_is_on; /* somebody reads it */
	bool (*driver_ready)(void);      /* cuInit succeeded in this process */
	bool (*driver_gone)(void);       /* its atexit handler has run */
	bool (*in_init)(void);           /* this thread is inside cuInit */
	int (*device_count)(void);
	const struct sim_device_facts *(*device_facts)(int ordinal);
	void (*device_uuid)(int ordinal, unsigned char uuid[16]);
	uint32_t (*current_correlation)(void);
	uint32_t (*context_id)(CUcontext context);
	int (*context_device)(CUcontext context);
	CUcontext (*current_context)(void);
	uint32_t (*stream_id)(CUcontext context, CUstream stream, bool per_thread);
	uint32_t (*graph_id)(CUgraph graph);
	uint32_t (*exec_id)(CUgraphExec exec);
	uint64_t (*node_id)(CUgraphNode node);
	/* For dumps of what exists: calls back with CONTEXT_CREATED and STREAM_CREATED. */
	void (*walk)(void (*visit)(const struct sim_resource *what));
	/* The calling thread's next kernel ends when @end says so, which a thread of the driver
	 * calls and which may wait; NULL: as others. True: the one before has not been launched. */
	bool (*meet)(uint64_t (*end)(void *data, uint64_t start), void *data);
};

#endif
