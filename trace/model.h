/* SPDX-License-Identifier: Apache-2.0
 *
 * A finished trace in memory, small: GPU operations, CUDA calls and host ranges as arrays of
 * numbers (24, 24 and 48 bytes each), strings and stacks once. Everything that the analysis answers
 * is a function of this. gt_model_load reads one file; after it the model is constant and may be
 * read from any thread.
 */
#ifndef GT_TRACE_MODEL_H
#define GT_TRACE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/schema/event.h"
#include "readers/chrome/reader.h"
#include "readers/vec.h"
#include "trace/names.h"

#define GT_NONE        UINT32_MAX
#define GT_NO_DEVICE   UINT16_MAX
#define GT_NO_BYTES    (-1)

#define GT_COMM_GROUPS 2 /* struct gt_op's comm of the first group */

/* Kinds of GPU operations. */
enum gt_op_kind { GT_OP_KERNEL, GT_OP_COPY, GT_OP_SET, GT_OP_GRAPH, GT_OP_KIND_COUNT_ };

struct gt_op {               /* on the GPU; kept as struct gt_op_row */
	int64_t start, dur;  /* ns */
	int64_t correlation; /* -1: none */
	int64_t bytes;       /* of a copy or set; GT_NO_BYTES: the trace does not tell;
			      * of a collective its message; 0: not known */
	uint32_t name;
	uint32_t call;  /* index in calls, GT_NONE: not in the trace */
	uint32_t stack; /* index in stacks, GT_NONE */
	uint32_t nvtx;  /* name told by the tracer, GT_NAME_NONE */
	int32_t stream;
	uint16_t device; /* GT_NO_DEVICE: what the file says makes no sense */
	uint8_t kind;    /* enum gt_op_kind */
	uint8_t comm; /* communication (trace/communication.h): 0: none, 1: in a group that is not
		       * known, n: in model->groups.at[n - GT_COMM_GROUPS] */
};

/* Which collective of its communicator a kernel is: run --libraries. */
struct gt_collective_place {
	int64_t correlation;
	uint64_t sequence; /* from 1; 0: not clear */
};

/* The message of that number from one rank to another one. */
struct gt_message {
	uint32_t from, to; /* plus 1 */
	uint32_t number;   /* from 1; 0: none, or not known */
};

/* Which messages a kernel sends and receives: the first one of each direction, if they are to, from
 * one rank. */
struct gt_message_place {
	int64_t correlation;
	struct gt_message sent, received;
};

/* Where the forward operator of a launch of PyTorch's backward pass launched: run --pytorch. */
struct gt_model_forward {
	int64_t correlation;
	uint32_t stack; /* index in stacks */
};

/* What the peak of a device depends on. */
enum gt_work_type {
	GT_WORK_UNKNOWN,
	GT_WORK_F64,
	GT_WORK_F32,
	GT_WORK_TF32,
	GT_WORK_F16,
	GT_WORK_BF16,
	GT_WORK_F8,
	GT_WORK_I8,
	GT_WORK_TYPE_COUNT_
};

/* How much a call computes: that of a library, or an operator. */
struct gt_model_work {
	int64_t at, dur; /* correlation of a kernel, 0; or start and length of an operator */
	uint64_t flops;  /* fits an int64_t */
	uint64_t bytes;  /* of the operands; 0: not known */
	uint32_t thread; /* of an operator; GT_NONE: it is a kernel's */
	uint32_t name;   /* of an operator */
	uint32_t number; /* of the library's call; 0: not known */
	uint8_t type;    /* enum gt_work_type */
	bool overflow;   /* there are more FLOPs than fit */
};

/* A time for which a stream waited for a function on the host; only with run --sync. */
struct gt_host_wait {
	int64_t start, end;
	int64_t until; /* the latest end of this and the ones before on its stream */
	int64_t correlation;
	uint32_t call; /* that put the function into the stream; GT_NONE: not in the trace */
	int32_t stream;
	uint16_t device;
};

