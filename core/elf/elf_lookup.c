/* SPDX-License-Identifier: Apache-2.0
 *
 * Symbol look-up in mapped ELF objects: DT_GNU_HASH or DT_HASH, DT_VERSYM with DT_VERDEF. No number
 * in the object is trusted: room() returns how much may be read from an address.
 */
#include "core/elf/elf_lookup.h"

#include <errno.h>
#include <string.h>

#ifndef DT_GNU_HASH
#define DT_GNU_HASH 0x6ffffef5
#endif

#define VERSION_HIDDEN 0x8000u
#define VERSION_INDEX  0x7fffu
#define BITS_PER_WORD  (8 * sizeof(ElfW(Addr)))

size_t gt_elf_room(uintptr_t bias, const ElfW(Phdr) *segments, size_t count, uintptr_t address)
{
	for (size_t i = 0; i < count; i++) {
		const ElfW(Phdr) *segment = &segments[i];
		uintptr_t start = bias + segment->p_vaddr;

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_R) && address >= start &&
		    address - start < segment->p_memsz)
			return segment->p_memsz - (address - start);
	}
	return 0;
}

static size_t room(const struct gt_elf *elf, uintptr_t address)
{
	return gt_elf_room(elf->bias, elf->segments, elf->segment_count, address);
}

/* ld.so of glibc relocates the addresses of the dynamic section in place, others do not. */
static uintptr_t dynamic_address(const struct gt_elf *elf, ElfW(Addr) value)
{
	return value >= elf->start && value < elf->end ? value : elf->bias + value;
}

/* A table of the dynamic section; *ret_room: how many units of @unit bytes are readable. */
static const void *table(const struct gt_elf *elf, ElfW(Addr) value, size_t unit, size_t *ret_room)
{
	uintptr_t address = dynamic_address(elf, value);

	*ret_room = address % (unit < 8 ? unit : 8) ? 0 : room(elf, address) / unit;
	return (const void *)address;
}

bool gt_elf_contains(const struct gt_elf *elf, uintptr_t address)
{
	if (address < elf->start || address >= elf->end)
		return false;
	for (size_t i = 0; i < elf->segment_count; i++) {
		const ElfW(Phdr) *segment = &elf->segments[i];

		if (segment->p_type == PT_LOAD &&
		    address - (elf->bias + segment->p_vaddr) < segment->p_memsz)
			return true;
	}
	return false;
}

/* A zero-terminated string of the string table; NULL: it would run past the table. */
static const char *string_at(const struct gt_elf *elf, size_t offset)
{
	if (offset >= elf->string_room ||
	    !memchr(elf->strings + offset, '\0', elf->string_room - offset))
		return NULL;
	return elf->strings + offset;
}

static bool string_is(const struct gt_elf *elf, size_t offset, const char *text, size_t length)
{
	return offset < elf->string_room && elf->string_room - offset > length &&
	       !memcmp(elf->strings + offset, text, length + 1);
}

static void read_entry(struct gt_elf *elf, const ElfW(Dyn) *entry, size_t *ret_string_size)
{
	ElfW(Addr) value = entry->d_un.d_ptr;

	switch (entry->d_tag) {
	case DT_STRTAB:
		elf->strings = table(elf, value, 1, &elf->string_room);
		break;
	case DT_STRSZ:
		*ret_string_size = entry->d_un.d_val;
		break;
	case DT_SYMTAB:
		elf->symbols = table(elf, value, sizeof(ElfW(Sym)), &elf->symbol_room);
		break;
	case DT_GNU_HASH:
		elf->gnu_hash = table(elf, value, sizeof(uint32_t), &elf->gnu_hash_room);
		break;
	case DT_HASH:
		elf->sysv_hash = table(elf, value, sizeof(uint32_t), &elf->sysv_hash_room);
		break;
	case DT_VERSYM:
		elf->versions = table(elf, value, sizeof(ElfW(Half)), &elf->version_room);
		break;
	case DT_VERDEF:
		elf->definitions = table(elf, value, 1, &elf->definition_room);
		break;
	case DT_VERNEED:
		elf->needs = table(elf, value, 1, &elf->need_room);
		break;
	}
}

