/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a hook forwards to: the definition that its caller would have bound without us, found once
 * per caller object (preload/scope.h has the rules), then remembered. Any application thread.
 *
 * Remembered: a few loads and compares, no lock, no system call. First sight of an object, and
 * first call after any dlopen or dlclose of the process: a walk over the mapped objects inside
 * dl_iterate_phdr, bounded by their number. errno is kept.
 *
 *   caller                                 gets
 *   linked with a libcudart                that one, by needed version
 *   none of its own (weak reference,       an interposer or runtime in the global scope, one among
 *   underlinked, generated code)           its dependencies, else the only one mapped
 *   returning into another object          what that object gets; but launches, when several
 *   (tail call)                            runtimes are mapped, go by the object of the kernel
 *   no runtime mapped                      a function that returns cudaErrorInsufficientDriver,
 * what libcudart itself says on a machine without CUDA; outputs stay untouched a runtime without
 * that name            one that returns cudaErrorSharedObjectSymbolNotFound
 */
#ifndef GT_PRELOAD_FORWARD_H
#define GT_PRELOAD_FORWARD_H

#include <stdbool.h>
#include <stdint.h>

/* The interposed names, in the order of the table. */
enum gt_hook {
#define GT_CUDA_HOOKED(cbid, version, symbol, class, flags, signature) GT_HOOK_##symbol,
#include "core/schema/cuda_api.def"
	GT_HOOK_COUNT_
};

/* What a call of @hook that returns to @return_address has to call. Never NULL. */
void *gt_forward_find(enum gt_hook hook, const void *return_address);

/* The same for launches of @function, the address of a kernel's host stub (or a handle). */
void *gt_forward_launch(enum gt_hook hook, const void *return_address, const void *function);

/* What gt_forward_by_name found. */
struct gt_forward_named {
	void *target;       /* NULL: nobody but us defines it */
	const char *caller; /* path of the object, "" of the program, NULL of generated code; the
			       loader's */
	bool own;           /* the object that defines it calls itself */
};

/* The same for any @name, not remembered, and who calls. The lock that this takes is the one of
 * dl_iterate_phdr: dladdr's would wait for a library that another thread is loading. */
struct gt_forward_named gt_forward_by_name(const char *name, const void *return_address);

/* False for the functions that stand for a missing runtime. */
bool gt_forward_is_real(const void *target);

/* Counters of forwarding. */
struct gt_forward_counts {
	uint64_t walks;   /* calls that had to look at the mapped objects */
	uint64_t guesses; /* answers among several runtimes without a reason to prefer one */
	uint64_t missing; /* answers that were no runtime, or one without the name */
};

/* Since the start of the process. */
struct gt_forward_counts gt_forward_counts(void);

#endif