struct gt_call { /* CUDA API; kept as struct gt_call_row */
	int64_t start, dur;
	int64_t correlation;
	uint32_t name;
	uint32_t thread; /* index in threads */
	uint32_t stack;
	uint32_t back;  /* how far before it the outermost call is that contains it; 0: none */
	uint32_t index; /* its own in calls */
	bool driver;    /* cu..., not cuda... */
};

/* What many operations have in common: each combination is kept once. No padding. */
struct gt_op_traits {
	int64_t bytes;
	uint32_t name, stack, nvtx;
	int32_t stream;
	uint16_t device;
	uint8_t kind, comm;
	uint32_t none; /* 0 */
};

/* The same of calls. */
struct gt_call_traits {
	uint32_t name, thread, stack, driver;
};

/* An operation as it is kept: gt_model_op() says what it stands for. Codes are those of
 * gt_row_number(). */
struct gt_op_row {
	int64_t start;
	uint32_t dur_code, correlation_code;
	uint32_t call;
	uint32_t traits; /* index in op_traits */
};

/* A call: gt_model_call(). */
struct gt_call_row {
	int64_t start;
	uint32_t dur_code, correlation_code;
	uint32_t back;
	uint32_t traits; /* index in call_traits */
};

#define GT_ROW_WIDE (UINT32_C(1) << 31) /* codes from here on are indices in wide; GT_NONE: -1 */

/* Finds traits by what they are: open addressing, index + 1. */
struct gt_row_index {
	uint32_t *at;
	size_t size;
};

/* Where a range comes from. */
enum gt_range_kind {
	GT_RANGE_NVTX,     /* NVTX, torch.profiler.record_function, ProfilerStep */
	GT_RANGE_OP,       /* framework operators */
	GT_RANGE_PYTHON,   /* Python functions */
	GT_RANGE_OVERHEAD, /* of the tracer */
	GT_RANGE_KIND_COUNT_
};

struct gt_model_range { /* on a host thread */
	int64_t start, dur;
	uint32_t name;
	uint32_t domain; /* name of it, GT_NAME_NONE: the global one */
	uint32_t thread;
	uint32_t parent; /* innermost of the same kind and row that is open for its whole time,
			    GT_NONE */
	uint32_t before; /* of those that are open when it begins the last one, GT_NONE */
	uint32_t jump;   /* one of its parents' parents, or its parent: for long ways outwards */
	uint32_t stack : 28; /* index in stacks, 0xfffffff: none */
	uint32_t kind : 3;
	uint32_t data : 1; /* it, or a range around it, loads data: its name says so */
	int32_t sequence;  /* of an operator, from 1 on; of one that runs backward that of its
			      forward operator, negative; 0: none */
};

struct gt_sample { /* where a thread was while it made no call */
	int64_t ts;
	uint32_t thread;
	uint32_t stack; /* index in stacks, GT_NONE */
};

/* A call of the operating system that blocked: run --osrt. */
struct gt_model_os_call {
	int64_t start, dur;
	int64_t bytes; /* GT_NO_BYTES: it moves none, or failed */
	uint32_t name;
	uint32_t thread;
	uint32_t stack;  /* index in stacks, GT_NONE */
	uint32_t file;   /* name of the path behind its descriptor, GT_NAME_NONE */
	uint32_t around; /* the innermost one of its thread that is open when it begins (a handler
			    of a signal calls, too), GT_NONE */
	uint16_t error;  /* errno, 0: it did not fail */
	uint8_t kind;    /* of its descriptor, enum gt_os_kind */
	bool is_data;    /* a function on its stack loads data */
};

/* What happened to pages of unified memory: run --unified-memory. */
struct gt_model_pages {
	int64_t start, dur;
	struct gt_unified_facts facts;
};

/* A time in which the driver loaded or compiled kernels on a thread. */
struct gt_model_loading {
	int64_t start, until; /* until: the latest end of this and the ones before on its thread */
	uint32_t thread;
};

