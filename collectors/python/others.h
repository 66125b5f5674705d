/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread states of threads that have never called CUDA, so that they have not told theirs: read
 * from the interpreter's list, beginning at one that is known. Drain thread.
 */
#ifndef GT_COLLECTORS_PYTHON_OTHERS_H
#define GT_COLLECTORS_PYTHON_OTHERS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/python/peek.h"

/* More threads that run Python than that: the rest is not found. */
#define GT_PYTHON_OTHERS 1024u

/* A thread that runs Python. */
struct gt_python_other {
	uint32_t tid;
	uint64_t state, owner; /* as in struct gt_python_thread */
};

/* They are in no order. Initially zeroed. */
struct gt_python_others {
	uint32_t count;
	struct gt_python_other list[GT_PYTHON_OTHERS];
};

/* Adds the threads of the interpreter of @known, unless they are there already. The list is read by
 * system calls that fail instead of faulting; of one that changes meanwhile some may be missing. */
void gt_python_others_add(struct gt_python_others *others, const struct gt_python_thread *known,
			  struct gt_python_window *window);

/* Fills @ret_thread with the state of thread @tid, for gt_python_peek. False: it runs no Python. */
bool gt_python_others_find(const struct gt_python_others *others, uint32_t tid,
			   struct gt_python_thread *ret_thread);

#endif
