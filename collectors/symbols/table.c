/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding, reading and sorting symbol tables, see the header. Drain thread only.
 */
#include "collectors/symbols/table.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "core/guest/memory.h"
#include "core/guest/text.h"

#define INDEX_BITS   28
#define ADDRESS_BITS 36
#define DIGIT_BITS   12
#define DEBUG_ROOT   "/usr/lib/debug"

/* How many earlier functions may be checked for an address: functions can be inside others. */
#define NESTING      16

static bool has_build_id(const struct gt_elf_image *elf, const struct gt_module *module)
{
	uint8_t id[GT_BUILD_ID_MAX];
	uint32_t size = gt_elf_image_build_id(elf, id);

	return size == module->build_id_size && memcmp(id, module->build_id, size) == 0;
}

/* Opens @path if it is the file that was loaded. */
static bool open_same(struct gt_elf_image *elf, const char *path, const struct gt_module *module)
{
	if (gt_elf_image_open(elf, path) < 0)
		return false;
	if (has_build_id(elf, module))
		return true;
	gt_elf_image_close(elf);
	return false;
}

static bool open_module(struct gt_elf_image *elf, const struct gt_module *module)
{
	if (module->is_vdso) /* its section headers follow its segment, in the last page */
		return gt_elf_image_init(elf, (const void *)module->start,
					 ((module->end + 4095) & ~(uint64_t)4095) -
						 module->start) == 0;
	if (module->is_main) /* also when the file has been deleted or replaced */
		return open_same(elf, "/proc/self/exe", module);
	return open_same(elf, module->path->text, module);
}

static void write_hex(char *out, const uint8_t *bytes, uint32_t count)
{
	static const char digits[] = "0123456789abcdef";

	for (uint32_t i = 0; i < count; i++) {
		out[2 * i] = digits[bytes[i] >> 4];
		out[2 * i + 1] = digits[bytes[i] & 15];
	}
	out[2 * count] = 0;
}

static bool open_debug_by_id(struct gt_elf_image *elf, const struct gt_module *module)
{
	char hex[2 * GT_BUILD_ID_MAX + 1];
	char path[PATH_MAX];

	if (module->build_id_size < 2)
		return false;
	write_hex(hex, module->build_id, module->build_id_size);
	gt_text_format(path, sizeof(path), DEBUG_ROOT "/.build-id/%c%c/%s.debug", hex[0], hex[1],
		       hex + 2);
	return open_same(elf, path, module);
}

/* Where gdb searches: next to the file, in .debug, under the root of debug files. */
static bool open_debug_by_link(struct gt_elf_image *elf, const struct gt_elf_image *stripped,
			       const struct gt_module *module)
{
	const Elf64_Shdr *section = gt_elf_image_find_name(stripped, ".gnu_debuglink");
	const char *name = section ? gt_elf_image_string(stripped, section, 0) : NULL;
	const char *slash = strrchr(module->path->text, '/');
	char folder[PATH_MAX], path[PATH_MAX];

	if (!name || !slash || strchr(name, '/') || module->build_id_size == 0 ||
	    (size_t)(slash - module->path->text) >= sizeof(folder))
		return false;
	memcpy(folder, module->path->text, (size_t)(slash - module->path->text));
	folder[slash - module->path->text] = 0;
	gt_text_format(path, sizeof(path), "%s/%s", folder, name);
	if (strcmp(path, module->path->text) != 0 && open_same(elf, path, module))
		return true;
	gt_text_format(path, sizeof(path), "%s/.debug/%s", folder, name);
	if (open_same(elf, path, module))
		return true;
	gt_text_format(path, sizeof(path), DEBUG_ROOT "%s/%s", folder, name);
	return open_same(elf, path, module);
}

static bool open_debug(struct gt_elf_image *elf, const struct gt_elf_image *stripped,
		       const struct gt_module *module)
{
	if (!open_debug_by_id(elf, module) && !open_debug_by_link(elf, stripped, module))
		return false;
	if (gt_elf_image_find_type(elf, SHT_SYMTAB))
		return true;
	gt_elf_image_close(elf);
	return false;
}

/* Leaves the image with the best symbol table in @table->elf and selects that table. */
static int find_symbols(struct gt_symbol_table *table, const struct gt_module *module)
{
	struct gt_elf_image *elf = &table->elf;
	struct gt_elf_image debug;

	if (!open_module(elf, module))
		return -ENOENT;
	table->symbols = gt_elf_image_find_type(elf, SHT_SYMTAB);
	if (!table->symbols && !module->is_vdso && open_debug(&debug, elf, module)) {
		gt_elf_image_close(elf);
		*elf = debug;
		table->symbols = gt_elf_image_find_type(elf, SHT_SYMTAB);
	}
	if (!table->symbols)
		table->symbols = gt_elf_image_find_type(elf, SHT_DYNSYM);
	if (!table->symbols || table->symbols->sh_entsize != sizeof(Elf64_Sym))
		return -ENOENT;
	table->strings = gt_elf_image_find_strings(elf, table->symbols);
	return table->strings ? 0 : -ENOENT;
}

/* A symbol of no function if it cannot be read again. */
static const Elf64_Sym *symbol_at(const struct gt_symbol_table *table, uint32_t index)
{
	static const Elf64_Sym none;
	const Elf64_Sym *symbol =
		gt_elf_image_bytes(&table->elf, table->symbols, index * sizeof(none), sizeof(none));

	return symbol ? symbol : &none;
}

/* Named code. Symbols of assembly have no type. */
static bool is_function(const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC ||
		(type == STT_NOTYPE && symbol->st_name)) &&
	       symbol->st_shndx != SHN_UNDEF && symbol->st_shndx < SHN_LORESERVE &&
	       symbol->st_value && symbol->st_value < (uint64_t)1 << ADDRESS_BITS;
}

