/* SPDX-License-Identifier: Apache-2.0
 *
 * A second user of CUPTI in the process, step by step. Makes the calls of PyTorch's profiler
 * library (libkineto's CuptiActivityApi and CuptiCallbackApi) in the same order.
 */
#ifndef GT_TESTS_RELIABILITY_KINETO_LIKE_H
#define GT_TESTS_RELIABILITY_KINETO_LIKE_H

/* The first use: subscribes. If CUPTI refuses, the profiler records no GPU work. */
void kineto_init(void);

/* Sets CUPTI's clock to the processor's counter. */
void kineto_clock(void);

/* A session: registers buffer callbacks and enables kinds; at the end disables the kinds, forces a
 * flush and counts the records. */
void kineto_start(void);
void kineto_stop(void);

/* TEARDOWN_CUPTI=1: all API callbacks on, and cuptiFinalize in the exit of the next CUDA call. */
void kineto_teardown(void);

/* As an impolite tool: cuptiFinalize at once, then reuses its buffers as other memory; disables all
 * kinds at once. */
void kineto_finalize(void);
void kineto_disable(void);

/* Writes what it received to the file KINETO_OUT, one line each. */
void kineto_report(void);

#endif
