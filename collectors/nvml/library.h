/* SPDX-License-Identifier: Apache-2.0
 *
 * libnvidia-ml.so.1: found by dlopen, never linked. It comes with the driver.
 */
#ifndef GT_COLLECTORS_NVML_LIBRARY_H
#define GT_COLLECTORS_NVML_LIBRARY_H

#include <stddef.h>

#include "collectors/nvml/abi.h"

/* Its functions; those that are not required may be NULL. */
struct gt_nvml_library {
#define GT_NVML(name, required, parameters) enum gt_nvml_result(*name) parameters;
#include "collectors/nvml/api.def"
#undef GT_NVML
};

/* Loads it and finds its functions. -ENOENT with the reason in @why. On a thread of the tracer. */
int gt_nvml_open(struct gt_nvml_library *ret_library, char *why, size_t size);

#endif