static uint32_t count_functions(const struct gt_symbol_table *table, uint32_t symbols)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < symbols; i++)
		count += is_function(symbol_at(table, i));
	return count;
}

static void sort_by_digit(const uint64_t *from, uint64_t *to, uint32_t count, unsigned int shift)
{
	uint32_t place[1 << DIGIT_BITS] = {0};
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		place[from[i] >> shift & ((1 << DIGIT_BITS) - 1)]++;
	for (uint32_t i = 0; i < 1 << DIGIT_BITS; i++) {
		uint32_t n = place[i];

		place[i] = sum;
		sum += n;
	}
	for (uint32_t i = 0; i < count; i++)
		to[place[from[i] >> shift & ((1 << DIGIT_BITS) - 1)]++] = from[i];
}

/* By address, in linear time: some libraries have a million functions. */
static bool sort(struct gt_symbol_table *table)
{
	uint64_t *other = gt_memory_map(table->bytes);

	if (!other)
		return false;
	sort_by_digit(table->sorted, other, table->count, INDEX_BITS);
	sort_by_digit(other, table->sorted, table->count, INDEX_BITS + DIGIT_BITS);
	sort_by_digit(table->sorted, other, table->count, INDEX_BITS + 2 * DIGIT_BITS);
	gt_memory_unmap(table->sorted, table->bytes);
	table->sorted = other;
	return true;
}

uint32_t gt_symbol_table_symbol(const struct gt_symbol_table *table, uint32_t place)
{
	return (uint32_t)table->sorted[place] & ((1u << INDEX_BITS) - 1);
}

const char *gt_symbol_table_name(const struct gt_symbol_table *table, uint32_t symbol)
{
	return gt_elf_image_string(&table->elf, table->strings, symbol_at(table, symbol)->st_name);
}

size_t gt_symbol_table_memory(const struct gt_symbol_table *table)
{
	return table->bytes + table->elf.loaded;
}

static int collect(struct gt_symbol_table *table, size_t max_bytes)
{
	uint64_t symbols = table->symbols->sh_size / sizeof(Elf64_Sym);
	uint32_t at = 0;

	if (symbols >= 1u << INDEX_BITS)
		return -ENOMEM;
	table->count = count_functions(table, (uint32_t)symbols);
	table->bytes = table->count * sizeof(*table->sorted);
	if (table->count == 0)
		return -ENOENT;
	if (gt_symbol_table_memory(table) > max_bytes)
		return -ENOMEM;
	table->sorted = gt_memory_map(table->bytes);
	if (!table->sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < symbols; i++) {
		const Elf64_Sym *symbol = symbol_at(table, i);

		if (is_function(symbol))
			table->sorted[at++] = symbol->st_value << INDEX_BITS | i;
	}
	return sort(table) ? 0 : -ENOMEM;
}

int gt_symbol_table_open(struct gt_symbol_table *table, const struct gt_module *module,
			 size_t max_bytes)
{
	int error;

	*table = (struct gt_symbol_table){0};
	error = find_symbols(table, module);
	if (!error)
		error = collect(table, max_bytes);
	if (error)
		gt_symbol_table_close(table);
	return error;
}

void gt_symbol_table_thin(struct gt_symbol_table *table)
{
	gt_elf_image_thin(&table->elf, table->symbols);
	gt_elf_image_thin(&table->elf, table->strings);
}

void gt_symbol_table_close(struct gt_symbol_table *table)
{
	gt_memory_unmap(table->sorted, table->bytes);
	gt_elf_image_close(&table->elf);
	*table = (struct gt_symbol_table){0};
}

/* The first place in the sorted table after @address. */
static uint32_t find_after(const struct gt_symbol_table *table, uint64_t address)
{
	uint32_t low = 0, high = table->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (table->sorted[middle] >> INDEX_BITS <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A symbol without a size reaches to the next one. */
static bool reaches(const Elf64_Sym *symbol, uint64_t address, bool is_nearest)
{
	return symbol->st_size ? address - symbol->st_value < symbol->st_size : is_nearest;
}

/* Of several names for one address prefers what a user would search for: a public name before a
 * local alias, malloc before __libc_malloc. */
static int rank(const struct gt_symbol_table *table, uint32_t index)
{
	const Elf64_Sym *symbol = symbol_at(table, index);
	const char *name = gt_symbol_table_name(table, index);
	int rank = 0;

	if (!name || !name[0])
		return -1;
	rank += ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL ? 8 : 0;
	rank += ELF64_ST_BIND(symbol->st_info) == STB_WEAK ? 6 : 0;
	rank += ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE ? 16 : 0;
	if (name[0] == '_' && name[1] == '_')
		rank -= 4;
	return rank;
}

const char *gt_symbol_table_find(const struct gt_symbol_table *table, uint64_t address)
{
	uint32_t after = find_after(table, address);
	uint64_t nearest = after ? table->sorted[after - 1] >> INDEX_BITS : 0;
	uint64_t chosen = 0;
	const char *name = NULL;
	int best = -1;

	for (uint32_t i = 0; i < NESTING && i < after; i++) {
		uint64_t place = table->sorted[after - 1 - i] >> INDEX_BITS;
		uint32_t index = gt_symbol_table_symbol(table, after - 1 - i);

		if (name && place != chosen)
			break;
		if (!reaches(symbol_at(table, index), address, place == nearest) ||
		    rank(table, index) <= best)
			continue;
		chosen = place;
		best = rank(table, index);
		name = gt_symbol_table_name(table, index);
	}
	return name;
}
