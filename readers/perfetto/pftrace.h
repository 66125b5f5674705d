/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the .pftrace reader share (docs/FORMAT.md, "The .pftrace form"):
 *
 *   pftrace.c         packets, one after the other
 *   names.c   interned data: strings, stacks, kernels
 *   host.c    track descriptors, and events of the host
 *   gpu.c     work of the GPU
 *   metadata.c   facts and ledger
 *
 * Nothing in the file is trusted: lengths, numbers and references are checked. One thread per
 * reading.
 */
#ifndef GT_READERS_PERFETTO_PFTRACE_H
#define GT_READERS_PERFETTO_PFTRACE_H

#include "core/schema/pftrace.h"
#include "core/stack.h"
#include "readers/events.h"
#include "readers/perfetto/wire.h"

/* Numbers of interned things beyond this are refused. */
#define GT_PFTRACE_MAX_IID (1u << 24)

/* Things by number. */
struct gt_pftrace_table {
	void **rows;
	uint32_t count;
};

/* The tables of interned names. */
enum gt_pftrace_names {
	GT_PFTRACE_EVENT_NAMES,
	GT_PFTRACE_FUNCTIONS,
	GT_PFTRACE_PATHS,
	GT_PFTRACE_BUILD_IDS,
	GT_PFTRACE_MODULES,
	GT_PFTRACE_SOURCES,
	GT_PFTRACE_HOST_VALUES,
	GT_PFTRACE_GPU_VALUES,
	GT_PFTRACE_STAGES,
	GT_PFTRACE_FRAMES,
	GT_PFTRACE_STACKS,
	GT_PFTRACE_KERNELS,
	GT_PFTRACE_TRACKS,
	GT_PFTRACE_NAMES_COUNT_
};

/* Arguments of GPU work that is alike. */
struct gt_pftrace_args {
	uint64_t mask;
	uint64_t value[GT_PF_ARG_COUNT_];
	const struct gt_string *text; /* of a text argument */
};

/* A shared object or program. */
struct gt_pftrace_module {
	const struct gt_string *path, *build_id;
};

/* A track, as its descriptor says. */
struct gt_pftrace_track {
	enum { GT_PFTRACE_TRACK, GT_PFTRACE_THREAD, GT_PFTRACE_COUNTER } kind;
	uint32_t tid;    /* of a thread, or of the one whose stacks or ranges a track shows */
	uint32_t device; /* below whose track a counter stands */
	bool on_gpu;
	const struct gt_string *name, *series;
};

/* A .pftrace that is being read. */
struct gt_pftrace {
	struct gt_events *events;
	const char *path;
	struct gt_pftrace_table tables[GT_PFTRACE_NAMES_COUNT_];
	uint64_t clock[3];
	bool has_clock[3];
	bool has_metadata;
	bool metadata_only;   /* events are passed over */
	struct gt_event open; /* a slice whose end has not come */
	uint64_t open_track;
	bool is_open;
	uint32_t *cbids; /* by number of the name of a call */
	uint32_t cbid_count;
};

/* ---- names.c ---- */

/* The thing with that number, or NULL. */
void *gt_pftrace_find(const struct gt_pftrace *pf, enum gt_pftrace_names table, uint64_t iid);
/* -EBADMSG: the number is out of range. -ENOMEM. */
int gt_pftrace_store(struct gt_pftrace *pf, enum gt_pftrace_names table, uint64_t iid, void *thing);
/* The sequence starts over: none of its numbers means anything any more. */
void gt_pftrace_forget_names(struct gt_pftrace *pf, uint64_t sequence);
int gt_pftrace_take_names(struct gt_pftrace *pf, uint64_t sequence, struct gt_wire data);
/* One ExtraComputeArg into @args. */
void gt_pftrace_take_arg(struct gt_pftrace *pf, struct gt_wire arg, struct gt_pftrace_args *args);
const struct gt_string *gt_pftrace_text(struct gt_pftrace *pf, const struct gt_wire_field *field);
void gt_pftrace_names_fini(struct gt_pftrace *pf);

/* ---- host.c, gpu.c, metadata.c ---- */

/* Each reads one message of a packet. 0 or a negative errno. */
int gt_pftrace_take_track(struct gt_pftrace *pf, struct gt_wire track);
int gt_pftrace_take_event(struct gt_pftrace *pf, struct gt_wire event, uint64_t ns);
int gt_pftrace_take_sample(struct gt_pftrace *pf, struct gt_wire sample, uint64_t ns);
int gt_pftrace_take_stage(struct gt_pftrace *pf, struct gt_wire stage, uint64_t ns);
int gt_pftrace_take_metadata(struct gt_pftrace *pf, struct gt_wire event);
void gt_pftrace_take_ledger(struct gt_pftrace *pf, struct gt_wire event);

#endif
