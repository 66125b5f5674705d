/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading 64-bit ELF files of this machine: symbol tables, build-ids, the name of a debug file.
 * Every offset out of the file is checked against its size: files may be cut or hostile.
 * Drain thread only, except the first two.
 */
#ifndef GT_COLLECTORS_SYMBOLS_ELF_IMAGE_H
#define GT_COLLECTORS_SYMBOLS_ELF_IMAGE_H

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An ELF file, mapped for reading. */
struct gt_elf_image {
	const uint8_t *data;
	size_t size;
	bool owned;      /* memory of gt_elf_image_open */
	uint64_t loaded; /* bytes of the file that are in it */
	const Elf64_Shdr *sections;
	uint32_t section_count;
};

/* The build-id in the notes at @notes. Copies at most 32 bytes; returns how many, 0: none. */
uint32_t gt_elf_image_note_build_id(const void *notes, size_t size, uint8_t *ret_id);

/* As gt_elf_image_note_build_id, of an object that is loaded: inside a dl_iterate_phdr callback.
 * Notes that lie in no readable PT_LOAD are not mapped and not looked at. */
uint32_t gt_elf_image_loaded_build_id(const struct dl_phdr_info *info, uint8_t *ret_id);

/* Reads what is asked for below of the file at @path: names of sections, notes, the link to a debug
 * file, the table of symbols. All else of the image is zero. It is not mapped: a file that somebody
 * cuts would end the program with SIGBUS, a file that the loader mapped is the program's own risk.
 * Negative errno: not there, not a regular file, not such an ELF file. */
int gt_elf_image_open(struct gt_elf_image *elf, const char *path);

/* An image that is in memory already and stays there. -ENOEXEC. */
int gt_elf_image_init(struct gt_elf_image *elf, const void *image, size_t size);

/* Also of a zeroed struct. */
void gt_elf_image_close(struct gt_elf_image *elf);

/* The first section of @type (SHT_*), a table of structs. NULL: none, or it does not lie in the
 * file as such a table must. */
const Elf64_Shdr *gt_elf_image_find_type(const struct gt_elf_image *elf, uint32_t type);

/* The section called @name. NULL: none, or it does not lie in the file. */
const Elf64_Shdr *gt_elf_image_find_name(const struct gt_elf_image *elf, const char *name);

/* The section of strings that @section links to, under the same conditions. */
const Elf64_Shdr *gt_elf_image_find_strings(const struct gt_elf_image *elf,
					    const Elf64_Shdr *section);

/* The zero-terminated string at @offset of @strings. NULL: it leads out of the section. */
const char *gt_elf_image_string(const struct gt_elf_image *elf, const Elf64_Shdr *strings,
				uint64_t offset);

/* As gt_elf_image_note_build_id, of the whole file. */
uint32_t gt_elf_image_build_id(const struct gt_elf_image *elf, uint8_t *ret_id);

#endif
