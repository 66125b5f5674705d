/* SPDX-License-Identifier: Apache-2.0
 *
 * First sight of an address, see the header. A module with code on the caller's stack cannot be
 * unloaded meanwhile, so its tables are read without the loader's lock.
 */
#include "collectors/unwind/learn.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "collectors/unwind/arch.h"
#include "collectors/unwind/cfi.h"
#include "collectors/unwind/rules.h"
#include "collectors/unwind/unwind.h"
#include "core/guest/forkgate.h"
#include "core/guest/peek.h"

static struct {
	_Atomic uint64_t rules, guessed, jit, refused;
} learn;

struct learn_search {
	uint64_t pc;
	struct gt_unwind_module *module;
};

static bool holds_code_at(const struct dl_phdr_info *info, uint64_t pc)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_X) &&
		    pc - (info->dlpi_addr + phdr->p_vaddr) < phdr->p_memsz)
			return true;
	}
	return false;
}

static void add_segment(struct gt_unwind_module *module, uint64_t start, uint64_t size)
{
	const uint64_t page = 4096;

	if (module->segments == GT_UNWIND_SEGMENTS)
		return;
	module->segment[module->segments++] = (struct gt_unwind_segment){
		.start = start & ~(page - 1), .end = (start + size + page - 1) & ~(page - 1)};
}

static int search_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct learn_search *search = arg;

	if (!holds_code_at(info, search->pc))
		return 0;
	*search->module = (struct gt_unwind_module){.may_go = search->module->may_go};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_LOAD && (phdr->p_flags & PF_R))
			add_segment(search->module, start, phdr->p_filesz);
		else if (phdr->p_type == PT_GNU_EH_FRAME)
			search->module->eh_frame_hdr = start;
	}
	return 1;
}

const uint8_t *gt_unwind_module_view(const struct gt_unwind_module *module, uint64_t address,
				     uint64_t size, uint8_t *copy, size_t copy_size)
{
	for (uint32_t i = 0; i < module->segments; i++) {
		const struct gt_unwind_segment *segment = &module->segment[i];

		if (address < segment->start || address >= segment->end ||
		    segment->end - address < size)
			continue;
		if (!module->may_go)
			return (const uint8_t *)address;
		return size <= copy_size && gt_peek_copy(copy, address, size) == size ? copy : NULL;
	}
	return NULL;
}

bool gt_unwind_module_read(const struct gt_unwind_module *module, uint64_t address,
			   uint64_t *ret_word)
{
	uint8_t copy[sizeof(*ret_word)];
	const uint8_t *bytes =
		gt_unwind_module_view(module, address, sizeof(*ret_word), copy, sizeof(copy));

	if (bytes)
		memcpy(ret_word, bytes, sizeof(*ret_word));
	return bytes != NULL;
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Reads the bytes before @pc; unreadable ones are zero. */
static bool read_before(uint64_t pc, uint8_t bytes[GT_UNWIND_CALL_BYTES])
{
	uint64_t in_page = pc % 4096;
	uint64_t size = GT_UNWIND_CALL_BYTES;

	memset(bytes, 0, size);
	if (gt_peek_copy(bytes, pc - size, size) == size)
		return true;
	if (in_page == 0 || in_page >= size) /* code may begin at its page */
		return false;
	return gt_peek_copy(bytes + size - in_page, pc - in_page, in_page) == in_page;
}

/* Outside all modules: JIT code if a call instruction precedes it. */
static uint64_t learn_jit(uint64_t pc)
{
	uint8_t bytes[GT_UNWIND_CALL_BYTES];

	if (!read_before(pc, bytes) || !gt_unwind_follows_call(bytes)) {
		count(&learn.refused);
		return gt_unwind_rule_refused;
	}
	count(&learn.jit);
	return gt_unwind_rule_guess;
}

static uint64_t learn_code(const struct gt_unwind_module *module, uint64_t pc)
{
	uint64_t rule = gt_unwind_derive(module, pc);

	if (rule)
		return rule;
	count(&learn.guessed);
	return gt_unwind_rule_guess;
}

static uint64_t learn_in(struct gt_unwind_module module, uint64_t pc)
{
	struct learn_search search = {.pc = pc - 1, .module = &module};
	uint64_t rule;

	if (dl_iterate_phdr(search_module, &search))
		rule = learn_code(&module, pc);
	else
		rule = learn_jit(pc);
	count(&learn.rules);
	gt_rules_put(pc, rule);
	return rule;
}

uint64_t gt_unwind_learn(uint64_t pc)
{
	uint64_t rule;

	gt_forkgate_lock(); /* the search takes loader locks */
	rule = learn_in((struct gt_unwind_module){0}, pc);
	gt_forkgate_unlock();
	return rule;
}

uint64_t gt_unwind_learn_elsewhere(uint64_t pc)
{
	return learn_in((struct gt_unwind_module){.may_go = true}, pc);
}

bool gt_unwind_find_function(uint64_t pc, uint64_t *ret_start)
{
	struct gt_unwind_module module = {.may_go = true};
	struct learn_search search = {.pc = pc - 1, .module = &module};
	struct gt_unwind_effect effect;

	if (!dl_iterate_phdr(search_module, &search) || !gt_cfi_step(&module, pc - 1, &effect))
		return false;
	*ret_start = effect.function;
	return effect.function != 0;
}

enum gt_unwind_return gt_unwind_is_return(uint64_t pc, uint64_t function)
{
	uint8_t bytes[GT_UNWIND_CALL_BYTES];
	uint64_t target;

	if (pc < 4096 || !read_before(pc, bytes) || !gt_unwind_follows_call(bytes))
		return GT_UNWIND_NO_RETURN;
	return function && gt_unwind_call_target(bytes, pc, &target) && target == function
		       ? GT_UNWIND_RETURN_FROM_IT
		       : GT_UNWIND_RETURN;
}

void gt_unwind_learn_counts(struct gt_unwind_counts *counts)
{
	counts->rules = atomic_load_explicit(&learn.rules, memory_order_relaxed);
	counts->guessed = atomic_load_explicit(&learn.guessed, memory_order_relaxed);
	counts->jit = atomic_load_explicit(&learn.jit, memory_order_relaxed);
	counts->refused = atomic_load_explicit(&learn.refused, memory_order_relaxed);
}
