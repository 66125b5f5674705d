/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads 64-bit ELF files of this machine: symbol tables, build-ids, the name of a debug file. Every
 * offset in the file is checked against its size: files may be truncated or hostile. Drain thread
 * only, except the first two functions.
 */
#ifndef GT_COLLECTORS_SYMBOLS_ELF_IMAGE_H
#define GT_COLLECTORS_SYMBOLS_ELF_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gt_elf_pages;

/* An ELF file in memory. */
struct gt_elf_image {
	const uint8_t *data;
	size_t size;
	bool owned;      /* memory of gt_elf_image_open */
	uint64_t loaded; /* bytes of the file that are in it; not those that came back */
	const Elf64_Shdr *sections;
	uint32_t section_count;
	struct gt_elf_pages *pages; /* elf_pages.h; NULL: no file */
};

/* The build-id in the notes at @notes. Copies at most 32 bytes; returns how many, 0: none. */
uint32_t gt_elf_image_note_build_id(const void *notes, size_t size, uint8_t *ret_id);

/* The build-id of a loaded object: inside a dl_iterate_phdr callback. Notes outside readable
 * PT_LOADs are not mapped and not read. */
uint32_t gt_elf_image_loaded_build_id(const struct dl_phdr_info *info, uint8_t *ret_id);

/* Reads from the file at @path what the functions below need: section names, notes, the link to a
 * debug file, the symbol table. The rest of the image is zero. Not mapped: if the file is truncated
 * meanwhile, a mapping would raise SIGBUS. Negative errno: no such file, not a regular file, not
 * such an ELF file. */
int gt_elf_image_open(struct gt_elf_image *elf, const char *path);

/* Gives the memory of a section of a file back: its pages are read again when something in them is
 * asked for. */
void gt_elf_image_thin(struct gt_elf_image *elf, const Elf64_Shdr *section);

/* @size bytes at @offset of a section that may be thin. NULL: outside, or the file is not what it
 * was. */
const void *gt_elf_image_bytes(const struct gt_elf_image *elf, const Elf64_Shdr *section,
			       uint64_t offset, uint64_t size);

/* Uses an image in memory, which must stay there. -ENOEXEC. */
int gt_elf_image_init(struct gt_elf_image *elf, const void *image, size_t size);

/* A zeroed struct is fine. */
void gt_elf_image_close(struct gt_elf_image *elf);

/* The first section of @type (SHT_*), a table of structs. NULL: none, or malformed. */
const Elf64_Shdr *gt_elf_image_find_type(const struct gt_elf_image *elf, uint32_t type);

/* The section called @name. NULL: none, or not inside the file. */
const Elf64_Shdr *gt_elf_image_find_name(const struct gt_elf_image *elf, const char *name);

/* The string section that @section links to. NULL as above. */
const Elf64_Shdr *gt_elf_image_find_strings(const struct gt_elf_image *elf,
					    const Elf64_Shdr *section);

/* The zero-terminated string at @offset of @strings. NULL: outside the section. */
const char *gt_elf_image_string(const struct gt_elf_image *elf, const Elf64_Shdr *strings,
				uint64_t offset);

/* The build-id of the whole file. */
uint32_t gt_elf_image_build_id(const struct gt_elf_image *elf, uint8_t *ret_id);

#endif
