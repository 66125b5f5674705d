/* SPDX-License-Identifier: Apache-2.0
 *
 * Events, free of vendor types: one struct gt_event per finished thing (a call, a kernel, a copy, a
 * loss). Collectors make them, writers print them; nothing here depends on CUDA or JSON.
 *
 * All times are nanoseconds since the Unix epoch on the trace clock (core/guest/clock.h):
 * CLOCK_REALTIME at the start of the session plus CLOCK_MONOTONIC since, so they never step.
 * Strings are interned (core/intern.h) and live as long as the session. Events live on the stack of
 * the drain thread; a writer that keeps one copies it.
 */
#ifndef GT_CORE_SCHEMA_EVENT_H
#define GT_CORE_SCHEMA_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/schema/library_call.h"
#include "core/schema/os_call.h"
#include "core/schema/unified.h"

struct gt_string;
struct gt_stack_frame;
struct gt_stack;

/* Kinds of events. */
enum gt_event_kind {
	GT_EVENT_API,    /* a CUDA call of the host */
	GT_EVENT_KERNEL, /* GPU operations ... */
	GT_EVENT_MEMCPY,
	GT_EVENT_MEMSET,
	GT_EVENT_SYNC,     /* ... up to here */
	GT_EVENT_OVERHEAD, /* cost of tracing, as CUPTI reports it */
	GT_EVENT_RANGE,    /* a named span of a host thread (NVTX, Python function, framework
			    * operator) */
	GT_EVENT_MARK,     /* a named instant of a host thread */
	GT_EVENT_FRAME,    /* a function in the call stacks of a host thread, --stack-lane */
	GT_EVENT_SAMPLE,   /* where a host thread was while it made no call, --sample-cpu */
	GT_EVENT_COUNTER,
	GT_EVENT_DEVICE, /* properties: once per device, context, stream, thread */
	GT_EVENT_CONTEXT,
	GT_EVENT_STREAM,
	GT_EVENT_THREAD,
	GT_EVENT_NOTE,   /* LOST, capture gap, clock step, option changed */
	GT_EVENT_GRAPH,  /* a GPU operation, too; behind the others, as .pftrace files have these
			  * numbers */
	GT_EVENT_TENSOR, /* a block of PyTorch's allocator, --memory */
	GT_EVENT_COUNT_
};

/* The library of a call. */
enum gt_api_domain { GT_API_RUNTIME, GT_API_DRIVER, GT_API_DOMAIN_COUNT_ };

/* The call that started a GPU operation: source of the flow and of "launched by". A copy in each
 * event, so that a writer may hold events back (to put a track in order) without lifetimes. */
struct gt_launch {
	bool known;    /* false: the call is not in the trace, no flow */
	bool first;    /* the first operation of its call: the flow starts here */
	bool governed; /* nor is this operation to be: --max-overhead */
	bool left_out; /* the call is not in the trace, by a filter: there is no flow */
	uint32_t tid;
	uint64_t start;               /* 0: the call is in another file, there is no flow */
	const struct gt_stack *stack; /* NULL: not captured */
	const struct gt_string *nvtx; /* innermost range open at the call, or NULL */
	uint64_t range;               /* that range's id, 0: none */
	uint64_t op;                  /* id of the innermost framework operator, 0: none */
	uint64_t library;             /* number of the collectives of --libraries, 0: none */
	const struct gt_stack
		*forward; /* of the forward operator, when op runs backward; or NULL */
};

/* A place on the GPU. */
struct gt_place {
	uint32_t device;
	uint32_t context;
	uint32_t stream;
	uint32_t channel;
	bool has_channel;
};

/* What a call did with memory: --memory. The numbers are in .pftrace files. */
enum gt_block_op {
	GT_BLOCK_NOTHING,
	GT_BLOCK_ALLOCATE,
	GT_BLOCK_RELEASE,
	GT_BLOCK_MAP,    /* physical memory into an address range: it holds the memory, too */
	GT_BLOCK_UNMAP,  /* an address range */
	GT_BLOCK_RETAIN, /* one more holder of physical memory */
	GT_BLOCK_RESET,  /* all memory of the context is gone */
	GT_BLOCK_NODE,   /* of a graph: its memory comes and goes with launches */
	GT_BLOCK_OP_COUNT_
};

