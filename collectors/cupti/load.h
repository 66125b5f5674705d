/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the one libcupti that this process must use (REQ-8) and its functions. Never linked, never
 * closed: its threads and callbacks live in it. Called once, at session start, on the thread that
 * is inside cuInit.
 */
#ifndef GT_COLLECTORS_CUPTI_LOAD_H
#define GT_COLLECTORS_CUPTI_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/* The functions of CUPTI (api.def); an optional one that is missing is NULL. */
struct gt_cupti_api {
#define GT_CUPTI(name, required, parameters) CUptiResult(*name) parameters;
#include "collectors/cupti/api.def"
#undef GT_CUPTI
	uint32_t version;
	uintptr_t start, end; /* where libcupti is mapped */
	char path[256];
};

/* Loads libcupti. @forced: a path given by the user, or "". 0 or -ENOENT (none found), -ENOSYS (a
 * required function is missing); @ret_why gets one readable line. */
int gt_cupti_load(const char *forced, struct gt_cupti_api *ret_api, char *ret_why, size_t size);

/* CUDA major version of the mapped libcudart, else of the driver; 0: not known. */
uint32_t gt_cupti_cuda_major(void);

/* cuDriverGetVersion of the mapped libcuda, and the runtime's version number from the soname of the
 * mapped libcudart; 0: not known. */
uint32_t gt_cupti_driver_version(void);

#endif
