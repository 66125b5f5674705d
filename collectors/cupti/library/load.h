/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds the one libcupti that this process must use (REQ-8) and its functions. Never linked, never
 * closed: its threads and callbacks live in it. Called once, at session start, on the thread that
 * is inside cuInit.
 */
#ifndef GT_COLLECTORS_CUPTI_LIBRARY_LOAD_H
#define GT_COLLECTORS_CUPTI_LIBRARY_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

/* The functions of CUPTI (api.def); an optional one that is missing is NULL. */
struct gt_cupti_api {
#define GT_CUPTI(name, required, parameters) CUptiResult(*name) parameters;
#include "collectors/cupti/library/api.def"
#undef GT_CUPTI
	uint32_t version;
	uint32_t major;       /* of its CUDA, by the soname; 0: not known */
	uintptr_t start, end; /* where libcupti is mapped */
	char path[256];
	bool started_driver; /* loading it had to, and the program had not */
};

/* When CUPTI is loaded. */
enum gt_cupti_moment {
	GT_CUPTI_BEFORE_INIT, /* or after it; in any case not inside cuInit */
	GT_CUPTI_IN_INIT,
	GT_CUPTI_IN_USE, /* by another tool: it has started, and the tool may see what we call */
};

/* Loads libcupti, and calls it for its version if there is a driver that suits it. @forced: a path
 * given by the user, or "". 0; -ENODEV: no driver, or not
 * one for this CUPTI; -ENOENT: none found; -ENOSYS: a required function is missing or refuses. Then
 * @ret_why has one readable line, and @ret_api is untouched. */
int gt_cupti_load(const char *forced, enum gt_cupti_moment moment, struct gt_cupti_api *ret_api,
		  char *ret_why, size_t size);

/* CUDA major version of the mapped libcudart, else of the driver; 0: not known. */
uint32_t gt_cupti_cuda_major(void);

#endif
