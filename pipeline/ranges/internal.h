/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files behind pipeline/ranges/ranges.h share. Drain thread.
 */
#ifndef GT_PIPELINE_RANGES_INTERNAL_H
#define GT_PIPELINE_RANGES_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/guest/clock.h"
#include "core/guest/memory.h"
#include "core/intern.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"
#include "pipeline/output/outlet.h"
#include "pipeline/ranges/collectives.h"
#include "pipeline/ranges/nccl_order.h"
#include "pipeline/ranges/ranges.h"
#include "pipeline/ranges/steps.h"

/* Longest chain of ranges around a launch that is looked at. */
#define GT_RANGE_CHAIN_MAX 64u

/* The part of a stream that a range covers. */
struct gt_shadow {
	struct gt_shadow *next;
	struct gt_place place;
	uint64_t first, last; /* trace ns */
	uint32_t slack;       /* ns that it is drawn longer than it is */
};

/* A range, open or waiting for its GPU work. */
struct gt_range {
	struct gt_range *outer; /* innermost other range when it began; holds a reference */
	struct gt_range *below; /* next older one in its thread's list of open ranges */
	struct gt_range *chain; /* in its bucket of started ranges, or in the list of closed ones */
	struct gt_shadow *shadows;
	struct gt_range_event event;
	const struct gt_string *label; /* "domain:name" */
	uint64_t key;                  /* PUSH: level; START: the program's id */
	uint64_t start, end;           /* trace ns; end 0: open */
	uint64_t touched;              /* MONOTONIC ns of the last thing that happened to it */
	uint32_t domain;               /* reference, not the name: two may have one name */
	uint32_t tid;
	uint32_t references; /* inner ranges, and one for being open or closed and not settled */
	uint32_t launches;   /* calls inside that start GPU work */
	uint32_t pending;    /* of these: no operation has come yet */
	bool started;        /* by START: any thread may end it */
	bool has_work;       /* something that starts GPU work was called inside */
	bool settled;        /* its shadows are out */
	bool left_out;       /* by a filter: only its place among the others counts */
	bool has_node;       /* backward: an operator with a number ran in it */
	uint64_t node;       /* the number of the last one */
	uint64_t library;    /* number of what the call of a library launches, 0: nothing */
};

/* Communicators in one group of NCCL calls that are kept apart. */
#define GT_RANGE_GROUP     16u

/* What calls of libraries launched: so many of the newest ones. */
#define GT_RANGE_LIBRARIES (1u << 15)

/* What one of them launched. */
struct gt_range_library {
	uint64_t number; /* from 1 */
	uint32_t count;  /* this one and those behind it were launched together */
	struct gt_library_call call;
};

/* What NCCL's profiler interface reported about the newest operations, and the sums of those that
 * wait for it. */
#define GT_RANGE_TOLD 4096u
#define GT_RANGE_SUMS 256u

/* One operation, by its number: the place of its call. */
struct gt_range_told {
	uint64_t number, communicator;
	uint64_t sequence; /* untyped: its ticket */
	uint32_t ranks, rank;
	bool untyped;
};

/* What its proxies waited for. */
struct gt_range_sums {
	uint64_t number, began, ended; /* MONOTONIC ns */
	struct gt_library_call call;
	uint32_t tid, rounds;
};

/* The ranges of one thread. */
struct gt_range_thread {
	struct gt_range_thread *next; /* in its bucket */
	struct gt_range *open;        /* innermost first */
	uint32_t tid;
	uint32_t group_count;             /* what waits for ncclGroupEnd, by communicator */
	uint32_t group_depth;             /* groups that are open, as NCCL's ranges tell */
	bool runs_backward, runs_forward; /* operators with a number, in the engine and outside */
	uint64_t losses;                  /* of all ranges when that was found out */
	struct gt_library_call group[GT_RANGE_GROUP];
};

/* An END whose START lies in a ring that has not been read yet. */
struct gt_range_end {
	uint64_t program_id, time; /* MONOTONIC */
	uint32_t rounds;           /* that it has been waiting */
};

