/* SPDX-License-Identifier: Apache-2.0
 *
 * The Python frames of a thread that is not inside a CUDA call: another, sleeping thread, or the
 * calling one in a signal handler. A frame may be overwritten at any moment, so everything is read
 * by system calls that fail instead of faulting, a page at a time.
 */
#ifndef GT_COLLECTORS_PYTHON_PEEK_H
#define GT_COLLECTORS_PYTHON_PEEK_H

#include <stddef.h>
#include <stdint.h>

#include "collectors/python/python.h"

struct gt_python_layout;

#define GT_PYTHON_PEEK_PAGE 4096u

/* A frame as it was found; its code object is identified later. */
struct gt_python_raw {
	uint64_t code; /* address; 0: an evaluation loop without a frame, or identified */
	uint64_t word; /* gt_python_pack() with code 0, or with the code's number */
};

/* The page that was read last. */
struct gt_python_window {
	uint64_t page;
	uint8_t bytes[GT_PYTHON_PEEK_PAGE];
};

/* Copies @size bytes of memory that may be gone, a page at most. False: it is. window->page must be
 * 0 at first. As gt_python_peek. */
bool gt_python_peek_bytes(struct gt_python_window *window, uint64_t address, void *ret_bytes,
			  size_t size);

/* At most @max frames, innermost first, of the thread whose state is @thread (gt_python_capture).
 * Returns their number, 0: none, or malformed. Async-signal-safe; errno is kept. */
uint32_t gt_python_peek(const struct gt_python_thread *thread, struct gt_python_window *window,
			uint32_t max, struct gt_python_raw *ret_frames);

/* Identifies the code objects of frames that the calling thread runs: that of a module which is
 * imported is gone soon after. A system call each. Async-signal-safe. */
void gt_python_peek_identify(struct gt_python_raw *frames, uint32_t count);

/* The chain of frames from @frame on; window->page must be 0. For tests on prepared memory. */
uint32_t gt_python_peek_chain(const struct gt_python_layout *layout, uint64_t frame,
			      struct gt_python_window *window, uint32_t max,
			      struct gt_python_raw *ret_frames);

/* The frame in one word, as gt_python_capture delivers it. Not in a signal handler. */
uint64_t gt_python_peek_pack(const struct gt_python_raw *raw);

#endif
