/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of frame rules, shared by all threads: address -> one word (collectors/unwind/arch.h).
 * Read and written concurrently without a lock: an entry holds the rule and the address xor the
 * rule, so that an entry torn between two writers matches no address and is a miss. The size is
 * fixed: when a line and its neighbour are full, an entry is replaced and will be learned again.
 */
#ifndef GT_COLLECTORS_UNWIND_RULES_H
#define GT_COLLECTORS_UNWIND_RULES_H

#include <stdatomic.h>
#include <stdint.h>

#define GT_RULES_LINE_BITS 14 /* 16384 cache lines of 4 entries: 1 MiB, touched as needed */
#define GT_RULES_WAYS      4

/* A frame rule and the address it is for. */
struct gt_rules_entry {
	_Atomic uint64_t tag; /* address ^ rule */
	_Atomic uint64_t rule;
};

/* One cache line of rules. */
struct gt_rules_line {
	_Alignas(64) struct gt_rules_entry way[GT_RULES_WAYS];
};

/* The cache of rules. Written by any thread that learns a rule, read without a lock. */
extern struct gt_rules_line gt_rules_table[1 << GT_RULES_LINE_BITS];

/* Counts calls of gt_rules_forget; a walk of another generation must not be reused. */
extern _Atomic uint32_t gt_rules_generation;

/* A better hash does not pay: it would extend the chain of loads that a walk waits for. */
static inline struct gt_rules_line *gt_rules_line_of(uint64_t pc)
{
	return &gt_rules_table[pc & ((1u << GT_RULES_LINE_BITS) - 1)];
}

/* The rule of @pc if it is in @line, else 0. */
static inline uint64_t gt_rules_find_in(const struct gt_rules_line *line, uint64_t pc)
{
	for (int i = 0; i < GT_RULES_WAYS; i++) {
		uint64_t rule = atomic_load_explicit(&line->way[i].rule, memory_order_relaxed);
		uint64_t tag = atomic_load_explicit(&line->way[i].tag, memory_order_relaxed);

		if ((tag ^ rule) == pc)
			return rule;
	}
	return 0;
}

/* The rule of @pc, 0: not known. Hot, any thread. Misses some that gt_rules_find_far finds. */
static inline uint64_t gt_rules_find(uint64_t pc)
{
	return gt_rules_find_in(gt_rules_line_of(pc), pc);
}

/* As gt_rules_find, but also in the neighbouring line, which takes what a full line cannot. */
uint64_t gt_rules_find_far(uint64_t pc);

/* Stores @rule (not 0) for @pc (not 0). Any thread. */
void gt_rules_put(uint64_t pc, uint64_t rule);

/* Forgets the rules of [@start, @end). One thread at a time. */
void gt_rules_forget(uint64_t start, uint64_t end);

#endif
