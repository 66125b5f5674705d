/* SPDX-License-Identifier: Apache-2.0
 *
 * The CUDA driver of this process, as CUPTI will find it. Without one, or on one that it does not
 * support, CUPTI 13.2 never returns from any of its functions, and others give wrong reasons: so
 * the driver is asked first.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_DRIVER_H
#define GT_COLLECTORS_CUPTI_LIBRARY_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* cuDriverGetVersion of the mapped libcuda; 0: not known. */
uint32_t gt_cupti_driver_version(void);

/* Finds the driver; one that is not mapped yet is loaded, as CUPTI would. Session start. 0 if
 * it has a version, or -ENODEV with the reason in @ret_why. */
int gt_cupti_driver_find(char *ret_why, size_t size);

/* Whether the program has started it. Asks nothing of one that is not mapped. Any thread of ours.
 */
bool gt_cupti_driver_is_up(void);

/* Whether a CUPTI that does not survive a failed start will start. @in_init: the caller is inside
 * cuInit; else calls it, which the program's next call of CUDA would do. 0, or -ENODEV with the
 * reason. */
int gt_cupti_driver_serves(bool in_init, char *ret_why, size_t size);

#endif
