/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX as a source: our implementation of the functions that a program annotates itself with. The
 * NVTX headers inside each of the program's libraries load us (NVTX_INJECTION64_PATH), call the
 * exported functions below once per library, and from then on our handlers.
 *
 *   nvtx.c           attaching: which handler stands in which slot
 *   core.c      ranges, marks, domains, strings, categories
 *   names.c     names of threads, devices, contexts, streams
 *   ext.c       the extensions: payloads and counters
 *   write.c     a call becomes a record in the thread's ring, or an early range
 *   early.c     ranges before there is a session
 *   self.c      what each thread keeps: its levels
 *   registry.c  what the program registers
 *   payload.c   payloads and schemas copied at the call
 *   decode.c    payloads as text, on the drain thread
 *   value.c     one value of a payload as text
 *   number.c    numbers of the payload types
 *   text.c      bounded lengths, wide characters
 *
 * Handlers run on application threads. Once a thread is known: no lock, no allocation, no system
 * call, and no pointer of the program is kept beyond the call.
 */
#ifndef GT_COLLECTORS_NVTX_NVTX_H
#define GT_COLLECTORS_NVTX_NVTX_H

#include <stdint.h>

#include "collectors/nvtx/headers.h"

/* Called by the NVTX code of each library of the program: 3.x and 2.x, older ones, extensions.
 * Always 1: 0 would unload us and silence the library for good (REQ-72). */
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
	__attribute__((visibility("default")));
int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_table)
	__attribute__((visibility("default")));
int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t *module)
	__attribute__((visibility("default")));

/* The session has ended: handlers do nothing from now on. */
void gt_nvtx_stop(void);

/* What went wrong on application threads, of all threads together. */
struct gt_nvtx_counts {
	uint64_t lost;    /* ranges, marks, samples that found no room */
	uint64_t wrong;   /* pops without a push, foreign handles, attributes of no known size */
	uint64_t refused; /* registrations over the limit */
};

/* The counters now. Any thread. */
struct gt_nvtx_counts gt_nvtx_count(void);

#endif
