/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the simulated libcuda: what its files share. Public handles (CUcontext, CUstream,
 * ...) are pointers to the structs below. Locks, outermost first: graph, context, stream, engine.
 */
#ifndef SIMCUDA_DRIVER_DRIVER_H
#define SIMCUDA_DRIVER_DRIVER_H

#include "sim.h"

#include <pthread.h>
#include <stdatomic.h>

#include <cudaProfiler.h>
#include <generated_cuda_meta.h>
#include "driver_impl.h"

#define SIM_MAX_DEVICES   16
#define SIM_CONTEXT_DEPTH 16
#define SIM_HIDDEN        __attribute__((visibility("hidden")))

#pragma GCC visibility push(hidden)

#define SIM_STREAM_ATTRIBUTES 24

struct sim_lock {
	atomic_flag held;
};

enum sim_engine_kind {
	SIM_ENGINE_NONE,
	SIM_ENGINE_UP,
	SIM_ENGINE_DOWN,
	SIM_ENGINE_PEER,
	SIM_ENGINES
};

struct sim_engine {
	struct sim_lock lock;
	uint64_t free_at;
};

struct sim_device {
	int ordinal;
	const struct sim_device_facts *facts;
	struct sim_engine engines[SIM_ENGINES];
	_Atomic uint64_t used_bytes;
	struct CUctx_st *_Atomic primary;
	_Atomic unsigned int primary_flags;
	_Atomic int primary_references;
	struct CUmemPoolHandle_st *_Atomic default_pool;
	struct CUmemPoolHandle_st *_Atomic current_pool;
};

struct CUctx_st {
	_Atomic uint32_t magic;
	uint32_t id;
	unsigned int flags;
	struct sim_device *device;
	pthread_mutex_t mutex; /* of who changes the list of streams */
	struct CUstream_st *_Atomic streams;
	struct CUstream_st *legacy;
	uint32_t next_stream_id;
	_Atomic uint64_t legacy_tail;   /* what blocking streams wait for */
	_Atomic uint64_t blocking_tail; /* what the legacy stream waits for */
	_Atomic uint64_t tail;          /* everything */
	_Atomic int host_functions;     /* still to run */
	_Atomic int attached;           /* cuCtxAttach without its cuCtxDetach */
	struct CUctx_st *next;
};

struct CUstream_st {
	_Atomic uint32_t magic;
	uint32_t id;
	unsigned int flags;
	int priority;
	bool legacy;
	bool per_thread;
	struct CUctx_st *context;
	struct sim_lock lock;
	uint64_t tail;              /* when all of it is done */
	_Atomic int host_functions; /* still to run */
	_Atomic int meetings;       /* kernels whose end is not known yet */
	struct sim_capture *_Atomic capture;
	CUgraphNode *capture_tail; /* the nodes that the next captured one depends on */
	size_t capture_tail_count;
	CUstreamAttrValue attributes[SIM_STREAM_ATTRIBUTES];
	struct CUstream_st *_Atomic next;
};

/* When an event happens; that of another process is in memory which both map. */
struct sim_event_state {
	_Atomic uint64_t time;
	_Atomic bool recorded;
};

struct CUevent_st {
	_Atomic uint32_t magic;
	uint32_t id;
	unsigned int flags;
	_Atomic uint32_t sync_id;
	struct CUctx_st *context;
	struct CUstream_st *_Atomic stream; /* of the last record */
	struct sim_event_state *state;      /* own, or shared */
	struct sim_event_state own;
	struct sim_capture *_Atomic capture; /* recorded while that capture ran */
	CUgraphNode *captured;
	size_t captured_count;
};

struct CUfunc_st {
	_Atomic uint32_t magic; /* launches may name something that is no kernel */
	const char *name;
	struct CUmod_st *module;
	uint64_t fixed_ns; /* 0: the grid decides */
	uint32_t registers;
	uint32_t static_shared;
	uint32_t local_per_thread;
	_Atomic int max_dynamic_shared;
	uint32_t block[3]; /* set for cuLaunch and its kin */
	uint32_t set_shared;
	struct CUfunc_st *next;
};

struct sim_global {
	char *name;
	void *address;
	size_t size;
	struct sim_global *next;
};

/* A module or a library: both hold kernels by name. */
struct CUmod_st {
	uint32_t id;
	const void *image;
	size_t image_size;
	pthread_mutex_t mutex;
	struct CUfunc_st *functions;
	struct sim_global *globals;
	struct CUctx_st *context;
};

enum sim_work_kind {
	SIM_WORK_EMPTY,
	SIM_WORK_KERNEL,
	SIM_WORK_COPY,
	SIM_WORK_SET,
	SIM_WORK_HOST,
	SIM_WORK_RECORD,
	SIM_WORK_WAIT,
	SIM_WORK_CHILD,
	SIM_WORK_ALLOC,
	SIM_WORK_FREE,
	SIM_WORK_CONDITIONAL,
};

