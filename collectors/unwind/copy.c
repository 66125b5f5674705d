/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header. Words of the copy that point into the stack are relocated to the copy; then it is
 * a stack like any other, to which the frame rules apply.
 *
 * For a thread that sleeps in the kernel, pc and sp are known, but not the frame pointer. It is not
 * needed until a frame uses it. If no frame before saved it, it is still the one that this frame's
 * function set up in its prologue, whose instructions give its distance from sp.
 */
#include "collectors/unwind/copy.h"

#include "collectors/unwind/learn.h"
#include "collectors/unwind/rules.h"
#include "core/guest/peek.h"

/* Bytes of a frame that are searched when its instructions are not understood. */
#define SEARCH_BYTES   4096u

/* Bytes of a function that are decoded. */
#define PROLOGUE_BYTES 128u

struct copy_walk {
	struct gt_unwind_walk at;
	bool has_fp;
	struct gt_unwind_load loads[GT_UNWIND_LOADS_PER_FRAME];
};

static void relocate(struct gt_unwind_copy *copy, struct gt_unwind_walk *at)
{
	uint64_t from = copy->regs.sp & ~(uint64_t)7, size = copy->count * sizeof(uint64_t);
	uint64_t delta = (uint64_t)copy->words - from;

	for (uint32_t i = 0; i < copy->count; i++)
		if (copy->words[i] - from < size)
			copy->words[i] += delta;
	*at = (struct gt_unwind_walk){
		.regs = copy->regs,
		.low = (uint64_t)copy->words,
		.high = (uint64_t)copy->words + size,
	};
	at->regs.sp += delta;
	if (at->regs.fp - from < size)
		at->regs.fp += delta;
}

static uint64_t find_rule(uint64_t pc)
{
	uint64_t rule = gt_rules_find_far(pc);

	return rule ? rule : gt_unwind_learn_elsewhere(pc);
}

static uint64_t word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* A frame pointer points to the caller's; the return address follows it. */
static enum gt_unwind_return check_fp(const struct gt_unwind_walk *at, uint64_t fp,
				      uint64_t function)
{
	if (fp % sizeof(uint64_t) || fp < at->regs.sp || fp + 16 > at->high)
		return GT_UNWIND_NO_RETURN;
	return gt_unwind_is_return(word_at(fp + 8), function);
}

/* By the function's prologue. */
static bool find_fp_by_code(const struct gt_unwind_walk *at, uint64_t function, uint64_t *ret_fp)
{
	uint64_t size = at->regs.pc - function, bytes;
	uint8_t code[PROLOGUE_BYTES];

	size = size < sizeof(code) ? size : sizeof(code);
	if (gt_peek_copy(code, function, size) != size ||
	    !gt_unwind_frame_bytes(code, size, &bytes))
		return false;
	*ret_fp = at->regs.sp + bytes;
	return check_fp(at, *ret_fp, function) != GT_UNWIND_NO_RETURN;
}

/* The nearest place followed by a return address of a call to this function, else the nearest that
 * looks like a frame: that may be left over from a function that has returned. */
static bool find_fp_by_search(const struct gt_unwind_walk *at, uint64_t function, uint64_t *ret_fp)
{
	uint64_t end = at->regs.sp + SEARCH_BYTES;
	bool found = false;

	for (uint64_t fp = at->regs.sp; fp < end && fp + 16 <= at->high; fp += 8) {
		uint64_t outer = word_at(fp);
		enum gt_unwind_return seen;

		if (outer <= fp || outer >= at->high)
			continue;
		seen = check_fp(at, fp, function);
		if (seen == GT_UNWIND_NO_RETURN || (found && seen == GT_UNWIND_RETURN))
			continue;
		*ret_fp = fp;
		found = true;
		if (seen == GT_UNWIND_RETURN_FROM_IT)
			break;
	}
	return found;
}

static bool find_fp(struct copy_walk *walk)
{
	uint64_t function = 0, fp;

	if (walk->at.regs.sp % sizeof(uint64_t))
		return false;
	if (!gt_unwind_find_function(walk->at.regs.pc, &function) || function >= walk->at.regs.pc)
		function = 0;
	if (!(function && find_fp_by_code(&walk->at, function, &fp)) &&
	    !find_fp_by_search(&walk->at, function, &fp))
		return false;
	walk->at.regs.fp = fp;
	walk->has_fp = true;
	return true;
}

/* One frame outwards; false: no such frame, or not in the copy. */
static bool step(struct copy_walk *walk, uint64_t rule, bool *ret_end)
{
	enum gt_unwind_step_result result;

	if (gt_unwind_rule_needs_fp(rule) && !walk->has_fp && !find_fp(walk))
		return false;
	walk->at.load = walk->loads;
	walk->at.loads = 0;
	result = gt_unwind_step(&walk->at, rule);
	walk->has_fp |= gt_unwind_rule_saves_fp(rule);
	*ret_end = result == GT_UNWIND_STEP_END;
	/* after a signal frame the stack may be another one, which was not copied */
	return (result == GT_UNWIND_STEP_OK || result == GT_UNWIND_STEP_SWITCHED) &&
	       walk->at.regs.sp > walk->at.low && walk->at.regs.sp <= walk->at.high;
}

uint32_t gt_unwind_copy(struct gt_unwind_copy *copy, uint32_t max, uint64_t *ret_pcs, bool *ret_cut)
{
	struct copy_walk walk = {.has_fp = copy->has_fp};
	bool end = false;
	uint32_t count = 0;

	relocate(copy, &walk.at);
	while (count < max) {
		uint64_t rule = find_rule(walk.at.regs.pc);

		if (rule == gt_unwind_rule_refused)
			break;
		ret_pcs[count++] = walk.at.regs.pc;
		if (!step(&walk, rule, &end))
			break;
	}
	*ret_cut = !end;
	return count;
}
