/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "preload/libraries/nccl_real.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>

#include "core/elf/elf_lookup.h"

#define SONAME "libnccl.so.2"
#define NONE   ((void *)1) /* was looked for and not found */

static const char *const names[] = {
	NULL,
#define GT_NCCL_FUNCTION(id, function, name, in, out) function,
#include "core/schema/nccl.def"
};

static const char *const helper_names[] = {"ncclCommCount", "ncclCommUserRank", "ncclCommCuDevice"};

static void *_Atomic found[GT_NCCL_FUNCTION_COUNT_];
static void *_Atomic helpers[NCCL_HELPER_COUNT_];

/* What comes behind us in the order of the program; dlsym does not see what Python loads for itself
 * alone. */
static void *look_for(const char *name)
{
	int saved = errno;
	void *function = dlsym(RTLD_NEXT, name);

	if (!function)
		function = (void *)gt_elf_find_loaded(SONAME, name, NULL);
	gt_elf_keep(function);
	errno = saved;
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
