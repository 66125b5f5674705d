/* SPDX-License-Identifier: Apache-2.0
 *
 * Properties of a whole trace, stored in its header: process, rank, host, libraries, devices,
 * clocks. Filled by the session step by step; writers print what is known so far and rewrite it
 * after changes. Drain thread only.
 */
#ifndef GT_CORE_SCHEMA_METADATA_H
#define GT_CORE_SCHEMA_METADATA_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/guest/clock.h"
#include "core/schema/event.h"
#include "core/schema/ledger.h"

#define GT_METADATA_DEVICES 64
#define GT_METADATA_SCHEMA  1 /* schemaVersion of what is written: docs/FORMAT.md */
#define GT_METADATA_FILTERS 1600

/* Members of the header's "segment", as segment.def lists them. */
enum gt_segment_key {
#define GT_SEGMENT(id, json, help) GT_SEGMENT_##id,
#include "core/schema/segment.def"
#undef GT_SEGMENT
	GT_SEGMENT_COUNT_
};

/* Names, indexed by enum gt_segment_key. */
extern const char *const gt_segment_names[GT_SEGMENT_COUNT_];

/* Counts an earlier file, which has that @ledger, as removed. Returns the events in it. */
uint64_t gt_segment_remove(uint64_t *segment, const struct gt_ledger *ledger);

/* The reverse: the file is there after all. */
void gt_segment_put_back(uint64_t *segment, const struct gt_ledger *ledger);

/* What `gputrace repair` did to the file of a process that died. */
struct gt_metadata_repaired {
	bool done;
	bool without_ledger;        /* what the process had not written is not known */
	uint64_t events, cut_bytes; /* kept; cut off */
	uint64_t calls, operations; /* recovered from its spool */
	uint64_t in_flight;         /* launches without a GPU record */
	uint64_t maybe_removed;     /* of calls and operations, at most: were in removed files */
};

/* The metadata of a trace. */
struct gt_metadata {
	const char *version; /* of gputrace */
	char process[64];    /* short name of the program, /proc/self/comm */
	char host[65];
	char boot[80];   /* gt_sys_clock_id: what CLOCK_MONOTONIC counts from; empty: not known */
	char run[256];   /* name of the run, outer runs first; empty: none */
	char job[80];    /* id that a launcher gave the job (core/run_name.h); empty: none */
	char launch[80]; /* where its processes meet, on all hosts (core/run_name.h); empty: none */
	char launcher[64]; /* "mpiexec 4711-123456": who gave the rank; empty: not known */
	uint32_t starts;   /* that torchrun has made of the ranks, with this one; 0: not known */
	uint32_t schema;   /* schemaVersion of a .pftrace that was read; 0: what is written now */
	uint32_t pid;
	int32_t rank;             /* 0 without a launcher */
	int32_t world_size;       /* 1 without a launcher */
	int32_t local_rank;       /* -1: not known */
	bool has_rank;            /* a launcher set the rank */
	char rank_doubt[128];     /* variables that contradict it, and what is taken; empty: none */
	char backend[16];         /* what ranks meet by: "nccl", "mpi"; empty: none was seen */
	uint64_t base;            /* ns, subtracted from every time stamp written */
	uint64_t start;           /* trace clock ns of the start of the session */
	uint32_t cupti_version;   /* 0: no CUPTI */
	uint32_t runtime_version; /* 13000, 0: not known */
	uint32_t driver_version;
	char cupti_path[256];
	char cupti_quirks[192]; /* known faults of this version (quirks.def); empty: none */
	const char *mode;       /* "cupti", "hooks only" */
	char mode_reason[384];  /* why hooks only, empty otherwise */
	char python[96];        /* "3.12.1", "off: why", empty: no interpreter was seen */
	char frameworks[320];   /* state of --pytorch and --python-functions; empty: not
				 * requested */
	char graphs[192];   /* --graphs, when not node: "whole", "off", "node: why"; else empty */
	char hw_trace[192]; /* --hw-trace, when not off: "on", "off: why"; else empty */
	char nvml[192];     /* --nvml: "10 per second, driver 580.00", "off: why"; else empty */
	char attached[64];  /* when `gputrace attach` came, empty: it did not */
	char window[128];   /* what --delay, --start-at and --duration left; empty: everything */
	char cost[256];     /* what tracing cost: pipeline/sources/cost.h; empty: not known yet */
	char filters[GT_METADATA_FILTERS]; /* core/window/capture_filter.h; empty: all is recorded
					    */
	uint64_t window_begin; /* trace clock ns: what ended before is not written; 0: everything is
				* written, UINT64_MAX: it has not begun */
	uint64_t window_end;   /* calls that end later are not written; 0: it has not ended */
	uint32_t window_number; /* from 1; 0: there is one at most */
	const char *unwinder;   /* "call frame information", "off" */
	uint32_t device_count;  /* devices[] is indexed by device id, holes have id UINT32_MAX */
	struct gt_device_event devices[GT_METADATA_DEVICES];
	char merged_clock[64]; /* of a merged file: how this clock came to its one; empty: alone */
	char clock[96];        /* what calls and ranges are stamped by (core/guest/fast_clock.h) */
	struct gt_clock_sample clock_first, clock_last;
	int64_t cupti_clock_offset; /* ns that CUPTI's clock is ahead of CLOCK_REALTIME */
	uint64_t cupti_clock_error; /* of it, ns; 0: not known */
	char command[1024];         /* arguments, blanks between them; empty unless requested */
	char spool[256];   /* file that holds what a killed process has not written; empty: none */
	char memory[448];  /* limit of the cgroup and what is sized by it; empty: no limit */
	char seccomp[160]; /* what is left out under a seccomp filter; empty: no filter was seen */
	char options[512]; /* options that differ from their default, "name=value ..." */
	uint64_t segment[GT_SEGMENT_COUNT_]; /* number 0: the only file of the process */
	struct gt_metadata_repaired repaired;
	uint32_t generation; /* counts changes */
};

/* What a trace lacks that was made without CUPTI, or by `gputrace attach`; NULL: nothing. Pure. */
static inline const char *gt_metadata_not_recorded(const struct gt_metadata *metadata)
{
	if (metadata->mode && !strcmp(metadata->mode, "hooks only"))
		return "GPU work, and calls of the driver API, of static runtimes and through "
		       "dlsym";
	if (*metadata->attached)
		return "NVTX ranges, Python functions, where graphs that were there before were "
		       "made, what comes last before _exit";
	return NULL;
}

#endif
