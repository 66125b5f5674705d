/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the parts of the .pftrace reader (docs/FORMAT.md, "The .pftrace form"):
 *
 *   pftrace.c    packets
 *   names.c      interned data: strings, stacks, kernels
 *   host.c       track descriptors and host events
 *   gpu.c        GPU work
 *   metadata.c   metadata and ledger
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

/* Larger iids are refused. */
#define GT_PFTRACE_MAX_IID (1u << 24)

/* Interned data by iid. */
struct gt_pftrace_table {
	void **rows;
	uint32_t count;
};

/* The tables of interned data. */
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

/* Arguments of GPU work. */
struct gt_pftrace_args {
	uint64_t mask;
	uint64_t value[GT_PF_ARG_COUNT_];
	const struct gt_string *text; /* of the argument of type GT_PF_TYPE_TEXT */
};

/* A shared object or program. */
struct gt_pftrace_module {
	const struct gt_string *path, *build_id;
};

/* A track, from its descriptor. */
struct gt_pftrace_track {
	enum { GT_PFTRACE_TRACK, GT_PFTRACE_THREAD, GT_PFTRACE_COUNTER } kind;
	uint32_t tid;    /* of the thread, also of its track of stacks or ranges */
	uint32_t device; /* whose track is the parent of a counter */
	bool on_gpu;
	const struct gt_string *name, *series;
};

/* State of a reading. */
struct gt_pftrace {
	struct gt_events *events;
	const char *path;
	struct gt_pftrace_table tables[GT_PFTRACE_NAMES_COUNT_];
	uint64_t clock[3];
	bool has_clock[3];
	bool has_metadata;
	bool metadata_only;   /* skip events */
	struct gt_event open; /* a slice whose end has not been read */
	uint64_t open_track;
	bool is_open;
	uint32_t *cbids; /* by iid of the name of a call */
	uint32_t cbid_count;
};

/* ---- names.c ---- */

/* The entry with that iid, or NULL. */
void *gt_pftrace_find(const struct gt_pftrace *pf, enum gt_pftrace_names table, uint64_t iid);
/* -EBADMSG: the iid is out of range. -ENOMEM. */
int gt_pftrace_store(struct gt_pftrace *pf, enum gt_pftrace_names table, uint64_t iid, void *thing);
/* Drops the interned data of a sequence, which starts over. */
void gt_pftrace_forget_names(struct gt_pftrace *pf, uint64_t sequence);
int gt_pftrace_take_names(struct gt_pftrace *pf, uint64_t sequence, struct gt_wire data);
/* Adds one ExtraComputeArg to @args. */
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
