/* SPDX-License-Identifier: Apache-2.0
 *
 * dlclose, in the libraries that come before another one and remember what each module goes on to:
 * another module may come to lie where one was. It goes on at once; nothing in it depends on who
 * calls.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

#include "core/elf/behind.h"

typedef int (*close_fn)(void *handle);

__attribute__((visibility("default"))) int close_handle(void *handle) __asm__("dlclose");

int close_handle(void *handle)
{
	static _Atomic(close_fn) next;
	close_fn real = atomic_load_explicit(&next, memory_order_relaxed);
	int saved = errno, result;

	if (!real) {
		real = (close_fn)dlsym(RTLD_NEXT, "dlclose");
		atomic_store_explicit(&next, real, memory_order_relaxed);
	}
	gt_behind_close();
	errno = saved;
	result = real(handle);
	gt_behind_closed();
	return result;
}