static void find_extent(struct gt_elf *elf)
{
	elf->start = UINTPTR_MAX;
	for (size_t i = 0; i < elf->segment_count; i++) {
		const ElfW(Phdr) *segment = &elf->segments[i];
		uintptr_t start = elf->bias + segment->p_vaddr;

		if (segment->p_type == PT_DYNAMIC) {
			elf->dynamic = (const void *)start;
			elf->dynamic_count = segment->p_memsz / sizeof(ElfW(Dyn));
		} else if (segment->p_type == PT_LOAD) {
			elf->start = start < elf->start ? start : elf->start;
			if (start + segment->p_memsz > elf->end)
				elf->end = start + segment->p_memsz;
		}
	}
}

int gt_elf_open(uintptr_t bias, const ElfW(Phdr) *segments, size_t count, struct gt_elf *ret_elf)
{
	struct gt_elf elf = {.bias = bias, .segments = segments, .segment_count = count};
	size_t string_size = 0;
	size_t soname = 0;

	find_extent(&elf);
	if (!elf.dynamic || (uintptr_t)elf.dynamic % sizeof(ElfW(Addr)) ||
	    room(&elf, (uintptr_t)elf.dynamic) < elf.dynamic_count * sizeof(ElfW(Dyn)))
		return -EINVAL;
	for (size_t i = 0; i < elf.dynamic_count && elf.dynamic[i].d_tag != DT_NULL; i++) {
		read_entry(&elf, &elf.dynamic[i], &string_size);
		if (elf.dynamic[i].d_tag == DT_SONAME)
			soname = elf.dynamic[i].d_un.d_val;
	}
	if (string_size < elf.string_room)
		elf.string_room = string_size;
	if (!elf.string_room || !elf.symbol_room)
		return -EINVAL;
	elf.soname = soname ? string_at(&elf, soname) : "";
	if (!elf.soname)
		elf.soname = "";
	*ret_elf = elf;
	return 0;
}

const char *gt_elf_needed(const struct gt_elf *elf, size_t index)
{
	for (size_t i = 0; i < elf->dynamic_count && elf->dynamic[i].d_tag != DT_NULL; i++) {
		if (elf->dynamic[i].d_tag == DT_NEEDED && index-- == 0)
			return string_at(elf, elf->dynamic[i].d_un.d_val);
	}
	return NULL;
}

/* The record @offset bytes into a version table; NULL: outside or misaligned. */
static const void *record(const char *base, size_t space, size_t offset, size_t size)
{
	if (offset > space || space - offset < size || ((uintptr_t)base + offset) % 4)
		return NULL;
	return base + offset;
}

/* Name of the version definition with @index, as offset into the strings; with @index 0, index of
 * the definition called @name. -ENOENT: none. */
static int find_definition(const struct gt_elf *elf, unsigned int index, const char *name,
			   size_t *ret_name)
{
	size_t offset = 0;
	const ElfW(Verdef) *def;

	while ((def = record(elf->definitions, elf->definition_room, offset, sizeof(*def)))) {
		const ElfW(Verdaux) *aux = record(elf->definitions, elf->definition_room,
						  offset + def->vd_aux, sizeof(*aux));

		if (aux && !(def->vd_flags & VER_FLG_BASE) &&
		    (index ? (def->vd_ndx & VERSION_INDEX) == index
			   : string_is(elf, aux->vda_name, name, strlen(name)))) {
			*ret_name = aux->vda_name;
			return 0;
		}
		if (!def->vd_next)
			break;
		offset += def->vd_next;
	}
	return -ENOENT;
}

bool gt_elf_defines_version(const struct gt_elf *elf, const char *version)
{
	size_t name;

	return !find_definition(elf, 0, version, &name);
}