/* A call of MPI: run --libraries=mpi. */
struct gt_model_mpi_call {
	int64_t start, dur;
	int64_t sent, received; /* bytes, 0: none, or not known */
	uint64_t communicator;  /* the same in all members, 0: not known */
	uint64_t sequence; /* of a collective that all members wait in, from 1; 0: it is none */
	uint32_t name;
	uint32_t thread;
	uint32_t rank, peer, source; /* plus 1, in the communicator; 0: none, or not known */
	uint8_t function;            /* enum gt_mpi_function */
	uint8_t comm; /* as of struct gt_op: its communicator, where it has a sequence */
	bool has_failed;
};

/* What NCCL's proxies did over the network, all of them: run --libraries=nccl-profiler. */
struct gt_model_network {
	uint64_t operations, transfers;
	uint64_t sent, received;            /* bytes */
	uint64_t wait[GT_NCCL_WAIT_COUNT_]; /* ns, summed over transfers, which overlap */
};

/* A host thread, and where its calls and ranges are in the model. */
struct gt_thread_track {
	int64_t pid, tid;
	uint32_t name;
	bool is_beside;  /* a row of ranges that need not nest with the thread's calls */
	uint32_t beside; /* the next such row of the thread, GT_NONE */
	uint32_t owner;  /* the thread of such a row; any other row's is itself */
	struct {
		uint32_t first, count;
	} range[GT_RANGE_KIND_COUNT_], call, sample, os_call;
};

struct gt_frames { /* one call stack: name numbers, nearest frame first */
	uint32_t *frame;
	uint32_t count;
	bool whole; /* from "frames"; else the short form */
};

struct gt_model_module { /* a native module that frames are in: name numbers */
	uint32_t path;
	uint32_t build_id; /* hexadecimal; GT_NAME_NONE: two files had this path */
};

struct gt_note { /* LOST, capture gap, ... */
	int64_t ts;
	int64_t count;
	uint32_t name, cause, text;
};

struct gt_memory_point { /* memory in use on a device */
	int64_t ts, bytes;
	uint32_t device;
	bool of_allocator; /* in blocks of PyTorch's allocator */
};

/* What a GPU's sensors told: run --nvml. */
struct gt_health_point {
	int64_t ts;
	double value; /* in the trace's unit */
	uint16_t device;
	uint8_t reading; /* enum gt_health_reading */
};

/* What a call did with memory: run --memory. */
struct gt_model_block {
	int64_t ts; /* when it was there, or gone: the end of the call, or its beginning */
	uint32_t name, thread;
	uint32_t stack; /* index in stacks, GT_NONE */
	int32_t failed; /* its result, 0: it did what it should */
	struct gt_block block;
};

/* A device, and where its operations are in device_ops. */
struct gt_device_track {
	uint32_t first, count;
	uint16_t device;
};

/* The training step that is open from a time on, GT_NONE: none. */
struct gt_step_from {
	int64_t from;
	uint32_t range;
};

#define GT_ODD_CATS 16 /* unknown categories that are counted one by one */

/* What could not be taken as it stood in the file; shown to the user, never silent. */
struct gt_odd {
	uint64_t no_dur, negative_dur, bad_dur;
	uint64_t unfinished, no_begin, reversed; /* B without E, E without B, E before its B */
	uint64_t asynchronous;                   /* b, S: left out */
	uint64_t unended; /* ranges marked as unfinished: at the end, or their end was lost */
	uint64_t no_ts, bad_ts, no_phase, no_place, no_bytes, no_size;
	uint64_t shared_ids; /* operations whose id calls of several processes have */
	uint64_t unknown_cat, unknown_work; /* slices; those that may be work of a device */
	struct gt_odd_cat {
		uint32_t name; /* GT_NAME_NONE: they have no category */
		uint64_t count;
	} unknown_cats[GT_ODD_CATS]; /* the first ones; count 0: no more */
};

