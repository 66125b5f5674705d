/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds-checked ELF reading, see the header. Drain thread only.
 */
#include "collectors/symbols/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "collectors/symbols/elf_pages.h"
#include "collectors/symbols/modules.h"
#include "core/guest/descriptor.h"
#include "core/elf/elf_lookup.h"
#include "core/guest/memory.h"

/* Most bytes read of one file. */
#define LOAD_MAX ((uint64_t)512 << 20)

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

uint32_t gt_elf_image_loaded_build_id(const struct dl_phdr_info *info, uint8_t *ret_id)
{
	uint32_t found = 0;

	for (int i = 0; i < info->dlpi_phnum && !found; i++) {
		const ElfW(Phdr) *phdr = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + phdr->p_vaddr;
		size_t room =
			gt_elf_room(info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum, start);

		if (phdr->p_type == PT_NOTE)
			found = gt_elf_image_note_build_id(
				(const void *)start, room < phdr->p_memsz ? room : phdr->p_memsz,
				ret_id);
	}
	return found;
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

/* Reads bytes of the file to the same offset of the image. A file that shrinks meanwhile is an
 * error here; a mapping of it would raise SIGBUS. */
static int load(struct gt_elf_image *elf, int fd, uint64_t offset, uint64_t size)
{
	uint8_t *to = (uint8_t *)elf->data;

	if (!is_inside(elf, offset, size) || elf->loaded + size > LOAD_MAX)
		return -ENOEXEC;
	if (!gt_memory_charge(size))
		return -ENOMEM;
	elf->loaded += size;
	if (!gt_memory_make_writable(to + offset, size))
		return -ENOMEM;
	while (size) {
		ssize_t n = pread(fd, to + offset, size, (off_t)offset);

		if (n <= 0 && (n == 0 || errno != EINTR))
			return n == 0 ? -ENOEXEC : -errno;
		offset += n > 0 ? (uint64_t)n : 0;
		size -= n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

static int load_section(struct gt_elf_image *elf, int fd, uint32_t index)
{
	const Elf64_Shdr *section = index < elf->section_count ? &elf->sections[index] : NULL;

	if (!section || !is_readable(elf, section))
		return 0; /* damaged: accessors of the section will fail */
	return load(elf, fd, section->sh_offset, section->sh_size);
}

/* The symbol table to use: the full one, else the dynamic one. */
static const Elf64_Shdr *wanted_table(const struct gt_elf_image *elf)
{
	const Elf64_Shdr *table = gt_elf_image_find_type(elf, SHT_SYMTAB);

	return table ? table : gt_elf_image_find_type(elf, SHT_DYNSYM);
}

static int load_names(struct gt_elf_image *elf, int fd)
{
	const Elf64_Ehdr *head = (const void *)elf->data;
	const Elf64_Shdr *table = wanted_table(elf), *link;
	int error = load_section(elf, fd, head->e_shstrndx);

	for (uint32_t i = 0; !error && i < elf->section_count; i++)
		if (elf->sections[i].sh_type == SHT_NOTE)
			error = load_section(elf, fd, i);
	link = error ? NULL : gt_elf_image_find_name(elf, ".gnu_debuglink");
	if (link)
		error = load_section(elf, fd, (uint32_t)(link - elf->sections));
	if (!error && table)
		error = load_section(elf, fd, (uint32_t)(table - elf->sections));
	if (!error && table)
		error = load_section(elf, fd, table->sh_link);
	return error;
}

/* Section headers first: gt_elf_image_init checks them. */
static int load_parts(struct gt_elf_image *elf, int fd)
{
	const Elf64_Ehdr *head = (const void *)elf->data;
	uint64_t loaded;
	size_t size = elf->size;
	uint8_t *data = (uint8_t *)elf->data;
	int error = load(elf, fd, 0, sizeof(*head));

	if (!error && head->e_shentsize == sizeof(Elf64_Shdr) &&
	    is_inside(elf, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr)))
		error = load(elf, fd, head->e_shoff, (uint64_t)head->e_shnum * sizeof(Elf64_Shdr));
	if (error)
		return error;
	loaded = elf->loaded;
	error = gt_elf_image_init(elf, data, size);
	elf->owned = true;
	elf->loaded = loaded;
	return error ? error : load_names(elf, fd);
}

static int load_file(struct gt_elf_image *elf, const char *path, int fd)
{
	off_t size = lseek(fd, 0, SEEK_END);
	int error;

	if (size <= 0)
		return size < 0 ? -errno : -ENOEXEC;
	*elf = (struct gt_elf_image){.data = gt_memory_reserve_blank((size_t)size),
				     .size = (size_t)size};
	if (!elf->data)
		return -ENOMEM;
	elf->owned = true;
	error = load_parts(elf, fd);
	if (error)
		gt_elf_image_close(elf);
	else
		elf->pages = gt_elf_pages_new(path, fd, (uint8_t *)elf->data, elf->size);
	return error;
}

int gt_elf_image_open(struct gt_elf_image *elf, const char *path)
{
	struct gt_descriptor file;
	int error = gt_descriptor_open(&file, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);

	if (error)
		return error;
	error = S_ISREG(file.mode) ? load_file(elf, path, file.fd) : -ENOEXEC;
	gt_descriptor_close(&file);
	return error;
}

void gt_elf_image_thin(struct gt_elf_image *elf, const Elf64_Shdr *section)
{
	if (elf->pages)
		elf->loaded -= gt_elf_pages_drop(elf->pages, section->sh_offset, section->sh_size);
}

const void *gt_elf_image_bytes(const struct gt_elf_image *elf, const Elf64_Shdr *section,
			       uint64_t offset, uint64_t size)
{
	if (offset > section->sh_size || size > section->sh_size - offset ||
	    !gt_elf_pages_need(elf->pages, section->sh_offset + offset, size))
		return NULL;
	return elf->data + section->sh_offset + offset;
}

void gt_elf_image_close(struct gt_elf_image *elf)
{
	gt_elf_pages_free(elf->pages);
	if (elf->owned) {
		gt_memory_unreserve((void *)elf->data, elf->size);
		gt_memory_uncharge(elf->loaded);
	}
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
	uint64_t at = offset;

	while (at < strings->sh_size) {
		uint64_t size = GT_ELF_PAGE - (strings->sh_offset + at) % GT_ELF_PAGE;
		const char *part;

		if (size > strings->sh_size - at)
			size = strings->sh_size - at;
		part = gt_elf_image_bytes(elf, strings, at, size);
		if (!part)
			return NULL;
		if (memchr(part, 0, size))
			return (const char *)elf->data + strings->sh_offset + offset;
		at += size;
	}
	return NULL;
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
