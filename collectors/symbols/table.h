/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of one ELF image, sorted by address. Drain thread only.
 */
#ifndef GT_COLLECTORS_SYMBOLS_TABLE_H
#define GT_COLLECTORS_SYMBOLS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/symbols/elf_image.h"
#include "collectors/symbols/modules.h"

/* The functions of one module, sorted by address. */
struct gt_symbol_table {
	struct gt_elf_image elf; /* holds symbols and strings */
	const Elf64_Shdr *symbols, *strings;
	uint64_t *sorted; /* address << 28 | index into the symbols */
	uint32_t count;
	size_t bytes; /* of sorted */
};

/*
 * Fills @table from the file of @module, from its debug file if that has more, or, for the vDSO,
 * from memory. A file with another build-id is not used. -ENOENT: no symbols; -ENOMEM: over
 * @max_bytes.
 */
int gt_symbol_table_open(struct gt_symbol_table *table, const struct gt_module *module,
			 size_t max_bytes);

/* Gives back the memory of symbols and names but for those that are asked for from now on. What was
 * returned before is no longer valid. */
void gt_symbol_table_thin(struct gt_symbol_table *table);

/* Bytes used by the table. */
size_t gt_symbol_table_memory(const struct gt_symbol_table *table);

/* A zeroed struct is fine. */
void gt_symbol_table_close(struct gt_symbol_table *table);

/* The symbol at @place of the sorted functions, and the name of a symbol (NULL: damaged). */
uint32_t gt_symbol_table_symbol(const struct gt_symbol_table *table, uint32_t place);
const char *gt_symbol_table_name(const struct gt_symbol_table *table, uint32_t symbol);

/* The name of the function around @address, as in the symbol table. NULL: none. */
const char *gt_symbol_table_find(const struct gt_symbol_table *table, uint64_t address);

#endif
