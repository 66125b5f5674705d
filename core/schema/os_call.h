/* SPDX-License-Identifier: Apache-2.0
 *
 * A call of the operating system that blocked, --osrt: what libgputrace-osrt.so (preload/osrt)
 * hands to libgputrace.so, and what is known of it in a trace.
 */
#ifndef GT_CORE_SCHEMA_OS_CALL_H
#define GT_CORE_SCHEMA_OS_CALL_H

#include <stdatomic.h>
#include <stdint.h>

struct gt_fast_clock;

/* soname of the one, and its variable that the other sets: _Atomic(const struct gt_os_sink *), NULL
 * at first. */
#define GT_OS_LIBRARY       "libgputrace-osrt.so"
#define GT_OS_VARIABLE      "gputrace_os_sink"

#define GT_OS_NO_DESCRIPTOR (-1)
#define GT_OS_PATH          512 /* of dlopen: what is longer is cut */

/* The rows of os_calls.def. */
enum gt_os_function {
#define GT_OS_CALL(id, name, result) GT_OS_##id,
#include "core/schema/os_calls.def"
	GT_OS_FUNCTION_COUNT_
};

/* A call that is over. */
struct gt_os_call {
	enum gt_os_function function;
	int descriptor;      /* that it is about, or GT_OS_NO_DESCRIPTOR */
	int error;           /* errno behind it, whether it failed or not */
	int64_t result;      /* what it returned */
	uint64_t start, end; /* CLOCK_MONOTONIC ns */
	const void *frame;   /* of the interposed function: its caller's rbp, its return address */
	const char *path;    /* that it is about, as the program gave it; NULL: none */
	/* Of the descriptor, see preload/osrt/turns.h; NULL: none. Before the call, or behind an
	 * open */
	const _Atomic uint32_t *turn;
	uint32_t turn_then;
};

/* Whom to report calls to that took @threshold ns or longer. On the thread that calls, in signal
 * handlers, too: no lock, no allocation; errno is kept. */
struct gt_os_sink {
	uint64_t threshold;
	const struct gt_fast_clock *clock; /* what calls are to be stamped by */
	void (*put)(const struct gt_os_call *call);
};

/* What recovery must know of calls that are on their way from the thread to the file when the
 * process is killed: it loses @taken less @settled. */
struct gt_os_tally {
	_Atomic uint64_t taken;   /* that were reported and are to be recorded */
	_Atomic uint64_t settled; /* of these, those that are in the file, or left out */
};

/* Kind of a descriptor. The numbers are in .pftrace files. */
enum gt_os_kind {
	GT_OS_KIND_UNKNOWN, /* closed meanwhile, or none */
	GT_OS_KIND_FILE,
	GT_OS_KIND_FOLDER,
	GT_OS_KIND_PIPE,
	GT_OS_KIND_SOCKET,
	GT_OS_KIND_DEVICE,
	GT_OS_KIND_EVENTFD,
	GT_OS_KIND_EPOLL,
	GT_OS_KIND_TIMERFD,
	GT_OS_KIND_OTHER,
	GT_OS_KIND_COUNT_
};

/* The same in a trace. 0 in all: not an OS call. */
struct gt_os_facts {
	int64_t result; /* bytes, if has_bytes */
	int32_t descriptor;
	uint16_t error; /* errno, 0: it did not fail */
	uint8_t kind;   /* enum gt_os_kind */
	uint8_t has_bytes;
};

/* "read"; "" for a number that is none. */
const char *gt_os_function_name(unsigned int function);

/* "file", "pipe", ...; NULL: GT_OS_KIND_UNKNOWN, or not one. */
const char *gt_os_kind_name(unsigned int kind);

/* The kind of that name, GT_OS_KIND_UNKNOWN: there is none. @text needs no end. */
enum gt_os_kind gt_os_kind_find(const char *text, unsigned long length);

/* What a trace says of the result; no descriptor kind yet. */
struct gt_os_facts gt_os_facts_of(const struct gt_os_call *call);

#endif