/* Steps through the versions needed, file by file: @offset and @at are 0 before the first. */
struct need_cursor {
	size_t offset; /* of the library's record */
	size_t at;     /* of the next version's record, 0: the library's first */
	size_t left;   /* versions of the library after that */
};

static const ElfW(Vernaux) *next_need(const struct gt_elf *elf, struct need_cursor *cursor)
{
	const ElfW(Verneed) *need;
	const ElfW(Vernaux) *aux;

	while ((need = record(elf->needs, elf->need_room, cursor->offset, sizeof(*need)))) {
		if (!cursor->at) {
			cursor->at = cursor->offset + need->vn_aux;
			cursor->left = need->vn_cnt;
		}
		aux = cursor->left ? record(elf->needs, elf->need_room, cursor->at, sizeof(*aux))
				   : NULL;
		if (aux) {
			cursor->at += aux->vna_next;
			cursor->left = aux->vna_next ? cursor->left - 1 : 0;
			return aux;
		}
		if (!need->vn_next)
			return NULL;
		cursor->offset += need->vn_next;
		cursor->at = 0;
	}
	return NULL;
}

const char *gt_elf_version_needed(const struct gt_elf *elf, const char *prefix, size_t index)
{
	struct need_cursor cursor = {0};
	const ElfW(Vernaux) *aux;

	while ((aux = next_need(elf, &cursor))) {
		const char *name = string_at(elf, aux->vna_name);

		if (name && !strncmp(name, prefix, strlen(prefix)) && index-- == 0)
			return name;
	}
	return NULL;
}

const char *gt_elf_reference_version(const struct gt_elf *elf, const char *name)
{
	struct need_cursor cursor = {0};
	const ElfW(Vernaux) *aux;
	size_t end = elf->symbol_room < elf->version_room ? elf->symbol_room : elf->version_room;
	size_t length = strlen(name);
	size_t symbol;

	for (symbol = 1; symbol < end; symbol++) {
		if (elf->symbols[symbol].st_shndx == SHN_UNDEF &&
		    string_is(elf, elf->symbols[symbol].st_name, name, length))
			break;
	}
	if (symbol >= end)
		return NULL;
	while ((aux = next_need(elf, &cursor))) {
		if ((aux->vna_other & VERSION_INDEX) == (elf->versions[symbol] & VERSION_INDEX))
			return string_at(elf, aux->vna_name);
	}
	return NULL;
}

/* As ld.so: a symbol without version fits any reference, a hidden one only a reference to its
 * version. */
static bool version_fits(const struct gt_elf *elf, size_t symbol, const char *version)
{
	unsigned int entry, index;
	size_t name;

	if (symbol >= elf->version_room)
		return true;
	entry = elf->versions[symbol];
	index = entry & VERSION_INDEX;
	if (index == VER_NDX_LOCAL)
		return false;
	if (!version || index == VER_NDX_GLOBAL)
		return !(entry & VERSION_HIDDEN);
	return !find_definition(elf, index, NULL, &name) &&
	       string_is(elf, name, version, strlen(version));
}

struct symbol_wanted {
	const char *name, *version;
	size_t length;
	bool is_indirect_too;
};

static unsigned int type_of(const struct gt_elf *elf, size_t index)
{
	return ELF64_ST_TYPE(elf->symbols[index].st_info);
}

static bool is_wanted(const struct gt_elf *elf, size_t index, const struct symbol_wanted *wanted)
{
	const ElfW(Sym) *symbol = &elf->symbols[index];
	unsigned int type = type_of(elf, index);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_value && type != STT_TLS &&
	       (type != STT_GNU_IFUNC || wanted->is_indirect_too) &&
	       string_is(elf, symbol->st_name, wanted->name, wanted->length) &&
	       version_fits(elf, index, wanted->version);
}

static uint32_t gnu_hash_of(const char *name)
{
	uint32_t h = 5381;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++)
		h = h * 33 + *p;
	return h;
}

static uint32_t sysv_hash_of(const char *name)
{
	uint32_t h = 0;

	for (const unsigned char *p = (const unsigned char *)name; *p; p++) {
		h = (h << 4) + *p;
		h = (h ^ ((h & 0xf0000000u) >> 24)) & 0x0fffffffu;
	}
	return h;
}

