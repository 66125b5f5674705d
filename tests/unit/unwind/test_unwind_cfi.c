/* SPDX-License-Identifier: Apache-2.0
 *
 * Call frame information: rows made by hand, expressions, and a damaged section.
 */
#include "collectors/unwind/cfi.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collectors/unwind/cfi_expression.h"

/* A module in memory of its own: .eh_frame_hdr, one CIE, one FDE of a function of 0x100 bytes. */
#define PAGE     4096
#define FUNCTION 0x800 /* in the module */
#define FRAME    0x20

static uint8_t *image;
static struct gt_unwind_module module;

static void put32(size_t at, uint32_t value)
{
	memcpy(image + at, &value, sizeof(value));
}

static void make_module(const uint8_t *instructions, size_t size)
{
	static const uint8_t cie[] = {
		20,   0,  0, 0,    0,    0, 0, 0,    1, 'z', 'R', 0, 1,
		0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0,   0}; /* CFA = rsp + 8, ra at CFA - 8 */
	const size_t fde = FRAME + sizeof(cie);

	image = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(image != MAP_FAILED);
	module = (struct gt_unwind_module){.eh_frame_hdr = (uint64_t)image,
					   .segments = 1,
					   .segment = {{(uint64_t)image, (uint64_t)image + PAGE}}};
	memcpy(image, "\x01\x1b\x03\x3b", 4);
	put32(8, 1); /* entries */
	put32(12, FUNCTION);
	put32(16, (uint32_t)fde);
	memcpy(image + FRAME, cie, sizeof(cie));
	put32(fde, (uint32_t)(13 + size));
	put32(fde + 4, (uint32_t)(fde + 4 - FRAME));
	put32(fde + 8, (uint32_t)(FUNCTION - (fde + 8)));
	put32(fde + 12, 0x100);
	memcpy(image + fde + 17, instructions, size);
}

static bool step(uint64_t offset, struct gt_unwind_effect *effect)
{
	return gt_cfi_step(&module, (uint64_t)image + FUNCTION + offset, effect);
}

/* push rbp; mov rsp, rbp; ... leave; a cold part that returns to the state before. */
static const uint8_t with_frame[] = {0x41, 0x0e, 16,   0x86, 2, 0x43, 0x0d, 6,
				     0x02, 0x40, 0x0a, 0x0c, 7, 8,    0x41, 0x0b};

Test(unwind_cfi, the_row_of_each_address_is_found)
{
	static const struct {
		uint64_t at, cfa, fp_at;
	} rows[] = {{0x00, GT_SYMBOL_SP + 8, 0},
		    {0x01, GT_SYMBOL_SP + 16, GT_SYMBOL_SP},
		    {0x04, GT_SYMBOL_FP + 16, GT_SYMBOL_FP},
		    {0x43, GT_SYMBOL_FP + 16, GT_SYMBOL_FP},
		    {0x44, GT_SYMBOL_SP + 8, 0}, /* popped: its place is below the stack */
		    {0x45, GT_SYMBOL_FP + 16, GT_SYMBOL_FP},
		    {0xff, GT_SYMBOL_FP + 16, GT_SYMBOL_FP}};
	struct gt_unwind_effect effect;

	make_module(with_frame, sizeof(with_frame));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert(step(rows[i].at, &effect));
		cr_assert_eq(effect.cfa, rows[i].cfa);
		cr_assert_eq(effect.fp_at, rows[i].fp_at);
		cr_assert_eq(effect.ra_at, effect.cfa - 8);
		cr_assert_eq(effect.function, (uint64_t)image + FUNCTION);
		cr_assert_not(effect.is_end);
	}
	cr_assert_not(step(0x100, &effect));
	cr_assert_not(step((uint64_t)-1, &effect));
}

Test(unwind_cfi, the_outermost_frame_has_no_return_address)
{
	static const uint8_t outermost[] = {0x07, 16};
	struct gt_unwind_effect effect;

	make_module(outermost, sizeof(outermost));
	cr_assert(step(0, &effect));
	cr_assert(effect.is_end);
}