/* A process of a file that holds several: all of that are on one clock. */
struct gt_model_merged {
	uint64_t file;  /* the same for all of one file; 0: this is the only one */
	char clock[64]; /* what merge says of how it came there (trace/clocks.h); "": nothing */
};

/* One process of a trace. */
struct gt_model {
	const char *path; /* and the rank, of a file that has several processes */
	char *own_path;   /* path, when it is the model's own */
	struct gt_reading reading;
	struct gt_names names;
	GT_VEC(struct gt_op_row) ops;      /* by start */
	GT_VEC(struct gt_host_wait) waits; /* by device, stream, start */
	GT_VEC(struct gt_call_row) calls;  /* by thread, then start */
	GT_VEC(struct gt_op_traits) op_traits;
	GT_VEC(struct gt_call_traits) call_traits;
	struct gt_row_index op_index, call_index;   /* of these */
	GT_VEC(int64_t) wide;                       /* numbers of rows that are no codes */
	GT_VEC(struct gt_model_range) ranges;       /* by kind, thread, start */
	GT_VEC(struct gt_sample) samples;           /* by thread, then time */
	GT_VEC(struct gt_model_os_call) os_calls;   /* by thread, then start */
	GT_VEC(struct gt_model_mpi_call) mpi_calls; /* by start */
	struct gt_model_network network;
	GT_VEC(struct gt_thread_track) threads;
	GT_VEC(struct gt_frames) stacks;
	GT_VEC(struct gt_model_module) modules;
	GT_VEC(uint32_t) mangled; /* by name of a kernel: that in its module, or GT_NAME_NONE */
	GT_VEC(uint32_t) groups;  /* of processes that communicate: names, with their members */
	uint32_t group_size[UINT8_MAX + 1];        /* members, by index in groups; 0: not known */
	GT_VEC(struct gt_collective_place) places; /* by correlation, one for each */
	GT_VEC(struct gt_message_place) messages;  /* by correlation, one for each */
	GT_VEC(struct gt_model_forward) forwards;  /* by correlation, one for each */
	GT_VEC(struct gt_model_work) library_work; /* by correlation */
	GT_VEC(uint32_t) failed_calls;             /* of libraries: their numbers, by number */
	GT_VEC(struct gt_model_work) op_work;      /* by thread, then start */
	GT_VEC(struct gt_note) notes;
	GT_VEC(struct gt_memory_point) memory;
	GT_VEC(struct gt_health_point) health;    /* by device, reading, time */
	GT_VEC(struct gt_model_block) blocks;     /* as in the file */
	GT_VEC(struct gt_model_pages) pages;      /* as in the file */
	GT_VEC(struct gt_model_loading) loadings; /* by thread, then start */
	GT_VEC(struct gt_device_track) devices;   /* that have operations, by number */
	uint32_t *device_ops;                     /* indices in ops: by device, then start; NULL:
						   * of one device, so all of them */
	GT_VEC(struct gt_step_from) steps;        /* by time */
	int64_t first_correlation;                /* the smallest of a call; INT64_MAX: no calls */
	struct gt_odd odd;
	int64_t first, last; /* ns: from the first to the last slice */
	int64_t origin;      /* what a window of time counts from: the job's first slice */
	int64_t pid;         /* -1: not known */
	int rank;
	bool is_twin;   /* another process of the job has this rank and a GPU of the same number */
	char twin[128]; /* what tells it from that one: " pid 4100", " window 2", the file's name */
	uint32_t process; /* name of the process */
	uint8_t *ranks;   /* whose code a frame is, by name number: trace/user_code.h; NULL: not
			     asked for */
	size_t rank_count;
	struct gt_model_merged merged;
	bool named; /* --user-code names frames that come before the user's other ones */
};

/* The models of one file. */
struct gt_models {
	struct gt_model *at;
	size_t count, room;
};

/*
 * Reads @paths, the files of one process in the order in which they were written, as one trace: one
 * model, but one a process of a file that `gputrace merge` wrote, with the numbers that its rows
 * had before. 0 or a negative errno; reading.error of the first model then holds the line to print.
 * The models must be freed with gt_models_fini in either case. path and header are those of the
 * first file.
 */
