/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/nccl_real.h"

#include <dlfcn.h>
#include <stdatomic.h>

#include "core/elf/elf_lookup.h"

static const char *const sonames[] = {"libnccl.so.2", NULL};
#define NONE ((void *)1) /* was looked for and not found */

static const char *const names[] = {
	NULL,
#define GT_NCCL_FUNCTION(id, function, name, in, out) function,
#include "core/schema/nccl.def"
};

static const char *const helper_names[] = {"ncclCommCount", "ncclCommUserRank", "ncclCommCuDevice"};

static void *_Atomic found[GT_NCCL_FUNCTION_COUNT_];
static void *_Atomic helpers[NCCL_HELPER_COUNT_];

static void *look_for(const char *name)
{
	void *function = gt_elf_find_behind(RTLD_NEXT, name, sonames);

	return function ? function : NONE;
}

static void *get(void *_Atomic *slot, const char *name)
{
	void *function = atomic_load_explicit(slot, memory_order_relaxed);

	if (__builtin_expect(!function, 0)) {
		function = look_for(name);
		atomic_store_explicit(slot, function, memory_order_relaxed);
	}
	return function == NONE ? NULL : function;
}

void *nccl_real(enum gt_nccl_function function)
{
	return get(&found[function], names[function]);
}

void *nccl_helper(enum nccl_helper helper)
{
	return get(&helpers[helper], helper_names[helper]);
}
