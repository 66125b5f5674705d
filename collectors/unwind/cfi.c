/* SPDX-License-Identifier: Apache-2.0
 *
 * The call frame information of a module, see the header: finding the entry of an address
 * (.eh_frame_hdr, a sorted table), reading it and its common part, and what the row of the address
 * says of the caller's registers.
 */
#include "collectors/unwind/cfi.h"

#include "collectors/unwind/arch.h"
#include "collectors/unwind/cfi_expression.h"
#include "collectors/unwind/cfi_program.h"
#include "collectors/unwind/cfi_reader.h"

#define COPY_MAX 512 /* bytes of an entry whose module may go */

/* An entry of .eh_frame, a common (CIE) or a function's (FDE): its bytes behind the length. */
struct entry {
	struct gt_cfi_reader reader;
	uint8_t copy[COPY_MAX];
};

/* The search for an address. */
struct cfi_search {
	struct gt_cfi_program program;
	uint8_t pointer_encoding;
	bool has_augmentation;
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
	if (!bytes)
		return false;
	ret_entry->reader =
		(struct gt_cfi_reader){.at = bytes, .end = bytes + size, .address = address + 4};
	return true;
}

/* Says what the letters of a CIE's augmentation stand for, in their order. */
static bool read_augmentation(struct cfi_search *search, const char *letters)
{
	struct gt_cfi_reader *reader = &search->common.reader;
	const uint8_t *end;
	uint64_t size;

	search->has_augmentation = letters[0] == 'z';
	if (!search->has_augmentation)
		return !letters[0];
	size = gt_cfi_uleb(reader);
	if (reader->is_broken || size > (uint64_t)(reader->end - reader->at))
		return false;
	end = reader->at + size;
	for (letters++; *letters; letters++) {
		if (*letters == 'R')
			search->pointer_encoding = (uint8_t)gt_cfi_unsigned(reader, 1);
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
		       struct cfi_search *search)
{
	struct gt_cfi_program *program = &search->program;
	struct gt_cfi_reader *reader = &search->common.reader;
	const char *letters;
	uint64_t version;

	if (!open_entry(module, address, &search->common) || gt_cfi_unsigned(reader, 4) != 0)
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
	    !read_augmentation(search, letters) || !gt_cfi_run(program, reader))
		return false;
	program->initial = program->row;
	return true;
}

/* The function's part, up to the row of the program's ip. */
static bool run_function(const struct gt_unwind_module *module, uint64_t address,
			 struct cfi_search *search, uint64_t *ret_start)
{
	struct gt_cfi_program *program = &search->program;
	struct gt_cfi_reader *reader = &search->function.reader;
	uint64_t common, size;

	if (!open_entry(module, address, &search->function))
		return false;
	common = gt_cfi_unsigned(reader, 4);
	if (!common || !run_common(module, address + 4 - common, search))
		return false;
	*ret_start = read_pointer(reader, search->pointer_encoding);
	size = read_pointer(reader, search->pointer_encoding & 0x0f);
	if (reader->is_broken || program->ip - *ret_start >= size)
		return false;
	if (search->has_augmentation)
		gt_cfi_take(reader, gt_cfi_uleb(reader));
	program->location = *ret_start;
	return gt_cfi_run(program, reader);
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
static bool find_saved(struct gt_cfi_machine *machine, const struct gt_cfi_rule *rule, uint64_t cfa,
		       uint64_t *ret_at)
{
	if (rule->kind == GT_CFI_OFFSET) {
		*ret_at = cfa + (uint64_t)rule->offset;
		return true;
	}
	return rule->kind == GT_CFI_EXPRESSION &&
	       gt_cfi_evaluate(machine, &rule->block, &cfa, ret_at);
}

/* In an epilogue compilers do not say that a register was restored: its place is then below the
 * stack pointer, and it has its value. */
static bool is_popped(uint64_t saved_at)
{
	int64_t offset;

	return gt_symbol_is_near(saved_at, GT_SYMBOL_SP, &offset) && offset < 0;
}

static bool find_cfa(struct gt_cfi_machine *machine, const struct gt_cfi_row *row,
		     uint64_t *ret_cfa)
{
	if (row->cfa_block.size)
		return gt_cfi_evaluate(machine, &row->cfa_block, NULL, ret_cfa);
	*ret_cfa = gt_cfi_register(machine, row->cfa_register) + (uint64_t)row->cfa_offset;
	return true;
}

static bool read_effect(struct gt_cfi_machine *machine, const struct gt_cfi_row *row,
			struct gt_unwind_effect *effect)
{
	const struct gt_cfi_rule *ra = &row->rules[GT_CFI_RA], *fp = &row->rules[GT_CFI_FP];

	effect->is_end = ra->kind == GT_CFI_UNDEFINED;
	if (effect->is_end)
		return true;
	if (!find_cfa(machine, row, &effect->cfa) ||
	    !find_saved(machine, ra, effect->cfa, &effect->ra_at))
		return false;
	effect->cfa_from = gt_cfi_read_of(machine, effect->cfa, &effect->cfa_add);
	/* outer frames do not need an undefined one */
	if (fp->kind == GT_CFI_SAME || fp->kind == GT_CFI_UNDEFINED)
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
	struct cfi_search search = {.program.ip = ip};
	uint64_t entry;

	memset(ret_effect, 0, sizeof(*ret_effect));
	return module->eh_frame_hdr && find_entry(module, ip, &entry) &&
	       run_function(module, entry, &search, &ret_effect->function) &&
	       read_effect(&machine, &search.program.row, ret_effect);
}
