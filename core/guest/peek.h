/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that may not be mapped, or not any more. Any thread, a signal handler too; errno is kept.
 *
 * The program's threads only make system calls that any program makes: the kernel is asked whether
 * a page is readable, then it is read. The tracer's threads, where the program runs on meanwhile
 * and may unmap it, have the kernel copy it.
 */
#ifndef GT_CORE_GUEST_PEEK_H
#define GT_CORE_GUEST_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GT_PEEK_PAGE 4096u

/* Whether the byte at @address is readable. NULL is not. */
bool gt_peek_is_readable(const void *address);

/* Copies up to @size bytes; returns how many, up to the first page that cannot be read. */
size_t gt_peek_copy(void *to, uint64_t address, size_t size);

/* The other way: false: not all of it could be written. For a file that is mapped here and that
 * others may cut. The tracer's threads. */
bool gt_peek_write(uint64_t address, const void *from, size_t size);

#endif
