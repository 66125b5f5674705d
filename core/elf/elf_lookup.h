/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the dynamic section of an ELF object that is mapped in this process: its dependencies,
 * versions and symbols. For places where dlsym is forbidden (it takes the loader's lock, which
 * another thread may hold for seconds in a library's constructor).
 *
 * Any thread. No lock, no allocation, no system call, except gt_elf_find_loaded. Every read is
 * checked against the object's own readable segments: a damaged table is an object without the
 * symbol. The caller keeps the object mapped, e.g. by reading it inside a dl_iterate_phdr callback.
 */
#ifndef GT_CORE_ELF_ELF_LOOKUP_H
#define GT_CORE_ELF_ELF_LOOKUP_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One mapped object; points into it. Missing tables have room 0. */
struct gt_elf {
	uintptr_t bias;       /* added to every address in the file */
	uintptr_t start, end; /* first byte of the first, end of the last PT_LOAD */
	const ElfW(Phdr) *segments;
	size_t segment_count;
	const ElfW(Dyn) *dynamic;
	size_t dynamic_count;
	const char *strings;
	size_t string_room; /* readable bytes; likewise in every *_room */
	const ElfW(Sym) *symbols;
	size_t symbol_room; /* in symbols */
	const uint32_t *gnu_hash;
	size_t gnu_hash_room; /* in words */
	const uint32_t *sysv_hash;
	size_t sysv_hash_room;      /* in words */
	const ElfW(Half) *versions; /* one per symbol */
	size_t version_room;        /* in halves */
	const char *definitions;    /* DT_VERDEF */
	size_t definition_room;
	const char *needs; /* DT_VERNEED */
	size_t need_room;
	const char *soname; /* "" without one */
};

/* Parses an object. -EINVAL: no usable dynamic section (a static program, some vDSOs). */
int gt_elf_open(uintptr_t bias, const ElfW(Phdr) *segments, size_t count, struct gt_elf *ret_elf);

/* Readable bytes from @address to the end of its readable PT_LOAD in the object at @bias; 0: in
 * none. Memory between segments may be unmapped. */
size_t gt_elf_room(uintptr_t bias, const ElfW(Phdr) *segments, size_t count, uintptr_t address);

/* True when @address lies in a segment of the object. */
bool gt_elf_contains(const struct gt_elf *elf, uintptr_t address);

/*
 * Address of the defined symbol @name, 0: none. @version NULL: the default version. An unversioned
 * definition satisfies every version, as in ld.so. Indirect functions and thread-local symbols are
 * not found.
 */
uintptr_t gt_elf_find(const struct gt_elf *elf, const char *name, const char *version);

/* The same of the default version, or of an indirect function the one that tells which: it is not
 * called. */
uintptr_t gt_elf_find_any(const struct gt_elf *elf, const char *name, bool *ret_is_indirect);

/* The @index-th DT_NEEDED entry, NULL past the last. */
const char *gt_elf_needed(const struct gt_elf *elf, size_t index);

/* The @index-th symbol version with @prefix that the object needs, NULL past the last. */
const char *gt_elf_version_needed(const struct gt_elf *elf, const char *prefix, size_t index);

/* The version with which the object imports @name; NULL: none, or not imported. Scans every
 * symbol. */
const char *gt_elf_reference_version(const struct gt_elf *elf, const char *name);

/* True when the object defines the symbol version @version. */
bool gt_elf_defines_version(const struct gt_elf *elf, const char *version);

/* Symbol @name in the first loaded object whose soname is @soname (NULL: in any), 0: none. Takes
 * the lock of dl_iterate_phdr; not for hot paths. */
uintptr_t gt_elf_find_loaded(const char *soname, const char *name, const char *version);

/* Keeps the object of @address, which a caller remembers, mapped to the end of the process, whoever
 * closes it. A lock of the loader; not where dlsym is forbidden. errno is kept. */
void gt_elf_keep(const void *address);

#endif