int gt_model_load(char *const *paths, size_t count, struct gt_models *ret_models);
void gt_models_fini(struct gt_models *models);
void gt_model_fini(struct gt_model *model);

/* What tables add up, in ns and bytes. */
struct gt_trace_sums {
	double ops, bytes, calls, ranges, blocked;
	double wall; /* from the first to the last slice, once for each device */
};

/* Adds those of a trace, whose devices need not be known yet. */
void gt_trace_sums_add(struct gt_trace_sums *sums, const struct gt_model *model);

/* Whether 64 bits hold each of them. */
bool gt_trace_sums_fit(const struct gt_trace_sums *sums);

/* The text of a name id of the model. */
static inline const char *gt_model_name(const struct gt_model *model, uint32_t name)
{
	return gt_names_get(&model->names, name);
}

/* The innermost range of a kind that is open at time @t on a row, or GT_NONE. Where ranges overlap,
 * the one that began last is the inner one. */
uint32_t gt_model_range_at(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			   int64_t t);

/* The last range of a kind that begins on a row up to @t, open or not, or GT_NONE. */
uint32_t gt_model_last_range(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			     int64_t t);

/* When the next range of a kind begins on a row behind @t; INT64_MAX: none does. */
int64_t gt_model_next_range(const struct gt_model *model, uint32_t thread, enum gt_range_kind kind,
			    int64_t t);

/* Of the ranges of its row that are open at @t, as @range is, the next one outwards, or GT_NONE. */
uint32_t gt_model_range_around(const struct gt_model *model, uint32_t range, int64_t t);

/* The innermost training step that is open at @t, on the first thread that has one, or GT_NONE. */
uint32_t gt_model_step_at(const struct gt_model *model, int64_t t);

/* The step in which an operation was launched. Where its call is not in the trace: the one in which
 * it began, or GT_NONE if it was launched before the first call that is. */
uint32_t gt_model_step_of(const struct gt_model *model, const struct gt_op *op);

/* Whether a range is a training step: ProfilerStep#N. */
bool gt_model_is_step(const struct gt_model *model, const struct gt_model_range *range);

/* Whether a function or range of that name loads data, as far as names tell. */
bool gt_model_is_data(const char *name);

/* The call of @thread that starts last at or before @t, or GT_NONE. @near: the search is short
 * where it is not far from that call; or GT_NONE. */
uint32_t gt_model_call_before(const struct gt_model *model, uint32_t thread, int64_t t,
			      uint32_t near);

/* Whether a call loads or compiles kernels: it is there for that, or the driver did so in it. */
bool gt_model_loads(const struct gt_model *model, const struct gt_call *call);

/* The innermost call of the operating system that @thread is in at @t, or GT_NONE. */
uint32_t gt_model_os_call_at(const struct gt_model *model, uint32_t thread, int64_t t);

/* How long behind @t @thread stays in @os_call, which gt_model_os_call_at said of @t, or in none:
 * until that ends or another one begins. INT64_MAX: to the end of the trace. */
int64_t gt_model_os_call_until(const struct gt_model *model, uint32_t thread, uint32_t os_call,
			       int64_t t);

/* Index of the first sample of @thread at or behind @t; the thread's end where there is none. */
uint32_t gt_model_sample_from(const struct gt_model *model, uint32_t thread, int64_t t);

/* The part of the time from @from to @to that sample number @sample stands for: what is nearer to
 * it than to its thread's other ones in that time. */
int64_t gt_model_sample_time(const struct gt_model *model, uint32_t sample, int64_t from,
			     int64_t to);

/* The first time for which the stream of @op waited for a function on the host and that ends after
 * @t, or NULL. */
const struct gt_host_wait *gt_model_wait_from(const struct gt_model *model, const struct gt_op *op,
					      int64_t t);

/* Appends an operation, or a call. 0, -ENOMEM, or -ERANGE: there are more than 32 bits count.
 * A call's index and back are not taken from it. */
