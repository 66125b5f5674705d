/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds-checked ELF reading, see the header. Drain thread only.
 */
#include "collectors/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collectors/modules.h"

static uint64_t align4(uint64_t n)
{
	return (n + 3) & ~(uint64_t)3;
}

uint32_t gt_elf_image_note_build_id(const void *notes, size_t size, uint8_t *ret_id)
{
	const uint8_t *at = notes;
	Elf64_Nhdr note;

	while (size >= sizeof(note)) {
		uint64_t name, length;

		memcpy(&note, at, sizeof(note));
		name = align4(note.n_namesz);
		length = sizeof(note) + name + align4(note.n_descsz);
		if (length > size)
			break;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(at + sizeof(note), "GNU", 4) == 0) {
			uint32_t n =
				note.n_descsz < GT_BUILD_ID_MAX ? note.n_descsz : GT_BUILD_ID_MAX;
			memcpy(ret_id, at + sizeof(note) + name, n);
			return n;
		}
		at += length;
		size -= length;
	}
	return 0;
}

static bool is_inside(const struct gt_elf_image *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->size && size <= elf->size - offset;
}

static bool is_readable(const struct gt_elf_image *elf, const Elf64_Shdr *section)
{
	return section->sh_type != SHT_NOBITS &&
	       is_inside(elf, section->sh_offset, section->sh_size);
}

int gt_elf_image_init(struct gt_elf_image *elf, const void *image, size_t size)
{
	const Elf64_Ehdr *head = image;
	struct gt_elf_image fresh = {.data = image, .size = size};

	if (size < sizeof(*head) || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 ||
	    head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (head->e_shnum && head->e_shentsize == sizeof(Elf64_Shdr) && head->e_shoff % 8 == 0 &&
	    is_inside(&fresh, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr))) {
		fresh.sections = (const void *)(fresh.data + head->e_shoff);
		fresh.section_count = head->e_shnum;
	}
	*elf = fresh;
	return 0;
}

/* Returns the size, or negative errno. */
static off_t map_file(int fd, void **ret_image)
{
	off_t size = lseek(fd, 0, SEEK_END); /* fstat has a symbol version of its own since 2.33 */
	void *image;

	if (size <= 0)
		return size < 0 ? -errno : -ENOEXEC;
	image = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (image == MAP_FAILED)
		return -errno;
	*ret_image = image;
	return size;
}

int gt_elf_image_open(struct gt_elf_image *elf, const char *path)
{
	void *image = NULL;
	off_t size;
	int error;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return -errno;
	size = map_file(fd, &image);
	close(fd);
	if (size < 0)
		return (int)size;
	error = gt_elf_image_init(elf, image, (size_t)size);
	if (error < 0)
		munmap(image, (size_t)size);
	else
		elf->is_mapped = true;
	return error;
}

void gt_elf_image_close(struct gt_elf_image *elf)
{
	if (elf->is_mapped)
		munmap((void *)elf->data, elf->size);
	*elf = (struct gt_elf_image){0};
}

const Elf64_Shdr *gt_elf_image_find_type(const struct gt_elf_image *elf, uint32_t type)
{
	for (uint32_t i = 0; i < elf->section_count; i++)
		if (elf->sections[i].sh_type == type && elf->sections[i].sh_offset % 8 == 0 &&
		    is_readable(elf, &elf->sections[i]))
			return &elf->sections[i];
	return NULL;
}

const Elf64_Shdr *gt_elf_image_find_strings(const struct gt_elf_image *elf,
					    const Elf64_Shdr *section)
{
	const Elf64_Shdr *strings;

	if (section->sh_link >= elf->section_count)
		return NULL;
	strings = &elf->sections[section->sh_link];
	return strings->sh_type == SHT_STRTAB && is_readable(elf, strings) ? strings : NULL;
}

const char *gt_elf_image_string(const struct gt_elf_image *elf, const Elf64_Shdr *strings,
				uint64_t offset)
{
	const char *text = (const char *)elf->data + strings->sh_offset;

	if (offset >= strings->sh_size || !memchr(text + offset, 0, strings->sh_size - offset))
		return NULL;
	return text + offset;
}

const Elf64_Shdr *gt_elf_image_find_name(const struct gt_elf_image *elf, const char *name)
{
	const Elf64_Ehdr *head = (const void *)elf->data;
	const Elf64_Shdr *names;

	if (head->e_shstrndx >= elf->section_count)
		return NULL;
	names = &elf->sections[head->e_shstrndx];
	if (!is_readable(elf, names))
		return NULL;
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const char *text = gt_elf_image_string(elf, names, elf->sections[i].sh_name);

		if (text && strcmp(text, name) == 0)
			return is_readable(elf, &elf->sections[i]) ? &elf->sections[i] : NULL;
	}
	return NULL;
}

uint32_t gt_elf_image_build_id(const struct gt_elf_image *elf, uint8_t *ret_id)
{
	for (uint32_t i = 0; i < elf->section_count; i++) {
		const Elf64_Shdr *section = &elf->sections[i];
		uint32_t size;

		if (section->sh_type != SHT_NOTE ||
		    !is_inside(elf, section->sh_offset, section->sh_size))
			continue;
		size = gt_elf_image_note_build_id(elf->data + section->sh_offset, section->sh_size,
						  ret_id);
		if (size)
			return size;
	}
	return 0;
}
