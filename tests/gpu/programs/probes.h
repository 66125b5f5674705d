/* SPDX-License-Identifier: Apache-2.0
 *
 * What the probes share. One probe per behaviour of CUPTI that the tracer relies on and
 * tests/simcuda imitates; a process tries one.
 */
#ifndef GT_TESTS_GPU_PROBES_H
#define GT_TESTS_GPU_PROBES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cupti_rig.h"

#define LAUNCH                       CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel
#define DRIVER                       CUPTI_CB_DOMAIN_DRIVER_API
#define KERNEL                       CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
#define SPIN_NS                      500000000u
#define CANNOT_TRY                   77

/* True: the claim holds. */
#define PROBE(function, name, claim) bool probe_##function(void);
#include "probes.def"
#undef PROBE
bool probe_run_out(void);
bool probe_graph_steps(void);

/* Prints what was seen and passes the verdict on. */
bool probe_seen(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Starts the rig and launches one kernel: its record, or NULL. */
const CUpti_ActivityKernel9 *probe_one_kernel(void);

/* A graph of @length kernels, one after the other; the caller's. Ends the program if there is none.
 */
CUgraph probe_chain(int length);

/* Lets the driver's start load libprobe-injection.so, which lies beside this program: its path. */
const char *probe_inject(void);

#endif
