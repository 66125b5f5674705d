/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages that come back from their file, see the header.
 */
#include "collectors/symbols/elf_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/guest/descriptor.h"
#include "core/guest/memory.h"
#include "core/guest/sys.h"

struct gt_elf_pages {
	size_t bytes; /* of this struct */
	uint8_t *data;
	uint64_t charged; /* bytes that came back */
	struct stat file;
	char path[PATH_MAX];
	uint8_t missing[]; /* a bit for each page */
};

static bool is_missing(const struct gt_elf_pages *pages, uint64_t page)
{
	return pages->missing[page / 8] >> page % 8 & 1;
}

struct gt_elf_pages *gt_elf_pages_new(const char *path, int fd, uint8_t *data, size_t size)
{
	size_t bytes = sizeof(struct gt_elf_pages) + size / GT_ELF_PAGE / 8 + 1;
	size_t length = strlen(path);
	struct gt_elf_pages *pages = length < PATH_MAX ? gt_memory_map(bytes) : NULL;

	if (!pages)
		return NULL;
	pages->bytes = bytes;
	pages->data = data;
	memcpy(pages->path, path, length + 1);
	if (gt_sys_fstat(fd, &pages->file) == 0)
		return pages;
	gt_memory_unmap(pages, bytes);
	return NULL;
}

uint64_t gt_elf_pages_drop(struct gt_elf_pages *pages, uint64_t offset, uint64_t size)
{
	uint64_t first = (offset + GT_ELF_PAGE - 1) / GT_ELF_PAGE;
	uint64_t end = (offset + size) / GT_ELF_PAGE;
	uint64_t bytes;

	if (end <= first)
		return 0;
	bytes = (end - first) * GT_ELF_PAGE;
	if (madvise(pages->data + first * GT_ELF_PAGE, bytes, MADV_DONTNEED))
		return 0;
	for (uint64_t page = first; page < end; page++)
		pages->missing[page / 8] |= (uint8_t)(1 << page % 8);
	gt_memory_uncharge(bytes);
	return bytes;
}

static bool is_same(const struct gt_elf_pages *pages, const struct stat *now)
{
	return pages->file.st_dev == now->st_dev && pages->file.st_ino == now->st_ino &&
	       pages->file.st_size == now->st_size &&
	       pages->file.st_mtim.tv_sec == now->st_mtim.tv_sec &&
	       pages->file.st_mtim.tv_nsec == now->st_mtim.tv_nsec;
}

static bool read_page(struct gt_elf_pages *pages, int fd, uint64_t page)
{
	uint64_t offset = page * GT_ELF_PAGE;
	ssize_t n;

	if (!gt_memory_charge(GT_ELF_PAGE))
		return false;
	do
		n = pread(fd, pages->data + offset, GT_ELF_PAGE, (off_t)offset);
	while (n < 0 && errno == EINTR);
	if (n != GT_ELF_PAGE) {
		gt_memory_uncharge(GT_ELF_PAGE);
		return false;
	}
	pages->charged += GT_ELF_PAGE;
	pages->missing[page / 8] &= (uint8_t) ~(1 << page % 8);
	return true;
}

static bool read_pages(struct gt_elf_pages *pages, uint64_t page, uint64_t end)
{
	struct gt_descriptor file;
	struct stat now;
	bool is_good;

	if (gt_descriptor_open(&file, AT_FDCWD, pages->path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0))
		return false;
	is_good = gt_sys_fstat(file.fd, &now) == 0 && is_same(pages, &now);
	for (; is_good && page < end; page++)
		is_good = !is_missing(pages, page) || read_page(pages, file.fd, page);
	gt_descriptor_close(&file);
	return is_good;
}

bool gt_elf_pages_need(struct gt_elf_pages *pages, uint64_t offset, uint64_t size)
{
	uint64_t page = offset / GT_ELF_PAGE;
	uint64_t end = (offset + size + GT_ELF_PAGE - 1) / GT_ELF_PAGE;

	if (!pages || !size)
		return true;
	while (page < end && !is_missing(pages, page))
		page++;
	return page == end || read_pages(pages, page, end);
}

void gt_elf_pages_free(struct gt_elf_pages *pages)
{
	if (!pages)
		return;
	gt_memory_uncharge(pages->charged);
	gt_memory_unmap(pages, pages->bytes);
}
