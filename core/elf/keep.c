/* SPDX-License-Identifier: Apache-2.0
 *
 * See elf_lookup.h.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "core/elf/elf_lookup.h"

/* A handle more, given back at once: the mark stays. */
void gt_elf_keep(const void *address)
{
	static _Atomic uintptr_t last; /* functions of one library are asked for in turn */
	int saved = errno;
	void *handle = NULL;
	Dl_info info;

	if (!address || !dladdr(address, &info) || !info.dli_fname ||
	    !strchr(info.dli_fname, '/') ||
	    (uintptr_t)info.dli_fbase == atomic_load_explicit(&last, memory_order_relaxed))
		return;
	handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	if (handle) {
		atomic_store_explicit(&last, (uintptr_t)info.dli_fbase, memory_order_relaxed);
		dlclose(handle);
	}
	errno = saved;
}