/* A rectangle of bytes: width x height x depth with pitches. A plain copy has height = depth =
 * 1. */
struct sim_region {
	char *base;
	size_t pitch;
	size_t slice;
	CUarray array; /* whose bytes these are, or NULL */
};

struct sim_copy {
	struct sim_region dst;
	struct sim_region src;
	size_t width;
	size_t height;
	size_t depth;
	struct sim_copy_facts facts;
};

struct sim_set {
	struct sim_region dst;
	size_t width; /* elements */
	size_t height;
	unsigned int element;
	struct sim_set_facts facts;
};

/* A kernel that waits for others: what says when it ends. */
struct sim_meeting {
	uint64_t (*end)(void *data, uint64_t start); /* NULL: it waits for nobody */
	void *data;
};

/* What a stream is asked to do, and what a graph node holds. */
struct sim_work {
	enum sim_work_kind kind;
	uint64_t ns;
	union {
		struct {
			struct CUfunc_st *function;
			struct sim_kernel_facts facts;
			struct sim_meeting meeting;
			void **params; /* the caller's pointer: reported back, never read */
			void **extra;
		} kernel;
		struct sim_copy copy;
		struct sim_set set;
		struct {
			CUhostFn function;
			void *data;
		} host;
		CUevent event;
		CUgraph child;
		struct sim_conditional *conditional;
		struct {
			CUdeviceptr address;
			size_t bytes;
			int device;
		} memory;
	};
};

struct sim_thread {
	struct sim_call *call;
	bool per_thread; /* this call's stream 0 is the per-thread stream */
	bool in_client;  /* the client is being called: no callback inside a callback */
	bool in_init;
	uint32_t tid;
	int depth;
	struct CUctx_st *stack[SIM_CONTEXT_DEPTH];
	struct CUstream_st *own_stream; /* per-thread default stream of own_context */
	struct CUctx_st *own_context;
	CUstreamCaptureMode capture_mode;
	struct sim_meeting meeting; /* of the next kernel */
};

extern __thread struct sim_thread sim_self;
extern _Atomic unsigned int sim_watching;
extern const struct sim_client *_Atomic sim_client;
extern const int sim_driver_version;

/* A version of a function for cuGetProcAddress; sorted by name, then the better ones later. */
struct sim_version {
	const char *name;
	int since; /* as cuDriverGetVersion counts */
	bool per_thread;
	void *address;
};
extern const struct sim_version sim_versions[];
extern const size_t sim_version_count;

/* call.c: announcing API calls */
void sim_call_enter(struct sim_call *call);
int sim_call_exit(struct sim_call *call, int result);
uint32_t sim_current_correlation(void);
void sim_set_client(const struct sim_client *client);
void sim_want_call_times(void);
int sim_missing(const char *name);
const char *sim_symbol_of(const void *function);
void sim_client_resource(const struct sim_resource *what);
void sim_client_operation(const struct sim_op *op);
void sim_client_synchronized(const struct sim_sync *sync);
void sim_client_host_function(const struct sim_host_function *function);
void sim_client_event(const struct sim_event_recorded *event);
void sim_client_memory(const struct sim_memory *memory);

/* init.c */
CUresult sim_check_ready(void);
CUresult sim_check_context(struct CUctx_st **ret_context);
bool sim_is_ready(void);
bool sim_is_gone(void);
uint32_t sim_tid(void);
void sim_announce_init(void);

/* logs.c */
void sim_log(const char *message);

/* options.c: the environment, read once in cuInit */
struct sim_options {
	int devices;
	const struct sim_device_facts *facts;
	_Atomic bool virtual_time; /* asked by a tool before cuInit as well */
	uint64_t kernel_ns;        /* 0: the grid decides */
	uint64_t latency_ns;
	uint64_t host_ns;
	uint64_t up_gbs;
	uint64_t down_gbs;
	uint64_t pageable_gbs;
	uint64_t device_gbs;
	uint64_t queue_depth_ns;
	uint64_t die_after;
	int die_how; /* 'a'bort, 'e'xit, 'k'ill, 's'egv */
	uint64_t linger_in;
	_Atomic uint64_t slow_sync_ns; /* the next wait for the device */
	uint64_t slow_init_ns;         /* cuInit, behind the tool's start */
};
extern struct sim_options sim_options;
void sim_options_read(void);
void sim_kernel_facts_of(struct CUfunc_st *function);
void sim_options_report_unused(void);

/* device.c */
extern struct sim_device sim_devices[SIM_MAX_DEVICES];
extern _Atomic int sim_device_count;
void sim_devices_init(void);
struct sim_device *sim_device_find(CUdevice ordinal);
const struct sim_device_facts *sim_device_model(const char *name);
void sim_device_uuid(int ordinal, unsigned char uuid[16]);
int sim_device_attribute(const struct sim_device *device, CUdevice_attribute attribute, int *ret);

/* context.c */
bool sim_context_valid(const struct CUctx_st *context);
struct CUctx_st *sim_context_current(void);
void sim_contexts_walk(void (*visit)(const struct sim_resource *what));