/* Where an operator of the forward pass launched something. Threads number alone. */
struct gt_range_forward {
	uint64_t sequence;
	const struct gt_stack *stack; /* NULL: none yet, or several threads have that number */
	uint32_t tid;
	bool used; /* something ran backward that belongs to it */
};

#define GT_RANGE_FORWARDS (1u << 16)

#define GT_RANGE_ENDS     1024u
#define GT_RANGE_BUCKETS  1024u
#define GT_RANGE_IDS      (1u << 17)

/* Memory of ranges and their shadows together; ranges at most, so that each has room for two
 * shadows. */
#define GT_RANGE_MEMORY   (48u << 20)
#define GT_RANGE_EACH     (sizeof(struct gt_range) + 2 * sizeof(struct gt_shadow))
#define GT_RANGE_MOST     (GT_RANGE_MEMORY / GT_RANGE_EACH)

/* All ranges of the session. */
struct gt_ranges {
	const struct gt_clock *clock;
	struct gt_intern *strings;
	struct gt_ledger *ledger;
	struct gt_outlet *outlet;
	struct gt_arena arena;
	struct gt_range *free_ranges;
	struct gt_shadow *free_shadows;
	struct gt_range_thread *free_threads;
	struct gt_range_thread *threads[GT_RANGE_BUCKETS]; /* by tid */
	struct gt_range *started[GT_RANGE_BUCKETS];        /* open ones, by the program's id */
	struct gt_range *by_id[GT_RANGE_IDS];              /* by event.id modulo the size */
	struct gt_range *closed_first, **closed_last;      /* not settled, in order of their end */
	struct gt_range_end ends[GT_RANGE_ENDS];
	uint32_t end_count;
	uint32_t open_count;
	uint64_t next_id;
	uint64_t next_settle; /* MONOTONIC ns */
	uint64_t lost;
	uint64_t unshadowed; /* settled by force: shadows of theirs are missing */
	uint64_t made;       /* of the arena */
	uint64_t in_use;     /* of these */
	size_t string_bytes; /* that names of ranges take */
	struct gt_range_steps steps;
	bool operators; /* of PyTorch are reported by their names */
	struct gt_range_forward forwards[GT_RANGE_FORWARDS]; /* by sequence modulo their number */
	uint32_t backward_threads;
	struct gt_range_collectives collectives;
	struct gt_nccl_order nccl;
	uint64_t last_library;
	/* by number modulo GT_RANGE_LIBRARIES, in the spool: kernels of theirs may come out of it;
	 * NULL: there was no such call */
	struct gt_range_library *libraries;
	bool lacks_libraries;       /* there was no memory for them */
	struct gt_range_told *told; /* by number modulo GT_RANGE_TOLD; NULL: none, or no memory */
	struct gt_range_sums sums[GT_RANGE_SUMS];
	uint32_t sums_count;
};

/* ---- ranges.c ---- */

/* @range is about to end: of pushed ranges that then have crossed, one is marked detached. */
void gt_range_uncross(const struct gt_ranges *ranges, struct gt_range *range);

/* It is over: no longer open anywhere, waiting for its work. */
void gt_range_close(struct gt_ranges *ranges, struct gt_range *range, uint64_t end);

/* The innermost open push/pop range of a domain on the thread, or NULL. */
struct gt_range *gt_range_find_pushed(const struct gt_ranges *ranges, uint32_t tid, uint32_t domain,
				      uint64_t level);
/* Open start/end ranges, by id. */
struct gt_range *gt_range_find_started(const struct gt_ranges *ranges, uint64_t program_id);
void gt_range_add_started(struct gt_ranges *ranges, struct gt_range *range);

/* Innermost open range of a thread, or NULL. */
struct gt_range *gt_range_innermost(const struct gt_ranges *ranges, uint32_t tid);

/* The range with this id if it still lives. */
struct gt_range *gt_range_find(const struct gt_ranges *ranges, uint64_t id);

