/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the simulated libcupti. Built once per personality: SIM_CUPTI_VERSION (18, 22, 26,
 * 130000, 130200, 130300, 130401) decides the layout of every record; what that version does not
 * export is not exported.
 */
#ifndef SIMCUDA_CUPTI_CUPTI_SIM_H
#define SIMCUDA_CUPTI_CUPTI_SIM_H

/* Before sim.h, which asks cuda.h for all versions of every function: cupti.h cannot bear that. */
#include <cupti.h>
#include <cupti_activity_deprecated.h>

#include "sim.h"

#include <pthread.h>
#include <stdatomic.h>

#ifndef SIM_CUPTI_VERSION
#error "SIM_CUPTI_VERSION is not set"
#endif

#define CUPTI_KINDS 64

/* What SIMCUDA_FAULT asks for; README.md explains each. */
struct cupti_faults {
	CUptiResult subscribe;
	CUptiResult enable[CUPTI_KINDS];
	uint64_t drop;
	uint64_t dropped;
	uint64_t zero;
	uint64_t reverse;
	uint64_t early;
	uint64_t null_correlation;
	uint64_t unknown_kind;
	int64_t clock_step;
	uint64_t clock_ahead;
	uint64_t clock_step_after;
	uint64_t steal;
	uint64_t fatal;
	uint64_t slow_flush, slow_forced_flush;
	uint64_t slow_enable;
	uint64_t slow_record;
	uint64_t late_threads; /* ns */
	uint64_t overheads;
	uint64_t hw_trace, hw_trace_later; /* results */
	uint64_t report;                   /* result */
	uint64_t not_ready;                /* times */
	uint64_t early_counters;           /* result */
	bool ticks;
	bool invalid_last;
	bool shuffle;
	bool poison;
	bool poison_complete;
	bool flush_hangs, unused_flush_hangs, locked_flush_hangs;
	bool lock;
	bool unreadable;
	bool pool, pool_crash;
	bool lost_with_context;
	bool memset_kernels;
	bool first_release;
	bool loading;
};

struct cupti_state {
	const struct sim_table *table; /* NULL without a driver */
	pid_t pid;                     /* of who called first */
	struct cupti_faults faults;
	_Atomic bool subscribed;
	_Atomic(CUpti_CallbackFunc) callback;
	void *_Atomic user;
	_Atomic bool callbacks[CUPTI_CB_DOMAIN_SIZE][SIM_MAX_CBID];
	_Atomic bool kinds[CUPTI_KINDS];
	_Atomic bool
		whole_graphs; /* GRAPH_TRACE was enabled: disabling it does not restore nodes */
	_Atomic bool api_wanted[3][SIM_MAX_CBID]; /* per domain and id; follows the kinds */
	_Atomic CUpti_ActivityThreadIdType thread_id_type;
	_Atomic bool latency;
	_Atomic bool hw_trace;
	_Atomic bool dead; /* after a fatal error or cuptiFinalize */
};

extern struct cupti_state cupti;
extern const char *const sim_driver_names[SIM_MAX_CBID];
extern const char *const sim_runtime_names[SIM_MAX_CBID];

/* init.c */
CUptiResult cupti_check(void);
CUptiResult cupti_check_started(void); /* of functions that want a driver from 13.2 on only */
CUptiResult cupti_fail(CUptiResult error);
void cupti_lock(void);
void cupti_unlock(void);
uint32_t cupti_thread_id(void);
uint64_t cupti_time(void);
uint64_t cupti_gpu_time(uint64_t time);
bool cupti_clock_is_after(uint64_t time);
void cupti_clock_set(CUpti_TimestampCallbackFunc timestamp);
void cupti_switch_all(_Atomic bool *switches, size_t count, bool on);
bool cupti_fault_due(uint64_t every, _Atomic uint64_t *count);

/* dispatch.c */
extern const struct sim_client cupti_client;
void cupti_dump(CUpti_ActivityKind kind);

/* buffers.c */
void cupti_buffers_put(const void *record, size_t size);
/* Room for one record; between _begin and _end the first of that size that this thread puts goes
 * there. */
struct cupti_place {
	struct buffer *buffer; /* NULL: the client refused */
	size_t size;
};
struct cupti_place cupti_buffers_reserve(size_t size);
void cupti_buffers_begin(struct cupti_place *place);
void cupti_buffers_end(struct cupti_place *place);
void cupti_buffers_release(struct cupti_place *place);
CUptiResult cupti_buffers_flush(bool forced);
void cupti_buffers_wake(void);
void cupti_buffers_start_worker(void);
void cupti_buffers_drop(void);
void cupti_buffers_lose(uint32_t context);
void cupti_buffers_clear_times(void);
void cupti_buffers_count_dropped(void);
size_t cupti_record_size(uint32_t kind);

/* Puts a record into a buffer, as large as this version has it. */
#define CUPTI_RECORD_MAX 256
void cupti_record_put(const void *record, size_t size);

/* contents.c */
void cupti_contents_shuffle(uint8_t *data, size_t used);
void cupti_contents_spoil_last(uint8_t *data, size_t used);
void cupti_contents_clear_times(uint8_t *data, size_t used);
size_t cupti_contents_lose(uint8_t *data, size_t *used, uint32_t context);
void cupti_contents_tell(const uint8_t *copy, size_t used);

/* attributes.c: what a client asked for. May be called with the mutex of buffers.c. */
bool cupti_attribute_zeroed(void);
bool cupti_attribute_per_thread(void);
size_t cupti_attribute_device_kernels(void); /* that the buffers on the device hold */
void cupti_attributes_reset(void);

/* pending.c: operations whose record waits for their end */
void cupti_pending_add(const struct sim_op *op);
void cupti_pending_write(void);
void cupti_pending_flush(bool forced);
bool cupti_pending_any(void);
void cupti_pending_drop(void);
void cupti_pending_lose(uint32_t context);

/* subscribe.c */
void cupti_unsubscribe_all(void);

/* unified.c */
void cupti_unified_operation(const struct sim_op *op);
void cupti_unified_synchronized(const struct sim_sync *sync);
void cupti_unified_memory(const struct sim_memory *memory);

/* records.c */
void cupti_record_operation(const struct sim_op *op, bool is_complete);
size_t cupti_operation_size(const struct sim_op *op);
void cupti_record_api(const struct sim_call *call);
void cupti_record_context(const struct sim_resource *what);
void cupti_record_stream(const struct sim_resource *what);
void cupti_record_device(int ordinal);
void cupti_record_sync(const struct sim_sync *sync);
void cupti_record_event(const struct sim_event_recorded *event);
void cupti_record_host_function(const struct sim_host_function *function);
void cupti_record_memory(const struct sim_memory *memory);
void cupti_record_external(uint32_t correlation, CUpti_ExternalCorrelationKind kind, uint64_t id);
void cupti_record_overhead(CUpti_ActivityOverheadKind kind, uint32_t correlation, uint64_t start,
			   uint64_t end);

#endif
