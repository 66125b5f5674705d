/* SPDX-License-Identifier: Apache-2.0
 *
 * The page of the fork guard, see the header. Armed once per process, by the session.
 */
#include "core/guest/forkguard.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "core/guest/memory.h"

#define GUARD_MAGIC 0x6770757472616365u /* "gputrace" */
#define PAGE_BYTES  4096

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

const volatile uint64_t *_Atomic gt_forkguard_page;

static uint64_t *page;

static void wipe_in_child(void)
{
	if (page)
		*page = 0;
}

int gt_forkguard_arm(void)
{
	if (!page) {
		page = gt_memory_map(PAGE_BYTES);
		if (!page)
			return -ENOMEM;
		if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK))
			pthread_atfork(NULL, NULL, wipe_in_child);
	}
	*page = GUARD_MAGIC;
	atomic_store_explicit(&gt_forkguard_page, page, memory_order_release);
	return 0;
}
