/* SPDX-License-Identifier: Apache-2.0
 *
 * The call frame information of a module, see the header: finding the entry of an address
 * (.eh_frame_hdr, a sorted table), reading it and its common part, running their instructions up to
 * the address.
 */
#include "collectors/unwind/cfi.h"

#include "collectors/unwind/arch.h"
#include "collectors/unwind/cfi_expression.h"
#include "collectors/unwind/cfi_reader.h"

#define COPY_MAX   512 /* bytes of an entry whose module may go */
#define STATES_MAX 4

/* How a register of the caller is found. */
enum rule_kind {
	RULE_SAME,
	RULE_UNDEFINED,
	RULE_OFFSET,     /* saved at CFA + offset */
	RULE_EXPRESSION, /* saved at the value of an expression, which begins with the CFA */
	RULE_OTHER,      /* in another register, or a value: no rule can express it */
};

struct rule {
	uint8_t kind; /* enum rule_kind */
	int64_t offset;
	struct gt_cfi_block block;
};

/* The registers that unwinding needs; the rest of what is said of registers is passed over. */
enum { REGISTER_FP, REGISTER_RA, REGISTERS };

/* A row of the table that the instructions describe. */
struct row {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct gt_cfi_block cfa_block; /* in place of both, if it is not empty */
	struct rule rules[REGISTERS];
};

/* An entry of .eh_frame, a common (CIE) or a function's (FDE): its bytes behind the length. */
struct entry {
	struct gt_cfi_reader reader;
	uint8_t copy[COPY_MAX];
};

struct program {
	uint64_t ip, location;
	uint64_t code_align;
	int64_t data_align;
	uint8_t pointer_encoding;
	bool has_augmentation;
	bool is_over; /* the rows that follow are of later addresses */
	bool is_broken;
	struct row row, initial, states[STATES_MAX];
	unsigned int state_count;
	struct entry common, function; /* rows point into their bytes */
};

bool gt_symbol_is_near(uint64_t value, uint64_t symbol, int64_t *ret_offset)
{
	int64_t offset = (int64_t)(value - symbol);

	if (offset < INT32_MIN || offset > INT32_MAX)
		return false;
	*ret_offset = offset;
	return true;
}

/* ---- the instructions ---- */

/* The rule of register @number; NULL: of no interest. */
static struct rule *rule_of(struct row *row, uint64_t number)
{
	if (number == GT_UNWIND_FP_REGNUM)
		return &row->rules[REGISTER_FP];
	return number == GT_UNWIND_RA_REGNUM ? &row->rules[REGISTER_RA] : NULL;
}

static void set_rule(struct program *program, uint64_t number, struct rule rule)
{
	struct rule *place = rule_of(&program->row, number);

	if (place)
		*place = rule;
}

static void advance(struct program *program, uint64_t delta)
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

static void do_nothing(struct program *program, const struct operands *o)
{
}

static void do_advance(struct program *program, const struct operands *o)
{
	advance(program, o->a);
}

static void do_offset(struct program *program, const struct operands *o)
{
	set_rule(program, o->a,
		 (struct rule){.kind = RULE_OFFSET, .offset = o->b * program->data_align});
}

static void do_negative_offset(struct program *program, const struct operands *o)
{
	set_rule(program, o->a,
		 (struct rule){.kind = RULE_OFFSET, .offset = -o->b * program->data_align});
}

static void do_restore(struct program *program, const struct operands *o)
{
	const struct rule *initial = rule_of(&program->initial, o->a);

	if (initial)
		set_rule(program, o->a, *initial);
}

static void do_undefined(struct program *program, const struct operands *o)
{
	set_rule(program, o->a, (struct rule){.kind = RULE_UNDEFINED});
}

static void do_same(struct program *program, const struct operands *o)
{
	set_rule(program, o->a, (struct rule){.kind = RULE_SAME});
}

static void do_other(struct program *program, const struct operands *o)
{
	set_rule(program, o->a, (struct rule){.kind = RULE_OTHER});
}

static void do_expression(struct program *program, const struct operands *o)
{
	set_rule(program, o->a, (struct rule){.kind = RULE_EXPRESSION, .block = o->block});
}

static void do_remember(struct program *program, const struct operands *o)
{
	if (program->state_count == STATES_MAX)
		program->is_broken = true;
	else
		program->states[program->state_count++] = program->row;
}

static void do_recall(struct program *program, const struct operands *o)
{
	if (program->state_count == 0)
		program->is_broken = true;
	else
		program->row = program->states[--program->state_count];
}

static void do_cfa(struct program *program, const struct operands *o)
{
	program->row.cfa_register = o->a;
	program->row.cfa_offset = o->b;
	program->row.cfa_block.size = 0;
}

static void do_cfa_scaled(struct program *program, const struct operands *o)
{
	program->row.cfa_register = o->a;
	program->row.cfa_offset = o->b * program->data_align;
	program->row.cfa_block.size = 0;
}

static void do_cfa_register(struct program *program, const struct operands *o)
{
	program->row.cfa_register = o->a;
	program->row.cfa_block.size = 0;
}

