/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages of an ELF file in memory, given back and read again when they are needed: the symbol tables
 * of PyTorch's libraries are hundreds of megabytes, of which a trace names a few thousand
 * functions. The file is opened each time, since a guest keeps no descriptor. Drain thread
 * only.
 */
#ifndef GT_COLLECTORS_SYMBOLS_ELF_PAGES_H
#define GT_COLLECTORS_SYMBOLS_ELF_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_ELF_PAGE 4096u

/* Which pages of an image are there, and the file that they are of. */
struct gt_elf_pages;

/* Of the image @data, @size bytes, of the file that was opened from @path as @fd; nothing is
 * missing. NULL: no memory. */
struct gt_elf_pages *gt_elf_pages_new(const char *path, int fd, uint8_t *data, size_t size);

/* Gives the pages back that lie wholly in the range, which is writable. Returns their bytes, which
 * are no longer charged (core/guest/memory.h). */
uint64_t gt_elf_pages_drop(struct gt_elf_pages *pages, uint64_t offset, uint64_t size);

/* Reads what is missing of the range. False: another file is there now, or no memory. @pages NULL:
 * nothing is missing. */
bool gt_elf_pages_need(struct gt_elf_pages *pages, uint64_t offset, uint64_t size);

/* NULL is fine. Not the image. */
void gt_elf_pages_free(struct gt_elf_pages *pages);

#endif
