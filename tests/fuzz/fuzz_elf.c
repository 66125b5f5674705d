/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary bytes as the ELF file of a module. It is read in parts, and as an image that is in
 * memory whole: where the parts are taken, both hold the same sections, symbols and build-id.
 */
#include "collectors/symbols/elf_image.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SYMBOLS 64u

static void need(bool truth)
{
	if (!truth)
		abort();
}

static bool same_place(const struct gt_elf_image *a, const Elf64_Shdr *in_a,
		       const struct gt_elf_image *b, const Elf64_Shdr *in_b)
{
	if (!in_a || !in_b)
		return !in_a && !in_b;
	return in_a - a->sections == in_b - b->sections;
}

static void compare_names(const struct gt_elf_image *file, const struct gt_elf_image *image,
			  uint32_t type)
{
	const Elf64_Shdr *table = gt_elf_image_find_type(file, type);
	const Elf64_Shdr *strings = table ? gt_elf_image_find_strings(file, table) : NULL;
	const Elf64_Sym *symbols;

	need(same_place(file, table, image, gt_elf_image_find_type(image, type)));
	if (!strings)
		return;
	symbols = (const void *)(file->data + table->sh_offset);
	for (uint64_t i = 0; i < table->sh_size / sizeof(*symbols) && i < SYMBOLS; i++) {
		const char *name = gt_elf_image_string(file, strings, symbols[i].st_name);
		const char *same = gt_elf_image_string(image, strings, symbols[i].st_name);

		need(name && same ? !strcmp(name, same) : !name && !same);
	}
}

static void compare(const struct gt_elf_image *file, const struct gt_elf_image *image)
{
	static const char link[] = ".gnu_debuglink";
	const Elf64_Shdr *section = gt_elf_image_find_name(file, link);
	uint8_t id[32], same_id[32];
	uint32_t size = gt_elf_image_build_id(file, id);
	bool has_all;

	need(file->section_count == image->section_count);
	need(size == gt_elf_image_build_id(image, same_id) && size <= sizeof(id));
	need(!memcmp(id, same_id, size));
	need(same_place(file, section, image, gt_elf_image_find_name(image, link)));
	if (section)
		need(!memcmp(file->data + section->sh_offset, image->data + section->sh_offset,
			     section->sh_size));
	/* of two tables the smaller one is not read */
	has_all = gt_elf_image_find_type(file, SHT_SYMTAB) != NULL;
	compare_names(file, image, has_all ? SHT_SYMTAB : SHT_DYNSYM);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("module", MFD_CLOEXEC);
	void *copy =
		malloc(size ? size : 1); /* of its own, so that a read behind its end is seen */
	struct gt_elf_image file = {0}, image = {0};
	char path[64];
	int error;

	need(fd >= 0 && copy && write(fd, data, size) == (ssize_t)size);
	memcpy(copy, data, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	error = gt_elf_image_open(&file, path);
	if (gt_elf_image_init(&image, copy, size))
		need(error);
	else if (!error)
		compare(&file, &image);
	gt_elf_image_close(&file);
	gt_elf_image_close(&image);
	free(copy);
	close(fd);
	return 0;
}
