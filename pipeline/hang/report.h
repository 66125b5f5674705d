/* SPDX-License-Identifier: Apache-2.0
 *
 * What a report consists of: streams, threads, verdict. Collected for each one. Drain thread.
 */
#ifndef GT_PIPELINE_HANG_REPORT_H
#define GT_PIPELINE_HANG_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/sampler/proc.h"
#include "core/json/json.h"
#include "pipeline/hang/hang.h"
#include "pipeline/join/in_flight.h"
#include "pipeline/ranges/collectives.h"

struct gt_stack;
struct gt_string;

#define GT_HANG_STREAMS           64u
#define GT_HANG_OPERATIONS        4u /* of a stream, the oldest ones */
#define GT_HANG_THREADS           256u
#define GT_HANG_TEXT              768u
#define GT_HANG_COMMUNICATOR_TEXT 19u

/* A launch that is not done, as far as is known. */
struct gt_hang_operation {
	const struct gt_string *name; /* of the kernel, or of the call */
	uint64_t age;                 /* ns since the launch */
	uint32_t tid;
	const struct gt_stack *stack; /* where it was launched; NULL: not known */
	uint32_t finished;            /* operations of a graph that are done */
	bool is_kernel;
};

/* A stream with work in flight. */
struct gt_hang_stream {
	bool aimed;      /* else the calls do not tell the stream */
	bool has_number; /* records have told its number */
	uint16_t context;
	uint32_t tid; /* whose default stream it is; 0: an ordinary one */
	uint32_t device, number;
	uint64_t handle;
	uint64_t count; /* launches */
	uint32_t has;   /* of operations */
	uint64_t starts[GT_HANG_OPERATIONS];
	struct gt_hang_operation operations[GT_HANG_OPERATIONS];
};

/* A function of the host in a stream that perhaps has not returned. */
struct gt_hang_host {
	const struct gt_string *name; /* of the call; NULL: there is none */
	uint64_t handle, start;       /* of its stream; trace ns */
	uint16_t context;
	uint64_t age; /* ns since the call */
	uint32_t tid;
	const struct gt_stack *stack;
};

/* A communicator of NCCL (run --libraries=nccl), and how far this process is in it. */
struct gt_hang_communicator {
	struct gt_library_call last;  /* its newest collective that was called */
	uint64_t last_age;            /* ns */
	struct gt_library_call waits; /* the oldest one in flight; function 0: none is known */
	uint64_t waits_age;           /* ns since its launch */
};

/* A thread of the program. */
struct gt_hang_thread {
	uint32_t tid;
	const struct gt_string *name;
	const struct gt_string *call; /* that it is inside of; NULL: none */
	uint64_t call_age;            /* ns; 0: not known */
	bool call_waits;              /* for GPU work, by its nature */
	const struct gt_stack *call_stack;
	enum gt_sample_where where;
	const char *system_call; /* it waits in; NULL: not known */
	uint64_t argument;
	bool argument_is_descriptor;
	const struct gt_stack *stack;      /* now */
	const struct gt_string *last_call; /* that returned; NULL: not known */
	uint64_t last_age;
	bool is_newest; /* its last call is the newest of the process */
};

/* What everything waits for. */
enum gt_hang_verdict {
	GT_HANG_GPU,   /* the GPU never finished something */
	GT_HANG_CALL,  /* a call never returned, and the GPU has nothing to do */
	GT_HANG_HOST,  /* nobody launched anything */
	GT_HANG_MOVES, /* no hang: there is progress */
};

/* A report. */
struct gt_hang_report {
	struct gt_hang *hang;
	uint64_t now;       /* CLOCK_MONOTONIC ns */
	uint64_t trace_now; /* the same on the clock of the trace */
	uint64_t idle;      /* ns without progress */
	uint64_t flushing;  /* ns since CUPTI's flush began that has not returned; 0: none */
	bool is_asked;      /* from outside: perhaps nothing hangs */
	bool is_outside;    /* of the window that is recorded */
	bool has_cupti;     /* false, or is_outside: GPU work is not known */
	bool began_late;    /* work that was launched before the window is not known */
	uint32_t stream_count, thread_count;
	uint32_t streams_more, threads_more; /* that there was no room for */
	uint64_t operations;                 /* in flight */
	struct gt_hang_host host;            /* the oldest one */
	uint32_t communicator_count;
	struct gt_hang_communicator communicators[GT_RANGE_COLLECTIVES];
	struct gt_hang_stream streams[GT_HANG_STREAMS];
	struct gt_hang_thread threads[GT_HANG_THREADS];
	enum gt_hang_verdict verdict;
	char text[GT_HANG_TEXT];             /* of the verdict, one line */
	const struct gt_hang_thread *guilty; /* whom it names; NULL: none */
};

/* Collects everything. @is_asked: from outside. The result is valid until the next call. */
struct gt_hang_report *gt_hang_collect(struct gt_hang *hang, uint64_t now, bool is_asked);

/* Its parts, in this order. */
void gt_hang_find_streams(struct gt_hang_report *report);
void gt_hang_find_collectives(struct gt_hang_report *report);
void gt_hang_find_threads(struct gt_hang_report *report);
void gt_hang_judge(struct gt_hang_report *report);

/* "gpu", "call", "host", "none". */
const char *gt_hang_verdict_name(enum gt_hang_verdict verdict);

/* "stream 13 of device 0", "a default stream", ...; into @ret_text of @size bytes. */
void gt_hang_stream_text(const struct gt_hang_stream *stream, char *ret_text, size_t size);

/* "0x" and 16 digits, as in the trace. */
void gt_hang_communicator_text(uint64_t communicator, char ret_text[GT_HANG_COMMUNICATOR_TEXT]);

/* "61.2 s", "350 ms". */
void gt_hang_age_text(uint64_t ns, char *ret_text, size_t size);

/* The frame in words, without the path. Empty: NULL. */
struct gt_stack_frame;
void gt_hang_frame_text(const struct gt_stack_frame *frame, char *ret_text, size_t size);

/* Where a thread is that runs outside of calls: the function of the C library that waits, and who
 * called it. False: its stack is not known. */
bool gt_hang_place_text(const struct gt_hang_thread *thread, char *ret_text, size_t size);

/* Prints it. */
void gt_hang_print_text(const struct gt_hang_report *report, struct gt_json *out);
void gt_hang_print_json(const struct gt_hang_report *report, struct gt_json *out);
void gt_hang_print_summary(const struct gt_hang_report *report, struct gt_json *out);

#endif