static void do_cfa_offset(struct program *program, const struct operands *o)
{
	program->row.cfa_offset = (int64_t)o->a;
}

static void do_cfa_offset_scaled(struct program *program, const struct operands *o)
{
	program->row.cfa_offset = o->b * program->data_align;
}

static void do_cfa_block(struct program *program, const struct operands *o)
{
	program->row.cfa_block = o->block;
	program->is_broken |= !o->block.size;
}

/* Operands in their order: u unsigned, s signed LEB128, b a block, 1 2 4 bytes. An unsigned one is
 * a the first time and b the second time, a signed one is b. */
static const struct instruction {
	const char *operands; /* NULL: unknown, or one that no compiler writes */
	void (*apply)(struct program *program, const struct operands *o);
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

/* Applies all instructions until the row of the program's ip is complete. */
static bool run(struct program *program, struct gt_cfi_reader *reader)
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

/* ---- the entries ---- */

/* A pointer: bytes by the low half of @encoding, relative to itself or absolute by the high one. */
static uint64_t read_pointer(struct gt_cfi_reader *reader, uint8_t encoding)
{
	static const struct {
		uint8_t bytes;
		bool is_signed;
	} forms[16] = {
		[0x00] = {8, false}, [0x02] = {2, false}, [0x03] = {4, false}, [0x04] = {8, false},
		[0x0a] = {2, true},  [0x0b] = {4, true},  [0x0c] = {8, true}};
	uint64_t base = (encoding & 0x70) == 0x10 ? reader->address : 0;
	uint8_t bytes = forms[encoding & 0x0f].bytes;

	if (!bytes || (encoding & 0x70) > 0x10) {
		reader->is_broken = true;
		return 0;
	}
	return base + (forms[encoding & 0x0f].is_signed ? (uint64_t)gt_cfi_signed(reader, bytes)
							: gt_cfi_unsigned(reader, bytes));
}

/* The entry at @address, without its length. */
static bool open_entry(const struct gt_unwind_module *module, uint64_t address,
		       struct entry *ret_entry)
{
	uint64_t word, size;
	const uint8_t *bytes;

	if (!gt_unwind_module_read(module, address, &word))
		return false;
	size = (uint32_t)word;
	if (size < 4 || size >= 0xfffffff0u) /* the end of all, or the 64-bit form */
		return false;
	bytes = gt_unwind_module_view(module, address + 4, size, ret_entry->copy,
				      sizeof(ret_entry->copy));
	ret_entry->reader =
		(struct gt_cfi_reader){.at = bytes, .end = bytes + size, .address = address + 4};
	return bytes != NULL;
}

/* Says what the letters of a CIE's augmentation stand for, in their order. */
static bool read_augmentation(struct program *program, const char *letters,
			      struct gt_cfi_reader *reader)
{
	const uint8_t *end;
	uint64_t size;

	program->has_augmentation = letters[0] == 'z';
	if (!program->has_augmentation)
		return !letters[0];
	size = gt_cfi_uleb(reader);
	if (reader->is_broken || size > (uint64_t)(reader->end - reader->at))
		return false;
	end = reader->at + size;
	for (letters++; *letters; letters++) {
		if (*letters == 'R')
			program->pointer_encoding = (uint8_t)gt_cfi_unsigned(reader, 1);
		else if (*letters == 'L')
			gt_cfi_unsigned(reader, 1);
		else if (*letters == 'P')
			read_pointer(reader, (uint8_t)gt_cfi_unsigned(reader, 1));
		else if (*letters != 'S' && *letters != 'B')
			return false;
	}
	return !reader->is_broken && reader->at <= end &&
	       gt_cfi_take(reader, (uint64_t)(end - reader->at));
}

/* The common part: the row at the start of each of its functions. */
static bool run_common(const struct gt_unwind_module *module, uint64_t address,
		       struct program *program)
{
	struct gt_cfi_reader *reader = &program->common.reader;
	const char *letters;
	uint64_t version;

	if (!open_entry(module, address, &program->common) || gt_cfi_unsigned(reader, 4) != 0)
		return false;
	version = gt_cfi_unsigned(reader, 1);
	letters = (const char *)reader->at;
	while (gt_cfi_unsigned(reader, 1))
		continue;
	program->code_align = gt_cfi_uleb(reader);
	program->data_align = gt_cfi_sleb(reader);
	if ((version != 1 && version != 3) || reader->is_broken ||
	    (version == 1 ? gt_cfi_unsigned(reader, 1) : gt_cfi_uleb(reader)) !=
		    GT_UNWIND_RA_REGNUM ||
	    !read_augmentation(program, letters, reader) || !run(program, reader))
		return false;
	program->initial = program->row;
	return true;
}

/* The function's part, up to the row of the program's ip. */
static bool run_function(const struct gt_unwind_module *module, uint64_t address,
			 struct program *program, uint64_t *ret_start)
{
	struct gt_cfi_reader *reader = &program->function.reader;
	uint64_t common, size;

	if (!open_entry(module, address, &program->function))
		return false;
	common = gt_cfi_unsigned(reader, 4);
	if (!common || !run_common(module, address + 4 - common, program))
		return false;
	*ret_start = read_pointer(reader, program->pointer_encoding);
	size = read_pointer(reader, program->pointer_encoding & 0x0f);
	if (reader->is_broken || program->ip - *ret_start >= size)
		return false;
	if (program->has_augmentation)
		gt_cfi_take(reader, gt_cfi_uleb(reader));
	program->location = *ret_start;
	return run(program, reader);
}

/* The header of .eh_frame_hdr in the only form that linkers write: a sorted table of 32-bit pairs,
 * relative to the header. */
struct eh_frame_hdr {
	uint8_t version, frame_encoding, count_encoding, table_encoding;
	int32_t frame;
	uint32_t count;
	uint32_t first; /* of the table */
};

struct hdr_pair {
	int32_t function, entry;
};

static bool read_pair(const struct gt_unwind_module *module, uint64_t n, struct hdr_pair *ret_pair)
{
	uint64_t word;

	if (!gt_unwind_module_read(module,
				   module->eh_frame_hdr + offsetof(struct eh_frame_hdr, first) +
					   n * sizeof(struct hdr_pair),
				   &word))
		return false;
	memcpy(ret_pair, &word, sizeof(word));
	return true;
}

/* The address of the entry of the last function that begins at @ip or before. */
static bool find_entry(const struct gt_unwind_module *module, uint64_t ip, uint64_t *ret_entry)
{
	uint64_t words[2], low = 0, high;
	struct eh_frame_hdr hdr;
	struct hdr_pair pair;

	if (!gt_unwind_module_read(module, module->eh_frame_hdr, &words[0]) ||
	    !gt_unwind_module_read(module, module->eh_frame_hdr + 8, &words[1]))
		return false;
	memcpy(&hdr, words, sizeof(words));
	/* pcrel sdata4, udata4, datarel sdata4 */
	if (hdr.version != 1 || (hdr.frame_encoding & 0x0f) != 0x0b || hdr.count_encoding != 0x03 ||
	    hdr.table_encoding != 0x3b)
		return false;
	for (high = hdr.count; low < high;) {
		uint64_t middle = low + (high - low) / 2;

		if (!read_pair(module, middle, &pair))
			return false;
		if ((int64_t)(ip - module->eh_frame_hdr) < pair.function)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0 || !read_pair(module, low - 1, &pair))
		return false;
	*ret_entry = module->eh_frame_hdr + (uint64_t)(int64_t)pair.entry;
	return true;
}

/* ---- the effect ---- */

/* Where a register is saved. False: nowhere, or no rule can express it. */
static bool find_saved(struct gt_cfi_machine *machine, const struct rule *rule, uint64_t cfa,
		       uint64_t *ret_at)
{
	if (rule->kind == RULE_OFFSET) {
		*ret_at = cfa + (uint64_t)rule->offset;
		return true;
	}
	return rule->kind == RULE_EXPRESSION &&
	       gt_cfi_evaluate(machine, &rule->block, &cfa, ret_at);
}

/* In an epilogue compilers do not say that a register was restored: its place is then below the
 * stack pointer, and it has its value. */
static bool is_popped(uint64_t saved_at)
{
	int64_t offset;

	return gt_symbol_is_near(saved_at, GT_SYMBOL_SP, &offset) && offset < 0;
}

static bool find_cfa(struct gt_cfi_machine *machine, const struct row *row, uint64_t *ret_cfa)
{
	if (row->cfa_block.size)
		return gt_cfi_evaluate(machine, &row->cfa_block, NULL, ret_cfa);
	*ret_cfa = gt_cfi_register(machine, row->cfa_register) + (uint64_t)row->cfa_offset;
	return true;
}

static bool read_effect(struct gt_cfi_machine *machine, const struct row *row,
			struct gt_unwind_effect *effect)
{
	const struct rule *ra = &row->rules[REGISTER_RA], *fp = &row->rules[REGISTER_FP];

	effect->is_end = ra->kind == RULE_UNDEFINED;
	if (effect->is_end)
		return true;
	if (!find_cfa(machine, row, &effect->cfa) ||
	    !find_saved(machine, ra, effect->cfa, &effect->ra_at))
		return false;
	effect->cfa_from = gt_cfi_read_of(machine, effect->cfa, &effect->cfa_add);
	/* outer frames do not need an undefined one */
	if (fp->kind == RULE_SAME || fp->kind == RULE_UNDEFINED)
		return true;
	if (!find_saved(machine, fp, effect->cfa, &effect->fp_at))
		return false;
	if (is_popped(effect->fp_at))
		effect->fp_at = 0;
	return true;
}

bool gt_cfi_step(const struct gt_unwind_module *module, uint64_t ip,
		 struct gt_unwind_effect *ret_effect)
{
	struct gt_cfi_machine machine = {.module = module, .ip = ip};
	struct program program = {.ip = ip};
	uint64_t entry;

	memset(ret_effect, 0, sizeof(*ret_effect));
	return module->eh_frame_hdr && find_entry(module, ip, &entry) &&
	       run_function(module, entry, &program, &ret_effect->function) &&
	       read_effect(&machine, &program.row, ret_effect);
}
