/* SPDX-License-Identifier: Apache-2.0
 *
 * A function for each instruction, and the table of them, see the header.
 */
#include "collectors/unwind/cfi_program.h"

#include "collectors/unwind/arch.h"

/* The rule of register @number; NULL: of no interest. */
static struct gt_cfi_rule *rule_of(struct gt_cfi_row *row, uint64_t number)
{
	if (number == GT_UNWIND_FP_REGNUM)
		return &row->rules[GT_CFI_FP];
	return number == GT_UNWIND_RA_REGNUM ? &row->rules[GT_CFI_RA] : NULL;
}

static void set_rule(struct gt_cfi_program *program, uint64_t number, struct gt_cfi_rule rule)
{
	struct gt_cfi_rule *place = rule_of(&program->row, number);

	if (place)
		*place = rule;
}

/* A factored offset: of damaged information any number, without an overflow. */
static int64_t scaled(const struct gt_cfi_program *program, int64_t factor)
{
	return (int64_t)((uint64_t)factor * (uint64_t)program->data_align);
}

static void advance(struct gt_cfi_program *program, uint64_t delta)
{
	program->location += delta * program->code_align;
	program->is_over = program->location > program->ip;
}

/* What an instruction carries: up to two numbers, or a number and a block. */
struct operands {
	uint64_t a;
	int64_t b;
	struct gt_cfi_block block;
};

static void do_nothing(struct gt_cfi_program *program, const struct operands *o)
{
}

static void do_advance(struct gt_cfi_program *program, const struct operands *o)
{
	advance(program, o->a);
}

static void do_offset(struct gt_cfi_program *program, const struct operands *o)
{
	set_rule(program, o->a,
		 (struct gt_cfi_rule){.kind = GT_CFI_OFFSET, .offset = scaled(program, o->b)});
}

static void do_negative_offset(struct gt_cfi_program *program, const struct operands *o)
{
	set_rule(program, o->a,
		 (struct gt_cfi_rule){.kind = GT_CFI_OFFSET,
				      .offset = scaled(program, (int64_t) - (uint64_t)o->b)});
}

static void do_restore(struct gt_cfi_program *program, const struct operands *o)
{
	const struct gt_cfi_rule *initial = rule_of(&program->initial, o->a);

	if (initial)
		set_rule(program, o->a, *initial);
}

static void do_undefined(struct gt_cfi_program *program, const struct operands *o)
{
	set_rule(program, o->a, (struct gt_cfi_rule){.kind = GT_CFI_UNDEFINED});
}

static void do_same(struct gt_cfi_program *program, const struct operands *o)
{
	set_rule(program, o->a, (struct gt_cfi_rule){.kind = GT_CFI_SAME});
}

static void do_other(struct gt_cfi_program *program, const struct operands *o)
{
	set_rule(program, o->a, (struct gt_cfi_rule){.kind = GT_CFI_OTHER});
}

static void do_expression(struct gt_cfi_program *program, const struct operands *o)
{
	set_rule(program, o->a, (struct gt_cfi_rule){.kind = GT_CFI_EXPRESSION, .block = o->block});
}

static void do_remember(struct gt_cfi_program *program, const struct operands *o)
{
	if (program->state_count == GT_CFI_STATES)
		program->is_broken = true;
	else
		program->states[program->state_count++] = program->row;
}

static void do_recall(struct gt_cfi_program *program, const struct operands *o)
{
	if (program->state_count == 0)
		program->is_broken = true;
	else
		program->row = program->states[--program->state_count];
}

static void do_cfa(struct gt_cfi_program *program, const struct operands *o)
{
	program->row.cfa_register = o->a;
	program->row.cfa_offset = o->b;
	program->row.cfa_block.size = 0;
}

static void do_cfa_scaled(struct gt_cfi_program *program, const struct operands *o)
{
	program->row.cfa_register = o->a;
	program->row.cfa_offset = scaled(program, o->b);
	program->row.cfa_block.size = 0;
}

