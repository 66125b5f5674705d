/* SPDX-License-Identifier: Apache-2.0
 *
 * Around each call of NVML: a fork waits until it is over, for the child may use NVML and inherits
 * its locks as they are. A call that does not return is given up, or each fork would wait in vain.
 */
#ifndef GT_COLLECTORS_NVML_GATE_H
#define GT_COLLECTORS_NVML_GATE_H

#include <stdbool.h>
#include <stdint.h>

/* Before a call. False: the program forks now, try later. The thread of gt_nvml_run, as _leave. */
bool gt_nvml_enter(void);

/* Behind it. */
void gt_nvml_leave(void);

/* Lets forks go on if a call has lasted for a second at @now (CLOCK_MONOTONIC ns). Drain thread. */
void gt_nvml_give_up(uint64_t now);

#endif
