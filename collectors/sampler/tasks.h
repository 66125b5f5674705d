/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of this process, as the kernel lists them: also those that have never called CUDA.
 * Drain thread.
 */
#ifndef GT_COLLECTORS_SAMPLER_TASKS_H
#define GT_COLLECTORS_SAMPLER_TASKS_H

#include <stdint.h>

/* Fills @ret_tids with the first @room threads, and returns how many there are: more may have come
 * meanwhile. 0: the kernel does not tell. One descriptor is open for some microseconds. */
uint32_t gt_sample_tasks(uint32_t *ret_tids, uint32_t room);

#endif