/* Table: buckets, first hashed symbol, bloom words, shift; bloom[]; bucket[]; chain[]. */
static size_t find_gnu(const struct gt_elf *elf, const struct symbol_wanted *wanted)
{
	const uint32_t *head = elf->gnu_hash;
	const size_t per = sizeof(ElfW(Addr)) / sizeof(uint32_t);
	const uint32_t hash = gnu_hash_of(wanted->name);
	size_t bucket, chain, index;
	ElfW(Addr) bloom;

	if (elf->gnu_hash_room < 4 || !head[0] || !head[2])
		return 0;
	bucket = 4 + (size_t)head[2] * per;
	chain = bucket + head[0];
	if (chain >= elf->gnu_hash_room)
		return 0;
	memcpy(&bloom, head + 4 + hash / BITS_PER_WORD % head[2] * per, sizeof(bloom));
	if (!(bloom >> hash % BITS_PER_WORD & bloom >> (hash >> (head[3] % 32)) % BITS_PER_WORD &
	      1))
		return 0;
	index = head[bucket + hash % head[0]];
	if (index < head[1])
		return 0;
	for (; index < elf->symbol_room; index++) {
		uint32_t entry;

		if (chain + (index - head[1]) >= elf->gnu_hash_room)
			return 0;
		entry = head[chain + (index - head[1])];
		if ((entry | 1) == (hash | 1) && is_wanted(elf, index, wanted))
			return index;
		if (entry & 1)
			return 0;
	}
	return 0;
}

/* Table: buckets, chains; bucket[]; chain[]. */
static size_t find_sysv(const struct gt_elf *elf, const struct symbol_wanted *wanted)
{
	const uint32_t *head = elf->sysv_hash;
	size_t index, left;

	if (elf->sysv_hash_room < 2 || !head[0] ||
	    2 + (size_t)head[0] + head[1] > elf->sysv_hash_room)
		return 0;
	left = head[1];
	index = head[2 + sysv_hash_of(wanted->name) % head[0]];
	while (index && index < head[1] && index < elf->symbol_room && left--) {
		if (is_wanted(elf, index, wanted))
			return index;
		index = head[2 + head[0] + index];
	}
	return 0;
}

static size_t find(const struct gt_elf *elf, const struct symbol_wanted *wanted)
{
	return elf->gnu_hash_room ? find_gnu(elf, wanted) : find_sysv(elf, wanted);
}

static uintptr_t address_of(const struct gt_elf *elf, size_t index)
{
	return index ? elf->bias + elf->symbols[index].st_value : 0;
}

uintptr_t gt_elf_find(const struct gt_elf *elf, const char *name, const char *version)
{
	const struct symbol_wanted wanted = {
		.name = name, .version = version, .length = strlen(name)};

	return address_of(elf, find(elf, &wanted));
}

uintptr_t gt_elf_find_any(const struct gt_elf *elf, const char *name, bool *ret_is_indirect)
{
	const struct symbol_wanted wanted = {
		.name = name, .length = strlen(name), .is_indirect_too = true};
	size_t index = find(elf, &wanted);

	*ret_is_indirect = index && type_of(elf, index) == STT_GNU_IFUNC;
	return address_of(elf, index);
}

struct loaded_query {
	const char *soname, *name, *version;
	uintptr_t found;
};

static int search_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct loaded_query *query = context;
	struct gt_elf elf;

	if (gt_elf_open(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, &elf))
		return 0;
	if (query->soname && strcmp(elf.soname, query->soname))
		return 0;
	query->found = gt_elf_find(&elf, query->name, query->version);
	return query->found != 0 || query->soname;
}

uintptr_t gt_elf_find_loaded(const char *soname, const char *name, const char *version)
{
	struct loaded_query query = {.soname = soname, .name = name, .version = version};

	dl_iterate_phdr(search_object, &query);
	return query.found;
}
