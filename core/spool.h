/* SPDX-License-Identifier: Apache-2.0
 *
 * The spool: memory that survives the process. One file on tmpfs, mapped shared, holds what a
 * killed process cannot write any more: rings, activity buffers, and the tables that give their
 * records a meaning. `gputrace run` and `repair` read it afterwards (core/spool_view.h); a clean
 * end removes it.
 *
 * Addresses inside the spool are kept as they are: the header tells where the mapping lay. Every
 * page is reserved before it is touched, because a full tmpfs would answer with SIGBUS, and no
 * descriptor stays open. A forked child gets private, empty memory in its place.
 */
#ifndef GT_CORE_SPOOL_H
#define GT_CORE_SPOOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_SPOOL_MAGIC   "gputrace spool\n"
#define GT_SPOOL_VERSION 1u
#define GT_SPOOL_PREFIX  "gputrace-"
#define GT_SPOOL_SUFFIX  ".spool"

/* Tables that recovery starts from; each is one structure of the part that set it. */
enum gt_spool_root {
	GT_SPOOL_SESSION,
	GT_SPOOL_THREADS,
	GT_SPOOL_CALLS,
	GT_SPOOL_STACKS,
	GT_SPOOL_MODULES,
	GT_SPOOL_BUFFERS,
	GT_SPOOL_ROOT_COUNT_
};

/* The first bytes of the file. Text is zero-terminated. */
struct gt_spool_header {
	char magic[16];
	uint32_t version;
	uint32_t pid;
	uint64_t start_ticks; /* of the process, field 22 of its stat */
	char boot_id[40];
	char build_id[72];   /* of the library that writes it, hexadecimal */
	char library[1024];  /* its path: the same build must read it */
	char folder[1024];   /* where its trace goes, absolute */
	char trace[1024];    /* the trace file, empty until there is one */
	uint64_t base, size; /* where the file was mapped, and how much of it */
	_Atomic uint64_t used;
	_Atomic uint64_t refused, threads_refused;    /* as gt_spool_refused tells */
	_Atomic uint64_t roots[GT_SPOOL_ROOT_COUNT_]; /* addresses; 0: not there */
};

/* How the spool of this process is made. */
struct gt_spool_options {
	const char *where;   /* "on", "off", or a folder */
	const char *runtime; /* $XDG_RUNTIME_DIR or NULL */
	const char *build_id, *library, *folder;
	size_t max_bytes;
	uint64_t started; /* ms since the epoch: a process may have several images */
};

/* Makes the spool of this process. 0, or a negative errno with one phrase why in @ret_why: memory
 * stays anonymous then. Session start, before anything is asked for. */
int gt_spool_start(const struct gt_spool_options *options, char *ret_why, size_t size);

/* The trace is closed: removes the file. The memory stays until the process ends. */
void gt_spool_remove(void);

/* The path of the spool, "" when there is none. */
const char *gt_spool_path(void);

/* @size zeroed bytes, page aligned, of the spool, else anonymous ones; NULL: no memory. Any thread;
 * a few system calls. Give back with gt_memory_unmap: bytes of the spool stay where they are. */
void *gt_spool_map(size_t size);

/* True while there is a spool that takes more. */
bool gt_spool_is_open(void);

/* True for memory of the spool. */
bool gt_spool_holds(const void *memory);

/* Bytes that were asked for and had no room in the spool, and threads whose ring had none; 0 where
 * there is no spool. */
uint64_t gt_spool_refused(void);
uint64_t gt_spool_refused_threads(void);

/* Counts such a thread. Any thread. */
void gt_spool_refuse_thread(void);

/* Tells recovery where a table is. Ignored when @table is not in the spool. */
void gt_spool_set_root(enum gt_spool_root root, const void *table);

/* Tells recovery which trace this belongs to. */
void gt_spool_set_trace(const char *path);

#endif
