/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack machine, see the header. Operations with a symbol in them: plus and minus a number,
 * reading what it points to, and moving it about.
 */
#include "collectors/unwind/cfi_expression.h"

#include "collectors/unwind/arch.h"
#include "collectors/unwind/cfi.h"
#include "collectors/unwind/cfi_reader.h"

#define SYMBOL_OTHER   0x3800000000000000u
#define SYMBOL_READ(n) (0x4800000000000000u + ((uint64_t)(n) << 40))

#define DEPTH          16

struct evaluation {
	struct gt_cfi_machine *machine;
	uint64_t stack[DEPTH];
	unsigned int depth;
	bool is_broken;
};

uint64_t gt_cfi_register(const struct gt_cfi_machine *machine, uint64_t number)
{
	if (number == GT_UNWIND_SP_REGNUM)
		return GT_SYMBOL_SP;
	if (number == GT_UNWIND_FP_REGNUM)
		return GT_SYMBOL_FP;
	return number == GT_UNWIND_RA_REGNUM ? machine->ip : SYMBOL_OTHER;
}

uint64_t gt_cfi_read_of(const struct gt_cfi_machine *machine, uint64_t value, int64_t *ret_add)
{
	for (uint32_t i = 0; i < machine->reads; i++)
		if (gt_symbol_is_near(value, SYMBOL_READ(i), ret_add))
			return machine->read_at[i];
	return 0;
}

/* Numbers are addresses of users, or small in either direction. */
static bool is_symbol(uint64_t value)
{
	return value >> 60 >= 1 && value >> 60 <= 7;
}

static void push(struct evaluation *e, uint64_t value)
{
	if (e->depth == DEPTH)
		e->is_broken = true;
	else
		e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluation *e)
{
	if (e->depth == 0) {
		e->is_broken = true;
		return 0;
	}
	return e->stack[--e->depth];
}

static uint64_t read_stack(struct evaluation *e, uint64_t address)
{
	struct gt_cfi_machine *machine = e->machine;
	uint32_t i = 0;

	while (i < machine->reads && machine->read_at[i] != address)
		i++;
	if (i == GT_CFI_READS) {
		e->is_broken = true;
		return 0;
	}
	if (i == machine->reads)
		machine->read_at[machine->reads++] = address;
	return SYMBOL_READ(i);
}

static void do_deref(struct evaluation *e, uint64_t unused)
{
	uint64_t address = pop(e), word = 0;

	if (is_symbol(address))
		word = read_stack(e, address);
	else if (!gt_unwind_module_read(e->machine->module, address, &word))
		e->is_broken = true;
	push(e, word);
}

static void do_push(struct evaluation *e, uint64_t value)
{
	push(e, value);
}

static void do_add(struct evaluation *e, uint64_t value)
{
	push(e, pop(e) + value);
}

static void do_dup(struct evaluation *e, uint64_t unused)
{
	uint64_t value = pop(e);

	push(e, value);
	push(e, value);
}

static void do_drop(struct evaluation *e, uint64_t unused)
{
	pop(e);
}

static void do_swap(struct evaluation *e, uint64_t unused)
{
	uint64_t second = pop(e), first = pop(e);

	push(e, second);
	push(e, first);
}

static void do_plus(struct evaluation *e, uint64_t unused)
{
	uint64_t second = pop(e), first = pop(e);

	e->is_broken |= is_symbol(first) && is_symbol(second);
	push(e, first + second);
}

static void do_minus(struct evaluation *e, uint64_t unused)
{
	uint64_t second = pop(e), first = pop(e);

	e->is_broken |= is_symbol(second);
	push(e, first - second);
}

/* Two numbers. */
static void pop_numbers(struct evaluation *e, uint64_t *ret_first, uint64_t *ret_second)
{
	*ret_second = pop(e);
	*ret_first = pop(e);
	e->is_broken |= is_symbol(*ret_first) || is_symbol(*ret_second);
}

