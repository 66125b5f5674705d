/* SPDX-License-Identifier: Apache-2.0
 *
 * First sight of an address: which module it lies in, and what the unwinder has to do there.
 * Application threads, once an address: takes the loader's list lock (dl_iterate_phdr, which no
 * running library constructor blocks) and libunwind's own; at most two system calls of ours; no
 * malloc. Never dlopen, dlsym or dladdr: those wait for constructors of other threads.
 */
#ifndef GT_COLLECTORS_UNWIND_LEARN_H
#define GT_COLLECTORS_UNWIND_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_UNWIND_SEGMENTS 12

/* The loaded module around an address, copied out of the loader's list. */
struct gt_unwind_module {
	uint64_t eh_frame_hdr; /* address, 0: none */
	bool may_go;           /* it may be unloaded meanwhile: read it by system calls */
	uint32_t segments;
	struct gt_unwind_segment {
		uint64_t start, end; /* whole pages, readable */
	} segment[GT_UNWIND_SEGMENTS];
};

/* A word of the module's image. false: it does not lie in one of its segments. */
bool gt_unwind_module_read(const struct gt_unwind_module *module, uint64_t address,
			   uint64_t *ret_word);

/* Reads the calling process's memory at any address. Returns how many of @size bytes could be read
 * from the start; -1: none, or the kernel does not let us. One system call; errno is not kept. */
long gt_unwind_read_checked(uint64_t address, void *buffer, size_t size);

/* The rule for @pc, put into the table. Never 0. */
uint64_t gt_unwind_learn(uint64_t pc);

/* The same for an address on another thread's stack, whose module may be unloaded at any moment. */
uint64_t gt_unwind_learn_elsewhere(uint64_t pc);

/* Where the function begins whose instruction is at @pc - 1; its module may be unloaded
 * meanwhile. */
bool gt_unwind_find_function(uint64_t pc, uint64_t *ret_start);

/* Whether an address can be a return address. */
enum gt_unwind_return {
	GT_UNWIND_NO_RETURN,
	GT_UNWIND_RETURN,         /* a call stands before it */
	GT_UNWIND_RETURN_FROM_IT, /* a call of the function in question */
};

/* What stands before @pc, which may be any number. @function: where the function in question
 * begins, 0: not known. One system call. */
enum gt_unwind_return gt_unwind_is_return(uint64_t pc, uint64_t function);

/* Opens libunwind. Returns false when it is not there. Session start. */
bool gt_unwind_learn_start(void);

struct gt_unwind_counts;

/* Adds rules, guessed, jit, refused. */
void gt_unwind_learn_counts(struct gt_unwind_counts *counts);

#endif
