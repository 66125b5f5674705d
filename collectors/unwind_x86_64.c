/* SPDX-License-Identifier: Apache-2.0
 *
 * x86-64: making rules, and the step over the frames that are rare. Application threads; the stack
 * is read only through the walk's bounds.
 */
#include "collectors/unwind_arch.h"

#include "collectors/unwind_learn.h"
#include "collectors/unwind_library.h"

static uint64_t field(int64_t value, unsigned int shift, unsigned int bits)
{
	return ((uint64_t)value & (((uint64_t)1 << bits) - 1)) << shift;
}

static int64_t get_field(uint64_t rule, unsigned int shift, unsigned int bits)
{
	return (int64_t)(rule << (64 - shift - bits)) >> (64 - bits);
}

static bool fits(int64_t value, unsigned int bits)
{
	return value >= -((int64_t)1 << (bits - 1)) && value < ((int64_t)1 << (bits - 1));
}

/* CFA = base + n, everything saved at places relative to the CFA. */
static uint64_t encode_plain(const struct gt_unwind_effect *effect)
{
	int64_t cfa_offset;
	int64_t fp_offset = effect->fp_at ? (int64_t)(effect->fp_at - effect->cfa) : 0;
	uint64_t kind;

	if (gt_symbol_is_near(effect->cfa, GT_SYMBOL_SP, &cfa_offset))
		kind = GT_RULE_SP;
	else if (gt_symbol_is_near(effect->cfa, GT_SYMBOL_FP, &cfa_offset))
		kind = GT_RULE_FP;
	else
		return 0;
	if (effect->ra_at != effect->cfa - 8 || !fits(fp_offset, 16) ||
	    (effect->fp_at && fp_offset == 0))
		return 0;
	return kind | field(fp_offset, 16, 16) | field(cfa_offset, 32, 32);
}

/* The CFA is in memory: a function that aligned its stack, or a signal frame. */
static uint64_t encode_indirect(const struct gt_unwind_effect *effect, bool is_signal)
{
	uint64_t rule = GT_RULE_INDIRECT | (is_signal ? GT_RULE_SIGNAL : 0);
	uint64_t base = GT_SYMBOL_SP;
	int64_t k, ra = 0, fp = 0;

	if (gt_symbol_is_near(effect->cfa_from, GT_SYMBOL_FP, &k)) {
		base = GT_SYMBOL_FP;
		rule |= GT_RULE_BASE_FP;
	} else if (!gt_symbol_is_near(effect->cfa_from, base, &k)) {
		return 0;
	}
	if (effect->ra_at != effect->cfa - 8) {
		rule |= GT_RULE_RA_AT_BASE;
		if (!gt_symbol_is_near(effect->ra_at, base, &ra))
			return 0;
	}
	if (effect->fp_at) {
		rule |= GT_RULE_FP_SAVED;
		if (!gt_symbol_is_near(effect->fp_at, base, &fp))
			return 0;
	}
	if (!fits(k, 16) || !fits(ra, 16) || !fits(fp, 16) || !fits(effect->cfa_add, 8))
		return 0;
	return rule | field(effect->cfa_add, 8, 8) | field(k, 16, 16) | field(ra, 32, 16) |
	       field(fp, 48, 16);
}

/* mov $__NR_rt_sigreturn, %rax; syscall: what a signal handler returns to. */
static bool is_signal_return(const struct gt_unwind_module *module, uint64_t pc)
{
	static const uint8_t code[9] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint64_t words[2];

	return gt_unwind_module_read(module, pc, &words[0]) &&
	       gt_unwind_module_read(module, pc + 8, &words[1]) &&
	       memcmp(words, code, sizeof(code)) == 0;
}

uint64_t gt_unwind_derive(const struct gt_unwind_library *library,
			  const struct gt_unwind_module *module, uint64_t pc)
{
	struct gt_unwind_effect effect;

	if (!gt_unwind_library_step(library, module, pc - 1, &effect))
		return 0;
	if (effect.is_end)
		return GT_RULE_END;
	if (effect.cfa_from)
		return encode_indirect(&effect, is_signal_return(module, pc));
	return encode_plain(&effect);
}

GT_UNWIND_UNFENCED static enum gt_unwind_step_result step_indirect(struct gt_unwind_walk *walk,
								   uint64_t rule)
{
	uint64_t base = rule & GT_RULE_BASE_FP ? walk->regs.fp : walk->regs.sp;
	struct gt_unwind_regs next = {.fp = walk->regs.fp};
	bool is_signal = rule & GT_RULE_SIGNAL;
	uint64_t ra_at;

	if (!gt_unwind_read(walk, base + (uint64_t)get_field(rule, 16, 16), &next.sp))
		return GT_UNWIND_STEP_BROKEN;
	next.sp += (uint64_t)get_field(rule, 8, 8);
	if (next.sp <= walk->regs.sp && !is_signal)
		return GT_UNWIND_STEP_BROKEN;
	ra_at = rule & GT_RULE_RA_AT_BASE ? base + (uint64_t)get_field(rule, 32, 16) : next.sp - 8;
	if (!gt_unwind_read(walk, ra_at, &next.pc))
		return GT_UNWIND_STEP_BROKEN;
	if ((rule & GT_RULE_FP_SAVED) &&
	    !gt_unwind_read(walk, base + (uint64_t)get_field(rule, 48, 16), &next.fp))
		return GT_UNWIND_STEP_BROKEN;
	next.pc += is_signal; /* the interrupted instruction, in the form of a return address */
	walk->regs = next;
	return is_signal ? GT_UNWIND_STEP_SWITCHED : GT_UNWIND_STEP_OK;
}

GT_UNWIND_UNFENCED enum gt_unwind_step_result gt_unwind_step_rare(struct gt_unwind_walk *walk,
								  uint64_t rule)
{
	switch (GT_RULE_KIND(rule)) {
	case GT_RULE_GUESS:
		return gt_unwind_step_to(walk, walk->regs.fp + 16, true, walk->regs.fp);
	case GT_RULE_INDIRECT:
		return step_indirect(walk, rule);
	case GT_RULE_END:
		return GT_UNWIND_STEP_END;
	default:
		return GT_UNWIND_STEP_BROKEN;
	}
}

/* call rel32 is 5 bytes; call *r/m (ff /2) is 2 to 7, one more with a prefix. */
bool gt_unwind_follows_call(const uint8_t bytes[GT_UNWIND_CALL_BYTES])
{
	if (bytes[GT_UNWIND_CALL_BYTES - 5] == 0xe8)
		return true;
	for (int length = 2; length <= 7; length++) {
		const uint8_t *code = &bytes[GT_UNWIND_CALL_BYTES - length];

		if (code[0] == 0xff && (code[1] >> 3 & 7) == 2)
			return true;
	}
	return false;
}
