/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the table of frame rules, see the header. Any thread; no lock, no allocation.
 */
#include "collectors/unwind/rules.h"

#include <stddef.h>

struct gt_rules_line gt_rules_table[1 << GT_RULES_LINE_BITS];
_Atomic uint32_t gt_rules_generation;

/* Tag first: with the old rule it matches no address, and rule 0 is a miss anyway. */
static void entry_set(struct gt_rules_entry *entry, uint64_t pc, uint64_t rule)
{
	atomic_store_explicit(&entry->tag, pc ^ rule, memory_order_relaxed);
	atomic_store_explicit(&entry->rule, rule, memory_order_release);
}

static uint64_t entry_pc(const struct gt_rules_entry *entry)
{
	uint64_t rule = atomic_load_explicit(&entry->rule, memory_order_relaxed);

	return rule ? atomic_load_explicit(&entry->tag, memory_order_relaxed) ^ rule : 0;
}

static struct gt_rules_line *neighbour_of(struct gt_rules_line *line)
{
	return &gt_rules_table[(size_t)(line - gt_rules_table) ^ 1];
}

uint64_t gt_rules_find_far(uint64_t pc)
{
	struct gt_rules_line *line = gt_rules_line_of(pc);
	uint64_t rule = gt_rules_find_in(line, pc);

	return rule ? rule : gt_rules_find_in(neighbour_of(line), pc);
}

/* The entry of @pc, or a free one. NULL: the line is full. */
static struct gt_rules_entry *find_place(struct gt_rules_line *line, uint64_t pc)
{
	struct gt_rules_entry *free = NULL;

	for (int i = 0; i < GT_RULES_WAYS; i++) {
		uint64_t there = entry_pc(&line->way[i]);

		if (there == pc)
			return &line->way[i];
		if (there == 0 && !free)
			free = &line->way[i];
	}
	return free;
}

void gt_rules_put(uint64_t pc, uint64_t rule)
{
	struct gt_rules_line *line = gt_rules_line_of(pc);
	struct gt_rules_entry *place = find_place(line, pc);

	if (!place)
		place = find_place(neighbour_of(line), pc);
	if (!place)
		place = &line->way[(pc >> GT_RULES_LINE_BITS) % GT_RULES_WAYS];
	entry_set(place, pc, rule);
}

static void entry_clear(struct gt_rules_entry *entry)
{
	atomic_store_explicit(&entry->rule, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->tag, 0, memory_order_release);
}

void gt_rules_forget(uint64_t start, uint64_t end)
{
	for (uint32_t i = 0; i < 1u << GT_RULES_LINE_BITS; i++) {
		for (int way = 0; way < GT_RULES_WAYS; way++) {
			struct gt_rules_entry *entry = &gt_rules_table[i].way[way];
			uint64_t pc = entry_pc(entry);

			if (pc > start && pc <= end) /* the instruction is at pc - 1 */
				entry_clear(entry);
		}
	}
	atomic_fetch_add_explicit(&gt_rules_generation, 1, memory_order_release);
}
