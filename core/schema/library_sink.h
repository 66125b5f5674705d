/* SPDX-License-Identifier: Apache-2.0
 *
 * What libgputrace-libraries.so, libgputrace-cublas.so and others (preload/libraries, preload/mpi)
 * hand to libgputrace.so: begin and end of each call of a library that it interposes.
 */
#ifndef GT_CORE_SCHEMA_LIBRARY_SINK_H
#define GT_CORE_SCHEMA_LIBRARY_SINK_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/schema/library_call.h"

/* sonames of the ones, and the variable of each that the other sets: _Atomic(const struct
 * gt_library_sink *), NULL at first. */
#define GT_LIBRARY_LIBRARY  "libgputrace-libraries.so"
#define GT_LIBRARY_CUBLAS   "libgputrace-cublas.so"
#define GT_LIBRARY_CUFFT    "libgputrace-cufft.so"
#define GT_LIBRARY_CUDNN    "libgputrace-cudnn.so"
#define GT_LIBRARY_CUSPARSE "libgputrace-cusparse.so"
#define GT_LIBRARY_CUSOLVER "libgputrace-cusolver.so"
#define GT_LIBRARY_MPI      "libgputrace-mpi.so"
#define GT_LIBRARY_VARIABLE "gputrace_library_sink"

/* Loaded by NCCL, which this variable of the environment tells; it reads the first one's. */
#define GT_LIBRARY_PROFILER "libgputrace-nccl-profiler.so"
#define GT_LIBRARY_PLUGIN   "NCCL_PROFILER_PLUGIN"
#define GT_LIBRARY_PLANNED  "GPUTRACE_NCCL_PLUGIN" /* its value behind gputrace run */

/* The result of a call that did not return. */
#define GT_LIBRARY_LEFT     (-1)

/* On the thread that calls. No lock, no allocation, no system call once that is known; errno is
 * kept. Calls nest as they do in the program. */
struct gt_library_sink {
	/* False: it has no room, or does not record: there must be no end. */
	bool (*begin)(const struct gt_library_call *call);
	void (*end)(int result);
	/* The same for MPI. @began: CLOCK_MONOTONIC ns, 0: now. @source: plus 1, whom it has
	 * received from; 0: not known. */
	bool (*begin_at)(const struct gt_library_call *call, uint64_t began);
	void (*end_from)(int result, uint32_t source);
	/* What the program calls is no MPI that is known: said once. */
	void (*declined)(void);
	/* The program calls @symbol, which its @library does not have. Not on a hot path. */
	void (*missing)(const char *symbol, const char *library);
	/* The @library is of a version whose descriptors nobody here knows. Not on a hot path. */
	void (*unknown)(const char *library, uint64_t version);
	/* The last gt_math_call.number: one for all libraries of the process. */
	_Atomic uint32_t *numbers;
	/* From NCCL's profiler interface. What it says of an operation of the call that the thread
	 * is in: @call->in is the count, @number its own, from 1. */
	void (*told)(const struct gt_library_call *call, uint64_t number);
	/* What its proxies waited for, between these moments of CLOCK_MONOTONIC, ns. */
	void (*network)(const struct gt_library_call *call, uint64_t number, uint64_t began,
			uint64_t ended);
	/* Events for which the plug-in had no room. */
	_Atomic uint64_t *untaken;
};

/* The calls that a thread is in, as an interposer counts them; zeroed at first. */
struct gt_library_inside {
	uint32_t depth;
	uintptr_t frame;                    /* of the function that is the outermost one */
	const struct gt_library_sink *sink; /* that knows of it; NULL: none */
};

/* Whether what begins in @frame is in no other call. One that longjmp or an exception has left
 * never ends: it is over when another one begins no deeper on the stack. */
static inline bool gt_library_is_outermost(struct gt_library_inside *inside, const void *frame)
{
	if (__builtin_expect(inside->depth && (uintptr_t)frame >= inside->frame, 0)) {
		inside->depth = 0;
		if (inside->sink)
			inside->sink->end(GT_LIBRARY_LEFT);
		inside->sink = NULL;
	}
	return !inside->depth;
}

#endif
