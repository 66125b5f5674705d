/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX as a source of events: our implementation of the annotation functions. The NVTX headers
 * inside each library of the program load us (NVTX_INJECTION64_PATH), call the exported functions
 * below once per library, and from then on our handlers.
 *
 *   nvtx.c      attaching: fills the function tables with our handlers
 *   core.c      ranges, marks, domains, strings, categories
 *   names.c     names of threads, devices, contexts, streams
 *   ext.c       the extensions: payloads and counters
 *   write.c     a call becomes a record in the thread's ring, or an early range
 *   early.c     ranges before the session
 *   self.c      state of each thread: its levels
 *   registry.c  what the program registers
 *   payload.c   payloads and schemas copied at the call
 *   decode.c    payloads as text, on the drain thread
 *   value.c     one value of a payload as text
 *   number.c    numbers of the payload types
 *   text.c      bounded lengths, wide characters
 *
 * Handlers run on application threads. Once a thread is known: no lock, no allocation, no system
 * call, and no pointer of the program is kept after the call.
 */
#ifndef GT_COLLECTORS_NVTX_NVTX_H
#define GT_COLLECTORS_NVTX_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/nvtx/headers.h"

/* Called by the NVTX code of each library of the program: 3.x and 2.x, older ones, extensions.
 * Always return 1: 0 would unload us and disable NVTX in that library for good (REQ-72). */
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
	__attribute__((visibility("default")));
int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_table)
	__attribute__((visibility("default")));
int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
	__attribute__((visibility("default")));

/* The session has ended: handlers become no-ops. */
void gt_nvtx_stop(void);

/* Of pushed ranges on one level of a thread only those are recorded that begin a millisecond after
 * the last one, the others are counted (GT_THREAD_RANGES_THINNED); not calls of libraries. Until
 * this is called again: --thin. Drain thread. */
void gt_nvtx_thin(bool thins);

/* Whether it has. */
bool gt_nvtx_is_stopped(void);

/* Errors on application threads, summed over all threads. */
struct gt_nvtx_counts {
	uint64_t lost;    /* ranges, marks, samples dropped for lack of room */
	uint64_t wrong;   /* pops without a push, foreign handles, attributes of unknown size */
	uint64_t refused; /* registrations over the limit */
};

/* The current counters. Any thread. */
struct gt_nvtx_counts gt_nvtx_count(void);

#endif