/* stream.c */
struct CUstream_st *sim_stream_new(struct CUctx_st *context, unsigned int flags, int priority,
				   bool per_thread);
CUresult sim_stream_find(CUstream handle, struct CUstream_st **ret_stream);
struct CUstream_st *sim_stream_in(struct CUctx_st *context, CUstream handle, bool per_thread);
void sim_stream_wait_host(struct CUstream_st *stream);
void sim_host_function_done(struct CUstream_st *stream);

/* timeline.c */
uint64_t sim_now(void);
void sim_lock(struct sim_lock *lock);
void sim_unlock(struct sim_lock *lock);
void sim_wait_until(uint64_t when);
bool sim_is_past(uint64_t when);
void sim_raise(_Atomic uint64_t *at, uint64_t value);
uint64_t sim_stream_ready(struct CUstream_st *stream);
void sim_stream_delay(struct CUstream_st *stream, uint64_t until);
void sim_place(struct CUstream_st *stream, uint64_t not_before, uint64_t ns,
	       enum sim_engine_kind engine, uint64_t *ret_start, uint64_t *ret_end);
uint64_t sim_kernel_ns(const struct CUfunc_st *function, const struct sim_kernel_facts *facts);
uint64_t sim_copy_ns(const struct sim_copy_facts *facts);
uint64_t sim_set_ns(uint64_t bytes);

/* work.c: submitting and running work */
CUresult sim_submit(struct CUstream_st *stream, struct sim_work *work);
uint64_t sim_run(struct CUstream_st *stream, struct sim_work *work, uint64_t not_before,
		 uint32_t graph, uint64_t node);

/* host_function.c */
void sim_host_function_queue(struct CUstream_st *stream, const struct sim_work *work, uint64_t at,
			     uint32_t graph, uint64_t node);

/* memory/memory.c */
enum sim_memory_class {
	SIM_MEMORY_NONE,
	SIM_MEMORY_DEVICE,
	SIM_MEMORY_HOST,
	SIM_MEMORY_REGISTERED,
	SIM_MEMORY_MANAGED,
	SIM_MEMORY_ARRAY,
};
struct sim_allocation {
	uintptr_t address;
	size_t bytes;
	enum sim_memory_class kind;
	unsigned int flags;
	struct CUctx_st *context;
	struct CUmemPoolHandle_st *pool;
	uint64_t id;
	bool is_mapped; /* another process's, or mapped by the program: not cuMemFree's */
	bool in_graph;  /* a graph's node made it: launched again it is there again */
};
CUresult sim_memory_new(enum sim_memory_class kind, size_t bytes, struct sim_allocation *ret);
void sim_memory_tell(const struct sim_allocation *memory, bool is_release);
CUresult sim_memory_release(uintptr_t address);
CUresult sim_memory_add(const struct sim_allocation *allocation);
CUresult sim_memory_remove(uintptr_t address, struct sim_allocation *ret);
bool sim_memory_find(const void *address, struct sim_allocation *ret);
uint8_t sim_memory_activity_kind(enum sim_memory_class kind);

/* work.c */
void sim_work_tell(struct sim_op *op);

/* meeting.c: kernels that wait for others */
bool sim_meeting_next(uint64_t (*end)(void *data, uint64_t start), void *data);
bool sim_meeting_attend(struct CUstream_st *stream, const struct sim_meeting *meeting,
			const struct sim_op *op);
void sim_meeting_wait(struct CUstream_st *stream);

/* event.c */
bool sim_event_valid(const struct CUevent_st *event);

/* memory/ipc.c */
void sim_ipc_forget(uintptr_t address);

/* memory/copy.c */
void sim_copy_classify(struct sim_copy *copy, CUmemorytype src, CUmemorytype dst);
CUresult sim_copy_from_3d(const CUDA_MEMCPY3D *desc, struct sim_work *ret_work);

/* module.c */
#define SIM_FUNCTION_MAGIC 0x46554e43u
struct CUmod_st *sim_module_new(const void *image, struct CUctx_st *context);
struct CUfunc_st *sim_module_function(struct CUmod_st *module, const char *name);

/* truth.c */
extern _Atomic bool sim_truth_on;
void sim_truth_open(void);
void sim_truth(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sim_truth_call(const struct sim_call *call);
void sim_truth_memory(const struct sim_memory *memory);
void sim_truth_operation(const struct sim_op *op);

/* graph.c, capture.c */
uint32_t sim_graph_id(CUgraph graph);
uint32_t sim_exec_id(CUgraphExec exec);
uint64_t sim_node_id(CUgraphNode node);
CUresult sim_capture_work(struct CUstream_st *stream, const struct sim_work *work);
CUresult sim_capture_record(struct CUstream_st *stream, struct CUevent_st *event);
CUresult sim_capture_wait(struct CUstream_st *stream, struct CUevent_st *event);

#pragma GCC visibility pop

#endif