int gt_model_add_op(struct gt_model *model, const struct gt_op *op);
int gt_model_add_call(struct gt_model *model, const struct gt_call *call);

/* Gives operation, or call, number @i the stack @stack. 0 or -ENOMEM. */
int gt_model_set_op_stack(struct gt_model *model, size_t i, uint32_t stack);
int gt_model_set_call_stack(struct gt_model *model, size_t i, uint32_t stack);

/* The code of a number. 0 or -ENOMEM. */
int gt_row_code(struct gt_model *model, int64_t number, uint32_t *ret_code);

/* So many of each, and of all else that is counted, are possible; tests make it small. */
extern uint32_t gt_model_most_rows;

/* The number that a code of a row stands for. */
static inline int64_t gt_row_number(const struct gt_model *model, uint32_t code)
{
	if (code < GT_ROW_WIDE)
		return code;
	return code == GT_NONE ? -1 : model->wide.at[code - GT_ROW_WIDE];
}

/* Operation number @i. */
static inline struct gt_op gt_model_op(const struct gt_model *model, size_t i)
{
	const struct gt_op_row *row = &model->ops.at[i];
	const struct gt_op_traits *traits = &model->op_traits.at[row->traits];

	return (struct gt_op){.start = row->start,
			      .dur = gt_row_number(model, row->dur_code),
			      .correlation = gt_row_number(model, row->correlation_code),
			      .bytes = traits->bytes,
			      .name = traits->name,
			      .call = row->call,
			      .stack = traits->stack,
			      .nvtx = traits->nvtx,
			      .stream = traits->stream,
			      .device = traits->device,
			      .kind = traits->kind,
			      .comm = traits->comm};
}

/* What operation number @i has in common with others. */
static inline const struct gt_op_traits *gt_model_op_traits(const struct gt_model *model, size_t i)
{
	return &model->op_traits.at[model->ops.at[i].traits];
}

/* Call number @i. */
static inline struct gt_call gt_model_call(const struct gt_model *model, size_t i)
{
	const struct gt_call_row *row = &model->calls.at[i];
	const struct gt_call_traits *traits = &model->call_traits.at[row->traits];

	return (struct gt_call){.start = row->start,
				.dur = gt_row_number(model, row->dur_code),
				.correlation = gt_row_number(model, row->correlation_code),
				.name = traits->name,
				.thread = traits->thread,
				.stack = traits->stack,
				.back = row->back,
				.index = (uint32_t)i,
				.driver = traits->driver};
}

/* What call number @i has in common with others. */
static inline const struct gt_call_traits *gt_model_call_traits(const struct gt_model *model,
								size_t i)
{
	return &model->call_traits.at[model->calls.at[i].traits];
}

/* The number of the @i-th operation of a device. */
static inline uint32_t gt_model_op_of(const struct gt_model *model,
				      const struct gt_device_track *track, uint32_t i)
{
	return model->device_ops ? model->device_ops[track->first + i] : track->first + i;
}

/* Pointers to operation or call number @i; to the @i-th operation of a device; to the call that
 * started an operation, or NULL. Valid to the end of the block that it is written in. */
#define gt_model_op_at(model, i)   ((const struct gt_op[1]){gt_model_op((model), (i))})
#define gt_model_call_at(model, i) ((const struct gt_call[1]){gt_model_call((model), (i))})
#define gt_model_device_op(model, track, i)                                                        \
	gt_model_op_at((model), gt_model_op_of((model), (track), (i)))
#define gt_model_call_of(model, op)                                                                \
	gt_model_call_into((model), (op)->call, (struct gt_call[1]){{.start = 0}})

/* Fills @to with a call and returns it; NULL: GT_NONE is none. */
static inline const struct gt_call *gt_model_call_into(const struct gt_model *model, uint32_t call,
						       struct gt_call *to)
{
	if (call == GT_NONE)
		return NULL;
	*to = gt_model_call(model, call);
	return to;
}

#endif