static void do_cfa_register(struct gt_cfi_program *program, const struct operands *o)
{
	program->row.cfa_register = o->a;
	program->row.cfa_block.size = 0;
}

static void do_cfa_offset(struct gt_cfi_program *program, const struct operands *o)
{
	program->row.cfa_offset = (int64_t)o->a;
}

static void do_cfa_offset_scaled(struct gt_cfi_program *program, const struct operands *o)
{
	program->row.cfa_offset = scaled(program, o->b);
}

static void do_cfa_block(struct gt_cfi_program *program, const struct operands *o)
{
	program->row.cfa_block = o->block;
	program->is_broken |= !o->block.size;
}

/* Operands in their order: u unsigned, s signed LEB128, b a block, 1 2 4 bytes. An unsigned one is
 * a the first time and b the second time, a signed one is b. */
static const struct instruction {
	const char *operands; /* NULL: unknown, or one that no compiler writes */
	void (*apply)(struct gt_cfi_program *program, const struct operands *o);
} instructions[] = {
	[0x00] = {"", do_nothing},
	[0x02] = {"1", do_advance},
	[0x03] = {"2", do_advance},
	[0x04] = {"4", do_advance},
	[0x05] = {"uu", do_offset},
	[0x06] = {"u", do_restore},
	[0x07] = {"u", do_undefined},
	[0x08] = {"u", do_same},
	[0x09] = {"uu", do_other},
	[0x0a] = {"", do_remember},
	[0x0b] = {"", do_recall},
	[0x0c] = {"uu", do_cfa},
	[0x0d] = {"u", do_cfa_register},
	[0x0e] = {"u", do_cfa_offset},
	[0x0f] = {"b", do_cfa_block},
	[0x10] = {"ub", do_expression},
	[0x11] = {"us", do_offset},
	[0x12] = {"us", do_cfa_scaled},
	[0x13] = {"s", do_cfa_offset_scaled},
	[0x14] = {"uu", do_other},
	[0x15] = {"us", do_other},
	[0x16] = {"ub", do_other},
	[0x2e] = {"u", do_nothing}, /* GNU: size of the arguments on the stack */
	[0x2f] = {"uu", do_negative_offset},
};

/* Those with an operand in their low 6 bits, by the high 2. */
static const struct instruction packed[] = {
	[1] = {"", do_advance},
	[2] = {"u", do_offset},
	[3] = {"", do_restore},
};

static void read_operands(struct gt_cfi_reader *reader, const char *kinds, bool has_first,
			  struct operands *o)
{
	for (; *kinds; kinds++) {
		if (*kinds == 's') {
			o->b = gt_cfi_sleb(reader);
		} else if (*kinds == 'b') {
			o->block.size = gt_cfi_uleb(reader);
			o->block.bytes = gt_cfi_take(reader, o->block.size);
		} else {
			uint64_t value = *kinds == 'u'
						 ? gt_cfi_uleb(reader)
						 : gt_cfi_unsigned(reader, (size_t)(*kinds - '0'));

			if (has_first)
				o->b = (int64_t)value;
			else
				o->a = value;
			has_first = true;
		}
	}
}

bool gt_cfi_run(struct gt_cfi_program *program, struct gt_cfi_reader *reader)
{
	while (gt_cfi_has(reader) && !program->is_over && !program->is_broken) {
		uint8_t opcode = (uint8_t)gt_cfi_unsigned(reader, 1);
		const struct instruction *instruction = &packed[opcode >> 6];
		struct operands o = {.a = opcode & 0x3f};

		if (!(opcode >> 6)) {
			if (opcode >= sizeof(instructions) / sizeof(instructions[0]))
				return false;
			instruction = &instructions[opcode];
			o.a = 0;
		}
		if (!instruction->operands)
			return false;
		read_operands(reader, instruction->operands, opcode >> 6, &o);
		if (!reader->is_broken)
			instruction->apply(program, &o);
	}
	return !reader->is_broken && !program->is_broken;
}