/* A function that aligned its stack: CFA = *(rbp - 8), the frame pointer lies at rbp. */
Test(unwind_cfi, a_frame_may_be_found_through_the_stack)
{
	static const uint8_t aligned[] = {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0};
	struct gt_unwind_effect effect;

	make_module(aligned, sizeof(aligned));
	cr_assert(step(0, &effect));
	cr_assert_eq(effect.cfa_from, GT_SYMBOL_FP - 8);
	cr_assert_eq(effect.cfa_add, 0);
	cr_assert_eq(effect.ra_at, effect.cfa - 8);
	cr_assert_eq(effect.fp_at, GT_SYMBOL_FP);
}

/* In the linkage table the frame grows with the address (System V ABI): rsp + 8 + (rip % 16 >= 11)
 * * 8 */
Test(unwind_cfi, a_frame_may_depend_on_the_address)
{
	static const uint8_t linkage[] = {0x0f, 11,   0x77, 8,    0x80, 0,   0x3f,
					  0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	struct gt_unwind_effect effect;

	make_module(linkage, sizeof(linkage));
	cr_assert(step(10, &effect));
	cr_assert_eq(effect.cfa, GT_SYMBOL_SP + 8);
	cr_assert(step(11, &effect));
	cr_assert_eq(effect.cfa, GT_SYMBOL_SP + 16);
}

Test(unwind_cfi, what_no_rule_can_express_is_refused)
{
	static const uint8_t in_register[] = {0x09, 6, 3}, /* rbp is in rbx */
		value[] = {0x14, 6, 1},                    /* rbp is CFA - 8 */
		recall[] = {0x0b},                         /* nothing was remembered */
		unknown[] = {0x3e}, sum[] = {0x0f, 5, 0x77, 0, 0x76, 0, 0x22}, /* rsp + rbp */
		empty[] = {0x0f, 1, 0x13},                                     /* drop of nothing */
		cut[] = {0x0f, 9, 0x77, 0}; /* longer than the entry */
	static const struct {
		const uint8_t *bytes;
		size_t size;
	} refused[] = {{in_register, sizeof(in_register)},
		       {value, sizeof(value)},
		       {recall, sizeof(recall)},
		       {unknown, sizeof(unknown)},
		       {sum, sizeof(sum)},
		       {empty, sizeof(empty)},
		       {cut, sizeof(cut)}};
	struct gt_unwind_effect effect;

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		make_module(refused[i].bytes, refused[i].size);
		cr_assert_not(step(0, &effect), "number %zu", i);
	}
}

/* Every byte of the section in turn, and at random: nothing is read outside of the page. */
Test(unwind_cfi, a_damaged_section_harms_nobody)
{
	struct gt_unwind_effect effect;
	uint64_t random = 41;
	unsigned int found = 0;

	for (int round = 0; round < 20000; round++) {
		make_module(with_frame, sizeof(with_frame));
		for (int i = 0; i <= round % 4; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			image[random >> 33 & 0x7f] = (uint8_t)(random >> 56);
		}
		found += step(random >> 20 & 0xff, &effect);
		munmap(image, PAGE);
	}
	cr_assert_gt(found, 1000);
	cr_assert_lt(found, 20000);
}

/* The tables of this process: nearly every address of its code has a rule. */
struct tally {
	unsigned long known, all;
};

static int count_known(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct gt_unwind_module here = {0};
	struct tally *tally = arg;
	uint64_t start = 0, end = 0;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t address = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_GNU_EH_FRAME)
			here.eh_frame_hdr = address;
		if (phdr->p_type != PT_LOAD || here.segments == GT_UNWIND_SEGMENTS)
			continue;
		here.segment[here.segments++] = (struct gt_unwind_segment){
			address & ~4095ul, (address + phdr->p_filesz + 4095) & ~4095ul};
		if (phdr->p_flags & PF_X) {
			start = address;
			end = address + phdr->p_filesz;
		}
	}
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	for (uint64_t ip = start; ip < end; ip += 61) {
		struct gt_unwind_effect effect;

		tally->all++;
		tally->known += gt_cfi_step(&here, ip, &effect);
	}
	return 0;
}

Test(unwind_cfi, the_c_library_is_known)
{
	struct tally tally = {0};

	dl_iterate_phdr(count_known, &tally);
	cr_assert_gt(tally.all, 1000);
	cr_assert_gt(tally.known * 100, tally.all * 95, "%lu of %lu", tally.known, tally.all);
}
