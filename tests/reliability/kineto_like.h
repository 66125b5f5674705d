/* SPDX-License-Identifier: Apache-2.0
 *
 * A second user of CUPTI in the process, one step each. It makes the calls that PyTorch's profiler
 * library makes (libkineto's CuptiActivityApi and CuptiCallbackApi), in their order.
 */
#ifndef GT_TESTS_RELIABILITY_KINETO_LIKE_H
#define GT_TESTS_RELIABILITY_KINETO_LIKE_H

/* The first use: subscribes. When CUPTI refuses, the profiler records nothing of the GPU from then
 * on. */
void kineto_init(void);

/* Its processor counter becomes CUPTI's clock. */
void kineto_clock(void);

/* A session: buffer callbacks, kinds; at its end the kinds off, a forced flush, records counted. */
void kineto_start(void);
void kineto_stop(void);

/* TEARDOWN_CUPTI=1: all API callbacks on, and cuptiFinalize in the exit of the next CUDA call. */
void kineto_teardown(void);

/* As a tool that has a right to nothing: cuptiFinalize at once, then its buffers are memory that it
 * uses for something else; kinds off at once. */
void kineto_finalize(void);
void kineto_disable(void);

/* What it has got, a line each, into the file KINETO_OUT. */
void kineto_report(void);

#endif
