/* SPDX-License-Identifier: Apache-2.0
 *
 * What the name of an NCCL or RCCL kernel says about it, in the words of PyTorch, which Kineto
 * writes and TraceLens groups by. Pure functions, any thread.
 */
#ifndef GT_CORE_SCHEMA_COLLECTIVE_H
#define GT_CORE_SCHEMA_COLLECTIVE_H

#include <stdbool.h>

/* Static texts; NULL: the name does not say it. */
struct gt_collective {
	const char *name;  /* "allreduce", "_allgather_base" */
	const char *dtype; /* "Float", as in c10/core/ScalarType.h */
};

/* False: @kernel is not the name of such a kernel, or not of a single collective. */
bool gt_collective_of_kernel(const char *kernel, struct gt_collective *ret_collective);

#endif
