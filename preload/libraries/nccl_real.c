/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/nccl_real.h"

#include "core/elf/behind.h"

static const char *const sonames[] = {"libnccl.so.2", NULL};

static const char *const names[] = {
	NULL,
#define GT_NCCL_FUNCTION(id, function, name, in, out) function,
#include "core/schema/nccl.def"
};

static const char *const helper_names[NCCL_HELPER_COUNT_] = {
	[NCCL_COMM_COUNT] = "ncclCommCount",
	[NCCL_COMM_USER_RANK] = "ncclCommUserRank",
	[NCCL_COMM_CU_DEVICE] = "ncclCommCuDevice",
	[NCCL_COMM_ASYNC_ERROR] = "ncclCommGetAsyncError",
};

static struct gt_behind functions[GT_NCCL_FUNCTION_COUNT_], helpers[NCCL_HELPER_COUNT_];

void *nccl_real_of(enum gt_nccl_function function, const void *caller)
{
	void *real = gt_behind_known(&functions[function]);

	return __builtin_expect(real != NULL, 1)
		       ? real
		       : gt_behind_look(&functions[function], names[function], sonames, caller);
}

void *nccl_helper(enum nccl_helper helper)
{
	return gt_behind_ask(&helpers[helper], helper_names[helper], sonames);
}