/* Where an allocated block is, by the call that made it. */
enum gt_block_kind {
	GT_BLOCK_DEVICE,
	GT_BLOCK_POOL, /* stream-ordered, from a memory pool */
	GT_BLOCK_MANAGED,
	GT_BLOCK_ARRAY,
	GT_BLOCK_PHYSICAL, /* cuMemCreate: the address is the handle */
	GT_BLOCK_PINNED,   /* of the host */
	GT_BLOCK_TENSOR,   /* of PyTorch's allocator, in memory of the kinds above */
	GT_BLOCK_KIND_COUNT_
};

#define GT_BLOCK_NO_DEVICE UINT32_MAX

/* A block of memory in a call; when that failed, an ALLOCATE has no address. */
struct gt_block {
	uint8_t op;      /* enum gt_block_op */
	uint8_t kind;    /* enum gt_block_kind; of ALLOCATE */
	uint32_t device; /* GT_BLOCK_NO_DEVICE: not known */
	uint64_t address;
	uint64_t bytes;   /* ALLOCATE, MAP, UNMAP; 0: not known */
	uint64_t handle;  /* MAP, RETAIN: of the physical memory */
	uint32_t context; /* ALLOCATE, RESET: CUPTI's id; 0: not known */
};

/* A CUDA call. */
struct gt_api_event {
	enum gt_api_domain domain;
	uint32_t cbid;
	int32_t result; /* cudaError_t or CUresult; 0 is success */
	bool enqueues;  /* starts GPU work: the GPU operation shows the stack */
	uint64_t op;    /* id of the innermost framework operator around it, 0: none */
	const struct gt_string *name;
	struct gt_block block; /* op GT_BLOCK_NOTHING: none, or not asked for */
};

/* A kernel. */
struct gt_kernel_event {
	const struct gt_string *name;    /* demangled */
	const struct gt_string *mangled; /* NULL: it is the name, or not known */
	uint64_t queued, submitted;      /* ns, 0: not measured */
	uint32_t grid[3], block[3], cluster[3];
	uint32_t registers;                                      /* per thread */
	uint32_t static_shared, dynamic_shared, shared_executed; /* bytes */
	uint32_t local_per_thread;                               /* bytes */
	uint32_t graph_id;                                       /* 0: not from a graph */
	uint64_t graph_node_id;
	uint64_t grid_id; /* CUPTI's number of the launch; 0: not known */
	/* Kernels of one trace with the same number have all of the above in common, from the name
	 * to the graph, but for times and ids, and all of the below to the limits; 0: compare */
	uint32_t configuration;
	bool cooperative;
	bool has_priority;
	int32_t priority;
	/* Derived from the DEVICE record (collectors/cupti/records/occupancy.h); has_occupancy
	 * false without one. */
	bool has_occupancy;
	uint64_t blocks_per_sm_micro; /* millionths */
	uint64_t warps_per_sm_micro;
	uint32_t est_occupancy_percent;
	uint32_t theoretical_occupancy_percent;
	/* Blocks that an SM holds at once, and how many each resource alone would allow; 0: not
	 * known, or no limit. */
	uint16_t resident_blocks;
	uint16_t limit_blocks, limit_warps, limit_registers, limit_shared;
	/* Where the graph node was captured or added. */
	const struct gt_stack *created;
	struct gt_library_call library; /* --libraries: the collectives that it does */
};

/* Kind of memory, as CUPTI_ACTIVITY_MEMORY_KIND_*. */
enum gt_memory_kind {
	GT_MEMORY_UNKNOWN,
	GT_MEMORY_PAGEABLE,
	GT_MEMORY_PINNED,
	GT_MEMORY_DEVICE,
	GT_MEMORY_ARRAY,
	GT_MEMORY_MANAGED,
	GT_MEMORY_DEVICE_STATIC,
	GT_MEMORY_MANAGED_STATIC,
	GT_MEMORY_KIND_COUNT_
};

