/* SPDX-License-Identifier: Apache-2.0
 *
 * See the header.
 */
#include "cli/attach/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#define MOST_SEGMENTS 64u
#define MOST_BYTES    ((uint64_t)1 << 28)
#define PAGE          4096u

int gt_memory_read(pid_t pid, uint64_t address, void *ret_bytes, size_t count)
{
	struct iovec local = {.iov_base = ret_bytes, .iov_len = count};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = count};
	ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == count ? 0 : -EFAULT;
}

int gt_memory_write(pid_t pid, uint64_t address, const void *bytes, size_t count)
{
	struct iovec local = {.iov_base = (void *)(uintptr_t)bytes, .iov_len = count};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = count};
	ssize_t n = process_vm_writev(pid, &local, 1, &remote, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == count ? 0 : -EFAULT;
}

/* The headers, and from where to where the library goes in the file's addresses. */
struct extent {
	Elf64_Ehdr header;
	Elf64_Phdr segments[MOST_SEGMENTS];
	uint64_t low, high;
};

static int read_extent(pid_t pid, uint64_t base, struct extent *ret_extent)
{
	struct extent *extent = ret_extent;
	Elf64_Ehdr *header = &extent->header;
	int error = gt_memory_read(pid, base, header, sizeof(*header));

	if (error)
		return error;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_phentsize != sizeof(Elf64_Phdr) || header->e_phnum > MOST_SEGMENTS)
		return -EINVAL;
	error = gt_memory_read(pid, base + header->e_phoff, extent->segments,
			       header->e_phnum * sizeof(Elf64_Phdr));
	extent->low = UINT64_MAX;
	extent->high = 0;
	for (unsigned i = 0; !error && i < header->e_phnum; i++) {
		const Elf64_Phdr *segment = &extent->segments[i];

		if (segment->p_type != PT_LOAD)
			continue;
		if (segment->p_vaddr < extent->low)
			extent->low = segment->p_vaddr & ~(uint64_t)(PAGE - 1);
		if (segment->p_vaddr + segment->p_memsz > extent->high)
			extent->high = segment->p_vaddr + segment->p_memsz;
	}
	if (!error && (extent->low >= extent->high || extent->high - extent->low > MOST_BYTES))
		error = -EINVAL;
	return error;
}

/* The loader has put addresses of the process into the dynamic section. */
static void move_dynamic(const struct gt_image *image, const struct extent *extent)
{
	const uint64_t start = (uint64_t)(uintptr_t)image->copy;

	for (unsigned i = 0; i < extent->header.e_phnum; i++) {
		const Elf64_Phdr *segment = &extent->segments[i];
		Elf64_Dyn *entry = (Elf64_Dyn *)(uintptr_t)(start + segment->p_vaddr - extent->low);

		if (segment->p_type != PT_DYNAMIC || segment->p_vaddr < extent->low ||
		    segment->p_vaddr % sizeof(uint64_t) ||
		    segment->p_vaddr - extent->low + segment->p_memsz > image->bytes)
			continue;
		for (size_t k = 0; k < segment->p_memsz / sizeof(*entry); k++)
			if (entry[k].d_un.d_ptr - (start + image->moved) < image->bytes)
				entry[k].d_un.d_ptr -= image->moved;
	}
}

int gt_image_read(pid_t pid, uint64_t base, struct gt_image *ret_image)
{
	static struct extent extent;
	struct gt_image image = {.copy = NULL};
	int error = read_extent(pid, base, &extent);
	uint64_t start;

	*ret_image = image;
	if (error)
		return error;
	image.bytes = extent.high - extent.low;
	image.copy = mmap(NULL, image.bytes, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (image.copy == MAP_FAILED)
		return -errno;
	start = (uint64_t)(uintptr_t)image.copy;
	image.moved = base - start;
	for (unsigned i = 0; i < extent.header.e_phnum; i++) {
		const Elf64_Phdr *segment = &extent.segments[i];

		if (segment->p_type == PT_LOAD && segment->p_filesz <= segment->p_memsz)
			gt_memory_read(pid, base + (segment->p_vaddr - extent.low),
				       (char *)image.copy + (segment->p_vaddr - extent.low),
				       segment->p_filesz);
	}
	move_dynamic(&image, &extent);
	*ret_image = image;
	error = extent.header.e_phoff + sizeof(extent.segments) > image.bytes
			? -EINVAL
			: gt_elf_open(start - extent.low,
				      (const void *)((char *)image.copy + extent.header.e_phoff),
				      extent.header.e_phnum, &ret_image->elf);
	if (error)
		gt_image_free(ret_image);
	return error;
}

void gt_image_free(struct gt_image *image)
{
	if (image->copy)
		munmap(image->copy, image->bytes);
	*image = (struct gt_image){.copy = NULL};
}

uint64_t gt_image_symbol(const struct gt_image *image, const char *name)
{
	uintptr_t found = image->copy ? gt_elf_find(&image->elf, name, NULL) : 0;

	return found ? found + image->moved : 0;
}

uint64_t gt_image_code(const struct gt_image *image, const void *bytes, size_t count)
{
	const char *found;

	for (size_t i = 0; image->copy && i < image->elf.segment_count; i++) {
		const Elf64_Phdr *segment = &image->elf.segments[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		found = memmem((const char *)(image->elf.bias + segment->p_vaddr),
			       segment->p_filesz, bytes, count);
		if (found)
			return (uint64_t)(uintptr_t)found + image->moved;
	}
	return 0;
}