/* Takes it off its thread, though it is not over. */
void gt_range_remove_from_thread(struct gt_ranges *ranges, struct gt_range *range);

/* What is kept of a thread; _get makes it (NULL: no memory), _free if nothing is open on it. */
struct gt_range_thread *gt_range_thread_get(struct gt_ranges *ranges, uint32_t tid);
void gt_range_thread_free(struct gt_ranges *ranges, uint32_t tid);

/* The next range outwards; settled ones are left out for good. */
struct gt_range *gt_range_outer(struct gt_ranges *ranges, struct gt_range *range);

/* One launch less refers to the range; the last one frees it. */
void gt_range_drop_reference(struct gt_ranges *ranges, struct gt_range *range);

/* ---- records.c ---- */

/* Of a name, as long as names of ranges have room. */
const struct gt_string *gt_range_string(struct gt_ranges *ranges, const char *text, size_t length);

/* What was registered with NVTX under @reference. NULL: nothing. */
const struct gt_string *gt_range_registered(struct gt_ranges *ranges, uint32_t reference);

/* Sets the label, from domain and name. */
void gt_range_label(struct gt_ranges *ranges, struct gt_range *range);

/* Makes it the call of a library. */
void gt_range_describe_library(struct gt_ranges *ranges, struct gt_range *range,
			       const struct gt_library_call *call);

/* ---- shadows.c ---- */

/* Each open range that no filter leaves out. */
void gt_range_each_open(const struct gt_ranges *ranges,
			void (*take)(void *context, struct gt_range *range), void *context);

/* Settles the oldest closed ranges without waiting for their work: others need the room. */
void gt_range_settle_oldest(struct gt_ranges *ranges);

/* ---- library.c ---- */

/* A call of a library begins on @tid. Returns the number of what it launches, 0: nothing. */
uint64_t gt_range_library_begin(struct gt_ranges *ranges, uint32_t tid,
				const struct gt_library_call *call);

/* One of what was launched, by its number, NULL: no longer kept; and another one in its place. */
const struct gt_range_library *gt_range_library_find(const struct gt_ranges *ranges,
						     uint64_t number);
void gt_range_library_change(struct gt_ranges *ranges, uint64_t number,
			     const struct gt_library_call *call);

/* What was launched with @number that is of the communicator of @told; else what all of it has in
 * common. False: it is no longer kept. */
bool gt_range_library_of(const struct gt_ranges *ranges, uint64_t number,
			 const struct gt_library_call *told, struct gt_library_call *ret_call);

/* Sets what @event, a kernel of the launch, does for it. */
void gt_range_library_kernel(const struct gt_ranges *ranges, struct gt_event *event);

/* ---- nccl.c ---- */

/* A pushed range begins, and is popped: if it is one of NCCL's, it becomes a call. */
void gt_range_nccl_begin(struct gt_ranges *ranges, struct gt_range *range,
			 const struct gt_nvtx_record *record);
void gt_range_nccl_end(struct gt_ranges *ranges, struct gt_range *range,
		       const struct gt_nvtx_record *record);

/* All rings have been emptied. */
void gt_range_nccl_round(struct gt_ranges *ranges);

/* ---- told.c ---- */

/* Of NCCL's profiler interface: an operation, and what its proxies waited for. */
void gt_range_told(struct gt_ranges *ranges, const struct gt_nvtx_record *record);
void gt_range_network(struct gt_ranges *ranges, const struct gt_nvtx_record *record);

/* All rings have been emptied. @all: nothing will come any more. */
void gt_range_told_round(struct gt_ranges *ranges, bool all);

/* ---- finish.c ---- */

/* Closes and writes a range. @unfinished: nobody ended it. */
void gt_range_finish(struct gt_ranges *ranges, struct gt_range *range, uint64_t end,
		     bool unfinished);

/* ---- open.c ---- */

/* A range that begins on @tid, on top of what is open there. NULL: no room, counted. */
struct gt_range *gt_range_open(struct gt_ranges *ranges, uint32_t tid, uint64_t start);

#endif
