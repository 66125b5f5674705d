/* SPDX-License-Identifier: Apache-2.0
 *
 * x86-64: rules of frames and the step that applies them. Hot; application threads; reads nothing
 * outside [low, high) of the walk.
 *
 * The word of a rule, from the low end:
 *
 *   plain      4 bits kind; at 16: 16 bits where fp is saved, from the CFA, 0: not saved;
 *              at 32: CFA - base. The return address is at CFA - 8.
 *   indirect   4 bits kind; at 4: flags; at 8: 8 bits a, at 16: 16 bits k, CFA = *(base + k) + a;
 *              at 32: 16 bits where the return address is, from base, if flagged, else CFA - 8;
 *              at 48: 16 bits where fp is saved, from base, if flagged.
 *              Functions that align their stack, and signal frames.
 */
#ifndef GT_COLLECTORS_UNWIND_X86_64_H
#define GT_COLLECTORS_UNWIND_X86_64_H

/* The registers that unwinding needs. */
struct gt_unwind_regs {
	uint64_t pc, sp, fp;
};

/* Kind of a rule: how the CFA is found. */
enum {
	GT_RULE_NONE, /* must be 0 */
	GT_RULE_SP,   /* plain, base is sp */
	GT_RULE_FP,   /* plain, base is fp */
	GT_RULE_INDIRECT,
	GT_RULE_GUESS,   /* no tables: a frame pointer is assumed */
	GT_RULE_END,     /* outermost frame */
	GT_RULE_REFUSED, /* not code */
};

#define GT_RULE_KIND(rule) ((rule)&0xf)

enum { /* flags of an indirect rule */
       GT_RULE_BASE_FP = 1 << 4,
       GT_RULE_RA_AT_BASE = 1 << 5,
       GT_RULE_FP_SAVED = 1 << 6,
       GT_RULE_SIGNAL = 1 << 7,
};

#define GT_UNWIND_LOADS_PER_FRAME 3

/* DWARF's numbers of the registers (System V ABI, AMD64, figure 3.36). */
#define GT_UNWIND_FP_REGNUM       6
#define GT_UNWIND_SP_REGNUM       7
#define GT_UNWIND_RA_REGNUM       16

/* A word on a stack: of any type to the compiler, at any alignment. */
struct gt_unwind_word {
	uint64_t value;
} __attribute__((packed, may_alias));

/* A walk in progress. */
struct gt_unwind_walk {
	struct gt_unwind_regs regs;
	uint64_t low, high; /* readable words are in [low, high - 8] */
	uint32_t loads;
	struct gt_unwind_load *load;
};

#define gt_unwind_rule_guess   ((uint64_t)GT_RULE_GUESS)
#define gt_unwind_rule_refused ((uint64_t)GT_RULE_REFUSED)

/* The user needs a frame of its own, which __builtin_frame_address forces. */
static inline __attribute__((always_inline)) void gt_unwind_caller_regs(struct gt_unwind_regs *regs)
{
	const uint64_t *frame = __builtin_frame_address(0);

	regs->fp = frame[0];
	regs->pc = frame[1];
	regs->sp = (uint64_t)(frame + 2);
}

/* A checked word of the stack. */
GT_UNWIND_UNFENCED static inline __attribute__((always_inline)) bool gt_unwind_read(
	struct gt_unwind_walk *walk, uint64_t address, uint64_t *ret_value)
{
	uint64_t value;

	if (__builtin_expect(address - walk->low > walk->high - 8 - walk->low, 0))
		return false;
	value = ((const struct gt_unwind_word *)address)->value;
	walk->load[walk->loads++] = (struct gt_unwind_load){address, value};
	*ret_value = value;
	return true;
}

/* Outer frames have higher addresses; anything else is not a frame. */
GT_UNWIND_UNFENCED static inline __attribute__((always_inline)) enum gt_unwind_step_result
gt_unwind_step_to(struct gt_unwind_walk *walk, uint64_t cfa, bool fp_saved, uint64_t fp_at)
{
	struct gt_unwind_regs next = {.sp = cfa, .fp = walk->regs.fp};

	if (__builtin_expect(cfa <= walk->regs.sp, 0) || !gt_unwind_read(walk, cfa - 8, &next.pc))
		return GT_UNWIND_STEP_BROKEN;
	if (fp_saved && !gt_unwind_read(walk, fp_at, &next.fp))
		return GT_UNWIND_STEP_BROKEN;
	walk->regs = next;
	return GT_UNWIND_STEP_OK;
}

/* The kinds that gt_unwind_step leaves out. */
GT_UNWIND_UNFENCED enum gt_unwind_step_result gt_unwind_step_rare(struct gt_unwind_walk *walk,
								  uint64_t rule);

/* Written so that a walk whose address does not escape stays in registers. */
GT_UNWIND_UNFENCED static inline __attribute__((always_inline)) enum gt_unwind_step_result
gt_unwind_step(struct gt_unwind_walk *walk, uint64_t rule)
{
	uint64_t cfa_offset = (uint64_t)((int64_t)rule >> 32);
	uint64_t fp_offset = (uint64_t)(int64_t)(int16_t)(rule >> 16);
	enum gt_unwind_step_result result;
	struct gt_unwind_walk copy;
	uint64_t cfa;

	if (__builtin_expect(GT_RULE_KIND(rule) == GT_RULE_SP, 1)) {
		cfa = walk->regs.sp + cfa_offset;
	} else if (__builtin_expect(GT_RULE_KIND(rule) == GT_RULE_FP, 1)) {
		cfa = walk->regs.fp + cfa_offset;
	} else {
		copy = *walk;
		result = gt_unwind_step_rare(&copy, rule);
		*walk = copy;
		return result;
	}
	return gt_unwind_step_to(walk, cfa, fp_offset != 0, cfa + fp_offset);
}

/* Whether a step by @rule reads the frame pointer. */
static inline bool gt_unwind_rule_needs_fp(uint64_t rule)
{
	return GT_RULE_KIND(rule) == GT_RULE_FP || GT_RULE_KIND(rule) == GT_RULE_GUESS ||
	       (GT_RULE_KIND(rule) == GT_RULE_INDIRECT && (rule & GT_RULE_BASE_FP));
}

/* Whether a step by @rule finds the caller's frame pointer on the stack. */
static inline bool gt_unwind_rule_saves_fp(uint64_t rule)
{
	if (GT_RULE_KIND(rule) == GT_RULE_INDIRECT)
		return rule & GT_RULE_FP_SAVED;
	return GT_RULE_KIND(rule) == GT_RULE_GUESS || (rule >> 16 & 0xffff) != 0;
}

/* How far a function's stack pointer is below its frame pointer after its prologue, from @size
 * bytes of @code. False: no frame pointer, or an unknown instruction. */
bool gt_unwind_frame_bytes(const uint8_t *code, size_t size, uint64_t *ret_bytes);

/* Longest call instruction that gt_unwind_follows_call looks for. */
#define GT_UNWIND_CALL_BYTES 8

/* Whether the bytes in front of an address end with a call instruction. */
bool gt_unwind_follows_call(const uint8_t bytes[GT_UNWIND_CALL_BYTES]);

/* The target of the direct call before @pc, if there is one. */
bool gt_unwind_call_target(const uint8_t bytes[GT_UNWIND_CALL_BYTES], uint64_t pc,
			   uint64_t *ret_target);

#endif
