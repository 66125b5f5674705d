/* SPDX-License-Identifier: Apache-2.0
 *
 * x86-64: makes rules, and steps over rare frames. Application threads; reads the stack only inside
 * the walk's bounds.
 */
#include "collectors/unwind/arch.h"

#include "collectors/unwind/cfi.h"
#include "collectors/unwind/learn.h"

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

/* CFA = base + n; everything is saved relative to the CFA. */
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

/* mov $__NR_rt_sigreturn, %rax; syscall: the return address of a signal handler. */
static bool is_signal_return(const struct gt_unwind_module *module, uint64_t pc)
{
	static const uint8_t code[9] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint64_t words[2];

	return gt_unwind_module_read(module, pc, &words[0]) &&
	       gt_unwind_module_read(module, pc + 8, &words[1]) &&
	       memcmp(words, code, sizeof(code)) == 0;
}

uint64_t gt_unwind_derive(const struct gt_unwind_module *module, uint64_t pc)
{
	struct gt_unwind_effect effect;

	if (!gt_cfi_step(module, pc - 1, &effect))
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

enum prologue_step { PROLOGUE_STOP, PROLOGUE_OTHER, PROLOGUE_PUSH, PROLOGUE_FRAME, PROLOGUE_SUB };

/* Bytes of a ModR/M byte and its operands; 0: not inside @size. */
static size_t modrm_bytes(const uint8_t *code, size_t size)
{
	uint8_t mod, rm;
	size_t bytes = 1;

	if (size < 2)
		return 0;
	mod = code[0] >> 6;
	rm = code[0] & 7;
	if (mod != 3 && rm == 4) { /* a SIB byte */
		bytes++;
		if (mod == 0 && (code[1] & 7) == 5)
			bytes += 4;
	} else if (mod == 0 && rm == 5) {
		bytes += 4;
	}
	return bytes + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Opcodes of the map 0f with a ModR/M byte; not those with an immediate, without operands, or that
 * jump. */
static bool is_vector(uint8_t opcode)
{
	static const uint8_t first_last[][2] = {{0x10, 0x17}, {0x28, 0x2f}, {0x40, 0x6f},
						{0x74, 0x76}, {0x7e, 0x7f}, {0xaf, 0xaf},
						{0xb6, 0xb7}, {0xbe, 0xbf}, {0xd0, 0xff}};

	for (size_t i = 0; i < sizeof(first_last) / sizeof(first_last[0]); i++)
		if (opcode >= first_last[i][0] && opcode <= first_last[i][1])
			return true;
	return false;
}

/* Bytes of the immediate of a one-byte opcode; -1: not a supported one. */
static int immediate_bytes(uint8_t opcode)
{
	static const struct {
		uint8_t opcode;
		int8_t bytes;
	} wanted[] = {{0x01, 0}, {0x03, 0}, {0x09, 0}, {0x0b, 0}, {0x21, 0}, {0x23, 0}, {0x29, 0},
		      {0x2b, 0}, {0x31, 0}, {0x33, 0}, {0x38, 0}, {0x39, 0}, {0x3a, 0}, {0x3b, 0},
		      {0x63, 0}, {0x80, 1}, {0x81, 4}, {0x83, 1}, {0x84, 0}, {0x85, 0}, {0x88, 0},
		      {0x89, 0}, {0x8a, 0}, {0x8b, 0}, {0x8d, 0}, {0xc6, 1}, {0xc7, 4}};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
		if (wanted[i].opcode == opcode)
			return wanted[i].bytes;
	return -1;
}

/* Instructions that compilers put between the pushes: moves, tests, arithmetic, vectors. 0:
 * others. */
static size_t other_bytes(const uint8_t *code, size_t size)
{
	size_t at = 0, operands;
	bool wide = false;
	int immediate = 0;

	if (size > at && (code[at] == 0x66 || code[at] == 0xf2 || code[at] == 0xf3))
		at++;
	if (size > at && (code[at] & 0xf0) == 0x40)
		wide = code[at++] & 8;
	if (size > at && code[at] >= 0xb8 && code[at] <= 0xbf)
		return at + (wide ? 9 : 5); /* mov $n, %reg */
	if (size > at + 1 && code[at] == 0x0f) {
		at++;
		immediate = is_vector(code[at]) ? 0 : -1;
	} else if (size > at + 3 && (code[at] == 0xc5 || code[at] == 0xc4)) { /* VEX */
		at += code[at] == 0xc5 ? 2 : 3;
		immediate = is_vector(code[at]) ? 0 : -1;
	} else if (size > at) {
		immediate = code[0] == 0x66 && immediate_bytes(code[at]) == 4
				    ? 2
				    : immediate_bytes(code[at]);
	}
	if (immediate < 0 || size <= at)
		return 0;
	operands = modrm_bytes(code + at + 1, size - at - 1);
	return operands ? at + 1 + operands + (size_t)immediate : 0;
}

/* One instruction: its kind, its length, and for sub $n, %rsp the number. */
static enum prologue_step read_prologue(const uint8_t *code, size_t size, size_t *ret_bytes,
					uint32_t *ret_number)
{
	static const uint8_t endbr[4] = {0xf3, 0x0f, 0x1e, 0xfa}, frame[3] = {0x48, 0x89, 0xe5},
			     sub8[3] = {0x48, 0x83, 0xec}, sub32[3] = {0x48, 0x81, 0xec};

	*ret_bytes = 4;
	if (size >= 4 && !memcmp(code, endbr, 4))
		return PROLOGUE_OTHER;
	if (size >= 4 && !memcmp(code, sub8, 3)) {
		*ret_number = code[3];
		return code[3] < 128 ? PROLOGUE_SUB : PROLOGUE_STOP;
	}
	*ret_bytes = 7;
	if (size >= 7 && !memcmp(code, sub32, 3)) {
		memcpy(ret_number, code + 3, sizeof(*ret_number));
		return *ret_number <= INT32_MAX ? PROLOGUE_SUB : PROLOGUE_STOP;
	}
	*ret_bytes = 3;
	if (size >= 3 && !memcmp(code, frame, 3))
		return PROLOGUE_FRAME;
	*ret_bytes = 1;
	if (size >= 1 && code[0] >= 0x50 && code[0] <= 0x57)
		return PROLOGUE_PUSH;
	*ret_bytes = 2;
	if (size >= 2 && code[0] == 0x41 && code[1] >= 0x50 && code[1] <= 0x57)
		return PROLOGUE_PUSH;
	if (size >= 3 && code[0] == 0x48 && (code[1] == 0x81 || code[1] == 0x83) &&
	    (code[2] & 7) == 4) /* on the stack pointer: alignment */
		return PROLOGUE_STOP;
	*ret_bytes = other_bytes(code, size);
	return *ret_bytes && *ret_bytes <= size ? PROLOGUE_OTHER : PROLOGUE_STOP;
}

bool gt_unwind_frame_bytes(const uint8_t *code, size_t size, uint64_t *ret_bytes)
{
	uint64_t below = 0;
	bool has_frame = false;
	uint32_t number = 0;
	size_t at = 0, bytes;

	for (;; at += bytes) {
		enum prologue_step step = read_prologue(code + at, size - at, &bytes, &number);

		if (step == PROLOGUE_STOP)
			break;
		if (step == PROLOGUE_FRAME) {
			has_frame = true;
			below = 0;
		} else if (step == PROLOGUE_PUSH) {
			below += 8;
		} else if (step == PROLOGUE_SUB) { /* the last change of sp in a prologue */
			below += number;
			break;
		}
	}
	*ret_bytes = below;
	return has_frame;
}

bool gt_unwind_call_target(const uint8_t bytes[GT_UNWIND_CALL_BYTES], uint64_t pc,
			   uint64_t *ret_target)
{
	int32_t offset;

	if (bytes[GT_UNWIND_CALL_BYTES - 5] != 0xe8)
		return false;
	memcpy(&offset, &bytes[GT_UNWIND_CALL_BYTES - 4], sizeof(offset));
	*ret_target = pc + (uint64_t)(int64_t)offset;
	return true;
}
