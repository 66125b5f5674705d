/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stopped thread finds on a stack when it returns from a function that it was made to call:
 * the function that marks the end, then the kernel's own form of "go on as if nothing had been"
 * (rt_sigreturn). So the thread goes on by itself if this program dies meanwhile. x86-64.
 */
#ifndef GT_CLI_ATTACH_FRAME_H
#define GT_CLI_ATTACH_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define GT_FRAME_XSTATE 16384u /* the largest state of the vector registers */
#define GT_FRAME_BYTES  20480u /* of a frame, with all that */

/* What a thread was doing: registers, vector registers, blocked signals. */
struct gt_context {
	struct user_regs_struct regs;
	uint64_t signals;
	size_t xstate_bytes;
	_Alignas(64) unsigned char xstate[GT_FRAME_XSTATE];
};

/* Addresses of libc in the process. */
struct gt_way_back {
	uint64_t mark;    /* a function that makes one system call and returns: sched_yield */
	uint64_t restore; /* the code that calls rt_sigreturn: __restore_rt */
};

/* A stack from @sp on, to be written there. */
struct gt_return_frame {
	uint64_t sp; /* at the entry of the function */
	size_t bytes;
	_Alignas(64) unsigned char stack[GT_FRAME_BYTES];
};

/* Writes a frame that ends below @top and leads back to @context, with @regs instead of its
 * registers. A negative errno: the vector registers do not fit. */
int gt_return_frame_make(const struct gt_context *context, const struct user_regs_struct *regs,
			 const struct gt_way_back *way, uint64_t top,
			 struct gt_return_frame *ret_frame);

#endif
