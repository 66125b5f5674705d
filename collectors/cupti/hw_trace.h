/* SPDX-License-Identifier: Apache-2.0
 *
 * CUPTI's hardware event system (--hw-trace): the GPU itself notes when work begins and ends. It is
 * on until the process ends, unless CUPTI gives it up once it has seen the driver and the GPU.
 */
#ifndef GT_COLLECTORS_CUPTI_HW_TRACE_H
#define GT_COLLECTORS_CUPTI_HW_TRACE_H

#include "collectors/cupti/cupti.h"

/* Asks for it if the user did, and sets status->hw_trace; says on stderr why not. Starting thread:
 * CUPTI takes it before cuInit, or after it and before the first context. */
void gt_cupti_hw_trace_enable(const struct gt_config *config, struct gt_cupti_status *status);

/* CUPTI reports a state that is not fatal. Application threads, in a callback. */
void gt_cupti_hw_trace_reported(int result);

#endif
