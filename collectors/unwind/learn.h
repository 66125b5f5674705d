/* SPDX-License-Identifier: Apache-2.0
 *
 * First sight of an address: its module, and its frame rule. Application threads, once per address:
 * takes the loader's list lock (dl_iterate_phdr, which no running library constructor holds); at
 * most two system calls; no malloc. Never dlopen, dlsym or dladdr, which wait for constructors of
 * other threads.
 */
#ifndef GT_COLLECTORS_UNWIND_LEARN_H
#define GT_COLLECTORS_UNWIND_LEARN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_UNWIND_SEGMENTS 12

/* The loaded module around an address, copied from the loader's list. */
struct gt_unwind_module {
	uint64_t eh_frame_hdr; /* address, 0: none */
	bool may_go;           /* it may be unloaded at any moment: read it by system calls */
	uint32_t segments;
	struct gt_unwind_segment {
		uint64_t start, end; /* whole pages, readable */
	} segment[GT_UNWIND_SEGMENTS];
};

/* A word of the module's image. False: outside its segments. */
bool gt_unwind_module_read(const struct gt_unwind_module *module, uint64_t address,
			   uint64_t *ret_word);

/* @size bytes of the module's image: in place, or if it may go in @copy. NULL: outside its
 * segments, or more than @copy_size. */
const uint8_t *gt_unwind_module_view(const struct gt_unwind_module *module, uint64_t address,
				     uint64_t size, uint8_t *copy, size_t copy_size);

/* Learns the rule for @pc and stores it in the table. Never 0. */
uint64_t gt_unwind_learn(uint64_t pc);

/* The same for an address of another thread's stack, whose module may be unloaded at any moment. */
uint64_t gt_unwind_learn_elsewhere(uint64_t pc);

/* Start of the function with the instruction at @pc - 1, whose module may be unloaded at any
 * moment. */
bool gt_unwind_find_function(uint64_t pc, uint64_t *ret_start);

/* Whether an address can be a return address. */
enum gt_unwind_return {
	GT_UNWIND_NO_RETURN,
	GT_UNWIND_RETURN,         /* preceded by a call */
	GT_UNWIND_RETURN_FROM_IT, /* preceded by a call of the given function */
};

/* Checks the instruction before @pc, which may be any number. @function: start of the given
 * function, 0: not known. One system call. */
enum gt_unwind_return gt_unwind_is_return(uint64_t pc, uint64_t function);

struct gt_unwind_counts;

/* Adds the counts of rules, guessed, jit, refused. */
void gt_unwind_learn_counts(struct gt_unwind_counts *counts);

#endif