#define OF_NUMBERS(name, result)                                                                   \
	static void do_##name(struct evaluation *e, uint64_t unused)                               \
	{                                                                                          \
		uint64_t a, b;                                                                     \
                                                                                                   \
		pop_numbers(e, &a, &b);                                                            \
		push(e, (uint64_t)(result));                                                       \
	}

OF_NUMBERS(and, a &b)
OF_NUMBERS(or, a | b)
OF_NUMBERS(shl, b < 64 ? a << b : 0)
OF_NUMBERS(shr, b < 64 ? a >> b : 0)
OF_NUMBERS(eq, a == b)
OF_NUMBERS(ne, a != b)
OF_NUMBERS(lt, (int64_t)a < (int64_t)b)
OF_NUMBERS(le, (int64_t)a <= (int64_t)b)
OF_NUMBERS(gt, (int64_t)a > (int64_t)b)
OF_NUMBERS(ge, (int64_t)a >= (int64_t)b)

/* The operand: 0 none, u and s LEB128, 1 2 4 8 bytes, in capitals (A B D H) with a sign. */
static const struct operation {
	char operand;
	void (*apply)(struct evaluation *e, uint64_t operand);
} operations[] = {
	[0x06] = {0, do_deref},  [0x08] = {'1', do_push}, [0x09] = {'A', do_push},
	[0x0a] = {'2', do_push}, [0x0b] = {'B', do_push}, [0x0c] = {'4', do_push},
	[0x0d] = {'D', do_push}, [0x0e] = {'8', do_push}, [0x0f] = {'H', do_push},
	[0x10] = {'u', do_push}, [0x11] = {'s', do_push}, [0x12] = {0, do_dup},
	[0x13] = {0, do_drop},   [0x16] = {0, do_swap},   [0x1a] = {0, do_and},
	[0x1c] = {0, do_minus},  [0x21] = {0, do_or},     [0x22] = {0, do_plus},
	[0x23] = {'u', do_add},  [0x24] = {0, do_shl},    [0x25] = {0, do_shr},
	[0x29] = {0, do_eq},     [0x2a] = {0, do_ge},     [0x2b] = {0, do_gt},
	[0x2c] = {0, do_le},     [0x2d] = {0, do_lt},     [0x2e] = {0, do_ne},
};

static uint64_t read_operand(struct gt_cfi_reader *reader, char kind)
{
	switch (kind) {
	case 0:
		return 0;
	case 'u':
		return gt_cfi_uleb(reader);
	case 's':
		return (uint64_t)gt_cfi_sleb(reader);
	case 'A' ... 'H':
		return (uint64_t)gt_cfi_signed(reader, (size_t)(kind - 'A' + 1));
	default:
		return gt_cfi_unsigned(reader, (size_t)(kind - '0'));
	}
}

#define LIT  0x30 /* lit0 to lit31 */
#define BREG 0x70 /* breg0 to breg31: a register plus a number */

static void do_operation(struct evaluation *e, struct gt_cfi_reader *reader)
{
	uint8_t code = (uint8_t)gt_cfi_unsigned(reader, 1);

	if (code >= LIT && code < LIT + 32) {
		push(e, code - LIT);
	} else if (code >= BREG && code < BREG + 32) {
		push(e, gt_cfi_register(e->machine, code - BREG) + (uint64_t)gt_cfi_sleb(reader));
	} else if (code < sizeof(operations) / sizeof(operations[0]) && operations[code].apply) {
		uint64_t operand = read_operand(reader, operations[code].operand);

		operations[code].apply(e, operand);
	} else {
		e->is_broken = true;
	}
}

bool gt_cfi_evaluate(struct gt_cfi_machine *machine, const struct gt_cfi_block *block,
		     const uint64_t *first, uint64_t *ret_value)
{
	struct gt_cfi_reader reader = {.at = block->bytes, .end = block->bytes + block->size};
	struct evaluation e = {.machine = machine};

	if (first)
		push(&e, *first);
	while (gt_cfi_has(&reader) && !e.is_broken)
		do_operation(&e, &reader);
	*ret_value = pop(&e);
	return !reader.is_broken && !e.is_broken;
}