/* Direction of a copy, as CUPTI_ACTIVITY_MEMCPY_KIND_*. */
enum gt_copy_kind {
	GT_COPY_UNKNOWN,
	GT_COPY_HTOD,
	GT_COPY_DTOH,
	GT_COPY_HTOA,
	GT_COPY_ATOH,
	GT_COPY_ATOA,
	GT_COPY_ATOD,
	GT_COPY_DTOA,
	GT_COPY_DTOD,
	GT_COPY_HTOH,
	GT_COPY_PTOP,
	GT_COPY_KIND_COUNT_
};

struct gt_memory_event { /* MEMCPY and MEMSET */
	uint64_t bytes;
	enum gt_copy_kind copy;       /* MEMCPY */
	enum gt_memory_kind src, dst; /* MEMSET: dst only */
	uint32_t value;               /* MEMSET */
	bool peer;                    /* MEMCPY between devices: */
	uint32_t src_device, dst_device;
	uint32_t graph_id;
	uint64_t graph_node_id;
	const struct gt_stack *created;
};

/* The replay of a whole CUDA graph by one launch: --graphs=whole. */
struct gt_graph_event {
	uint32_t graph_id;
	uint32_t nodes; /* a child graph counts as one; 0: not known */
	bool has_end_device;
	uint32_t end_device; /* of its last node, when that is not the place's */
	/* Where its first node was captured or added. */
	const struct gt_stack *created;
};

/* Kind of a synchronization, as CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_*, which end with CONTEXT. */
enum gt_sync_kind {
	GT_SYNC_UNKNOWN,
	GT_SYNC_EVENT,
	GT_SYNC_STREAM_WAIT_EVENT,
	GT_SYNC_STREAM,
	GT_SYNC_CONTEXT,
	GT_SYNC_HOST_FUNCTION, /* of cudaLaunchHostFunc or a graph: the stream waited for it */
	GT_SYNC_KIND_COUNT_
};

/* A synchronization on the GPU side. */
struct gt_sync_event {
	enum gt_sync_kind kind;
	uint32_t cuda_event; /* id, 0: none */
	bool has_wait_on;    /* STREAM_WAIT_EVENT whose cudaEventRecord was seen: */
	uint32_t wait_on_stream;
	uint32_t wait_on_correlation; /* of the cudaEventRecord */
	uint32_t thread;              /* HOST_FUNCTION: that ran it, 0: not known */
	uint32_t graph_id;            /* HOST_FUNCTION: 0: not from a graph */
	uint64_t graph_node_id;
	/* Where the graph node was captured or added. */
	const struct gt_stack *created;
};

/* An overhead that CUPTI reports. */
struct gt_overhead_event {
	const struct gt_string *name;   /* "Buffer Flush", ... */
	const struct gt_string *kernel; /* whose launch waited until it was loaded, or NULL */
};

struct gt_range_event { /* RANGE and MARK */
	const struct gt_string *name;
	const struct gt_string *domain;   /* NULL: the global one */
	const struct gt_string *category; /* NULL: none */
	uint64_t id;                      /* unique per range */
	uint32_t color;                   /* ARGB, 0: none */
	bool unfinished;
	bool on_gpu;      /* the shadow of the range on a stream: place is valid */
	bool detached;    /* need not nest with the thread's other slices */
	bool is_operator; /* of a framework; the others are the program's own */
	bool is_backward; /* run by the framework's autograd engine */
	bool has_sequence;
	uint64_t sequence;            /* links a forward operator to its backward */
	const struct gt_string *dims; /* shapes of the operator's inputs as JSON, or NULL */
	char payload[96];             /* text of the program's payload; "": none */
	bool is_library;              /* a call of a library, --libraries: library */
	bool is_unified; /* what happened to unified memory; tid is a gt_unified_row: unified */
	union {
		struct gt_library_call library;
		struct gt_unified_facts unified;
	};
	bool is_os; /* a call of the operating system, --osrt: */
	struct gt_os_facts os;
	const struct gt_string *file; /* path of its descriptor, or NULL */
};

