/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the one libcupti that this process must use (REQ-8) and its functions. Never links it,
 * never closes it: its threads and callbacks live in it. Called once, by the session's start, on
 * the thread that is inside cuInit.
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
	char path[256];
};

/* Loads libcupti. @forced: a path given by the user, or "". 0 or -ENOENT (none found), -ENOSYS
 * (lacks a required function); @ret_why gets one line for people. */
int gt_cupti_load(const char *forced, struct gt_cupti_api *ret_api, char *ret_why, size_t size);

/* Newest CUDA major that the mapped libcudart, else the driver, speaks; 0: not known. */
uint32_t gt_cupti_cuda_major(void);

/* cuDriverGetVersion of the mapped libcuda, and cudaRuntimeGetVersion's number as the soname of the
 * mapped libcudart tells; 0: not known. */
uint32_t gt_cupti_driver_version(void);

#endif
