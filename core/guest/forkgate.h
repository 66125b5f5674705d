/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps our code out of the loader while the program forks. A child inherits the loader's locks as
 * they are: a lock that one of our threads holds at that moment is never released there, and the
 * child's first dlopen hangs (glibc resets some of them, not that of dl_iterate_phdr).
 */
#ifndef GT_CORE_GUEST_FORKGATE_H
#define GT_CORE_GUEST_FORKGATE_H

#include <dlfcn.h>
#include <stdbool.h>

/* A lock around every call that takes a lock of the loader or of the program's
 * allocator. Drain thread; false: the program is forking, try again later. The first call of a
 * process registers the fork handlers. */
bool gt_forkgate_trylock(void);

/* The same, but waits at most 0.2 s for a running fork. Drain thread. */
bool gt_forkgate_timedlock(void);

/* The same for application threads at first sight: waits at most 0.2 s for a running fork. */
void gt_forkgate_lock(void);

/* Undoes _trylock, _timedlock and _lock. */
void gt_forkgate_unlock(void);

/* Whether the program is forking now. Older kernels restart a fork that a signal interrupts, so it
 * must not be interrupted. */
bool gt_forkgate_is_closed(void);

/* dlsym that may find nothing: NULL, and dlerror says nothing. In a namespace of its own (dlmopen)
 * with threads, glibc (2.36) then leaves the thread marked as a reader of the loader's lists, and
 * every dlclose of the program waits for it, for ever. The next lookup that finds something takes
 * that back. */
static inline void *gt_forkgate_symbol(void *handle, const char *name)
{
	void *found = dlsym(handle, name);

	if (!found)
		dlsym(RTLD_DEFAULT, "dlsym");
	return found;
}

#endif
