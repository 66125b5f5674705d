/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Only from 3.11 on a state has the number of its thread in the kernel; all have
 * that of pthread_self(), which in glibc is the address of a structure with the former.
 */
#include "collectors/python/others.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/python/read.h"
#include "collectors/python/runtime.h"

/* PyThreadState.prev and .next, of all versions. */
#define STATE_PREVIOUS 0
#define STATE_NEXT     8

/* struct pthread.tid of glibc on x86-64; verified on the calling thread. */
#define PTHREAD_TID    720

static bool read_word(struct gt_python_window *window, uint64_t address, uint64_t *ret_word)
{
	return gt_python_peek_bytes(window, address, ret_word, sizeof(*ret_word));
}

/* @pthread: what pthread_self() is there. */
static bool read_tid(struct gt_python_window *window, uint64_t pthread, uint32_t *ret_tid)
{
	return gt_python_peek_bytes(window, pthread + PTHREAD_TID, ret_tid, sizeof(*ret_tid));
}

static bool knows_pthread(struct gt_python_window *window)
{
	uint32_t tid;

	return read_tid(window, (uint64_t)pthread_self(), &tid) &&
	       tid == (uint32_t)syscall(SYS_gettid);
}

static bool has_state(const struct gt_python_others *others, uint64_t state)
{
	for (uint32_t i = 0; i < others->count; i++)
		if (others->list[i].state == state)
			return true;
	return false;
}

/* False: it cannot be read, or there is no room. */
static bool add(struct gt_python_others *others, const struct gt_python_layout *layout,
		struct gt_python_window *window, uint64_t state)
{
	struct gt_python_other *other = &others->list[others->count];

	if (others->count == GT_PYTHON_OTHERS ||
	    !read_word(window, state + layout->thread_id, &other->owner))
		return false;
	other->state = state;
	if (read_tid(window, other->owner, &other->tid))
		others->count++;
	return true;
}

/* From @state on in one direction, without it. */
static void add_along(struct gt_python_others *others, const struct gt_python_layout *layout,
		      struct gt_python_window *window, uint64_t state, uint32_t way)
{
	/* the number of steps ends a cycle */
	for (uint32_t i = 0; i < GT_PYTHON_OTHERS; i++)
		if (!read_word(window, state + way, &state) || !state || state % sizeof(uint64_t) ||
		    !add(others, layout, window, state))
			return;
}

void gt_python_others_add(struct gt_python_others *others, const struct gt_python_thread *known,
			  struct gt_python_window *window)
{
	const struct gt_python_runtime *runtime = gt_python_proven();
	uint64_t state = (uint64_t)(uintptr_t)known->state, owner;

	window->page = 0;
	if (!runtime || !state || known->refused || has_state(others, state) ||
	    !knows_pthread(window) ||
	    !read_word(window, state + runtime->layout.thread_id, &owner) ||
	    owner != known->owner || !add(others, &runtime->layout, window, state))
		return;
	add_along(others, &runtime->layout, window, state, STATE_NEXT);
	add_along(others, &runtime->layout, window, state, STATE_PREVIOUS);
}

bool gt_python_others_find(const struct gt_python_others *others, uint32_t tid,
			   struct gt_python_thread *ret_thread)
{
	for (uint32_t i = 0; i < others->count; i++) {
		if (others->list[i].tid != tid)
			continue;
		ret_thread->state = (const void *)(uintptr_t)others->list[i].state;
		ret_thread->refused = false;
		ret_thread->owner = others->list[i].owner;
		return true;
	}
	return false;
}
