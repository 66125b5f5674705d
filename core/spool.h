/* SPDX-License-Identifier: Apache-2.0
 *
 * The spool: memory that survives the process. One file on tmpfs, mapped shared, holds what a
 * killed process can no longer write: rings, activity buffers, and the tables that their records
 * refer to. `gputrace run` and `repair` read it afterwards (core/spool_view.h); a clean end removes
 * it.
 *
 * Pointers inside the spool are stored as they are: the header has the address of the mapping.
 * Every page is reserved before it is touched, because a full tmpfs raises SIGBUS, and no
 * descriptor stays open. A forked child gets private, empty memory in its place.
 */
#ifndef GT_CORE_SPOOL_H
#define GT_CORE_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_SPOOL_MAGIC   "gputrace spool\n"
#define GT_SPOOL_VERSION 3u
#define GT_SPOOL_PREFIX  "gputrace-"
#define GT_SPOOL_SUFFIX  ".spool"

/* The tables from which recovery starts; each is one structure of the module that set it. */
enum gt_spool_root {
	GT_SPOOL_SESSION,
	GT_SPOOL_THREADS,
	GT_SPOOL_CALLS,
	GT_SPOOL_STACKS,
	GT_SPOOL_MODULES,
	GT_SPOOL_BUFFERS,
	GT_SPOOL_LIBRARIES,
	GT_SPOOL_ROOT_COUNT_
};

/* The start of the file. Text is zero-terminated. */
struct gt_spool_header {
	char magic[16];
	uint32_t version;
	uint32_t pid;
	uint64_t start_ticks; /* of the process, field 22 of its stat */
	char boot_id[40];
	char build_id[72];   /* hexadecimal; only the build that wrote the spool reads it */
	char folder[1024];   /* of its trace, absolute */
	char trace[1024];    /* the trace file, empty until there is one */
	uint64_t base, size; /* address and size of the mapping */
	_Atomic uint64_t used;
	_Atomic uint64_t refused, threads_refused;    /* see gt_spool_refused */
	_Atomic uint64_t roots[GT_SPOOL_ROOT_COUNT_]; /* addresses; 0: not there */
	_Atomic uint32_t is_closing; /* the trace is being closed, and the process goes on */
};

/* How to make the spool of this process. */
struct gt_spool_options {
	const char *where;   /* "on", "off", or a folder */
	const char *runtime; /* $XDG_RUNTIME_DIR or NULL */
	const char *build_id, *folder;
	size_t max_bytes;
	uint64_t started; /* ms since the epoch: a process may have several images */
};

/* Makes the spool of this process. 0, or a negative errno with a short reason in @ret_why: then
 * memory is anonymous. Session start, before any memory is requested. */
int gt_spool_start(const struct gt_spool_options *options, char *ret_why, size_t size);

/* The trace is closed: removes the file. The memory stays mapped until the process ends. */
void gt_spool_remove(void);

/* Why there can be no spool in @folder ("is no tmpfs"), NULL: there can. */
const char *gt_spool_refusal(const char *folder);

/* The path of the spool, "" when there is none. */
const char *gt_spool_path(void);

/* @size zeroed bytes, page aligned, of the spool, or anonymous if it has no room; NULL: no memory.
 * Any thread; a few system calls. Unmap with gt_memory_unmap, which leaves bytes of the spool in
 * place. */
void *gt_spool_map(size_t size);

/* True while the spool hands out memory. */
bool gt_spool_is_open(void);

/* Whether @memory is in the spool. */
bool gt_spool_holds(const void *memory);

/* Bytes, and threads with their ring, that did not fit into the spool; 0 without a spool. */
uint64_t gt_spool_refused(void);
uint64_t gt_spool_refused_threads(void);

/* Bytes that are left; 0 without a spool. */
uint64_t gt_spool_room(void);

/* Counts a thread whose ring did not fit. Any thread. */
void gt_spool_refuse_thread(void);

/* Records for recovery where a table is. Ignored when @table is not in the spool. */
void gt_spool_set_root(enum gt_spool_root root, const void *table);

/* Records for recovery which trace this belongs to. */
void gt_spool_set_trace(const char *path);

/* Records for recovery that the trace is being closed: if it is found closed, the spool has what
 * came meanwhile. Until the next gt_spool_set_trace. */
void gt_spool_set_closing(void);

#endif