/* It shows the arguments of a call: of --libraries, or of one that NCCL's own NVTX range tells. */
static inline bool gt_range_is_call(const struct gt_range_event *range)
{
	return range->is_library || (!range->is_unified && !range->on_gpu && !range->is_operator &&
				     range->library.function);
}

/* A function that is in the stacks of consecutive calls of a thread. */
struct gt_frame_event {
	const struct gt_stack_frame *frame; /* of the newest of these calls */
	uint32_t first_line, last_line;     /* smallest and largest executing line, 0: not known */
	uint64_t calls;
};

/* A sample of a host thread. */
struct gt_sample_event {
	bool waiting; /* in the kernel; else it was running */
};

/* PyTorch's allocator gave out a block, or took it back. */
struct gt_tensor_event {
	uint64_t address;
	int64_t bytes;                /* below 0: taken back */
	uint64_t allocated, reserved; /* of the device, behind that */
	int32_t device_type, device;  /* c10::DeviceType, index */
};

/* A value of a counter. */
struct gt_counter_event {
	const struct gt_string *name;
	const struct gt_string *series;
	int64_t value;
	double real; /* instead of value when is_real */
	bool is_real;
	bool on_gpu; /* of the device in place, else of the process */
};

/* Bytes of the text of a device's id, with its end. */
#define GT_DEVICE_UUID 44

/* Properties of a GPU. */
struct gt_device_event {
	uint32_t id;
	const struct gt_string *name;
	char uuid[GT_DEVICE_UUID]; /* "GPU-..." or "MIG-..." as nvidia-smi -L prints it; empty: not
				      known */
	uint64_t total_memory;
	uint32_t compute_major, compute_minor;
	uint32_t sm_count, warp_size;
	uint32_t max_threads_per_block, max_threads_per_sm, max_warps_per_sm, max_blocks_per_sm;
	uint32_t registers_per_block, registers_per_sm;
	uint32_t shared_per_block, shared_per_block_optin,
		shared_per_sm; /* bytes; optin 0: unknown */
};

struct gt_stream_event { /* CONTEXT: stream is the null stream's id */
	int32_t priority;
	const struct gt_string *name; /* set by the program, or NULL */
};

/* The name of a host thread. */
struct gt_thread_event {
	const struct gt_string *name;
};

/* A note of the tracer. */
struct gt_note_event {
	const char *name;    /* "LOST", "capture gap", ...; a literal */
	const char *what;    /* one readable line, or NULL */
	const char *cause;   /* machine-readable cause, a literal, e.g. "ring full" */
	uint64_t count;      /* how many, 0: not a count */
	const char *of_what; /* "API calls", "kernels", or NULL */
};

/* What a note says of work that was under way when CUPTI had to give its record. */
#define GT_NOTE_IN_PROGRESS "this operation was in progress when its record was forced out of CUPTI"

/* One event; times are ns of the trace's clock. */
struct gt_event {
	enum gt_event_kind kind;
	uint32_t tid;                 /* host thread; 0 on GPU operations */
	uint64_t start, end;          /* ns on the trace clock; end >= start always */
	uint32_t correlation;         /* 0: none */
	struct gt_place place;        /* GPU operations, properties */
	const struct gt_stack *stack; /* of host events; GPU operations have launch.stack */
	struct gt_launch launch;      /* GPU operations: the call that started it */
	union {
		struct gt_api_event api;
		struct gt_kernel_event kernel;
		struct gt_memory_event memory;
		struct gt_graph_event graph;
		struct gt_sync_event sync;
		struct gt_overhead_event overhead;
		struct gt_range_event range;
		struct gt_frame_event frame;
		struct gt_sample_event sample;
		struct gt_counter_event counter;
		struct gt_tensor_event tensor;
		struct gt_device_event device;
		struct gt_stream_event stream;
		struct gt_thread_event thread;
		struct gt_note_event note;
	};
};

/* True for what runs on the GPU and therefore has a place and a track. */
static inline bool gt_event_is_gpu(enum gt_event_kind kind)
{
	return (kind >= GT_EVENT_KERNEL && kind <= GT_EVENT_SYNC) || kind == GT_EVENT_GRAPH;
}

#endif
