/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads through pointers of another runtime in this process, which may be wrong. A page is tested
 * once, by a system call that fails instead of faulting; known pages are read directly. Application
 * threads. No lock, no allocation; no system call for known pages.
 */
#ifndef GT_COLLECTORS_PYTHON_READ_H
#define GT_COLLECTORS_PYTHON_READ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GT_PYTHON_PAGE_BITS 12
#define GT_PYTHON_PAGE_SETS 2048 /* a power of two */
#define GT_PYTHON_PAGE_WAYS 8    /* one cache line a set */

/* Numbers of the pages known to be readable, shared by all threads. 0: empty. */
extern _Atomic uint64_t gt_python_pages[GT_PYTHON_PAGE_SETS][GT_PYTHON_PAGE_WAYS];

/* For functions that read memory unknown to a sanitizer. */
#define GT_PYTHON_UNFENCED __attribute__((no_sanitize("address", "undefined", "thread")))

/* Tests every page of [@address, @address + @size) and remembers the readable ones. */
bool gt_python_read_probe(uint64_t address, uint64_t size);

/* Copies @size bytes from @address by a system call. False: not all of them are readable. */
bool gt_python_read_copy(uint64_t address, void *ret_bytes, size_t size);

/* Whether a page, by number, was found readable. Any thread. */
static inline bool gt_python_page_is_known(uint64_t page)
{
	_Atomic uint64_t *set = gt_python_pages[(page ^ page >> 11) % GT_PYTHON_PAGE_SETS];

	for (int i = 0; i < GT_PYTHON_PAGE_WAYS; i++)
		if (atomic_load_explicit(&set[i], memory_order_relaxed) == page)
			return true;
	return false;
}

/* True when @size (1 .. a page) bytes at @address can be read. */
static inline bool gt_python_can_read(uint64_t address, uint64_t size)
{
	uint64_t page = address >> GT_PYTHON_PAGE_BITS;
	uint64_t last = (address + size - 1) >> GT_PYTHON_PAGE_BITS;

	if (__builtin_expect(page && gt_python_page_is_known(page), 1) &&
	    __builtin_expect(page == last || gt_python_page_is_known(last), 1))
		return true;
	return gt_python_read_probe(address, size);
}

/* A word of a readable object. */
GT_PYTHON_UNFENCED static inline uint64_t gt_python_word(uint64_t object, uint32_t offset)
{
	return *(const volatile uint64_t *)(object + offset);
}

/* An int of a readable object. */
GT_PYTHON_UNFENCED static inline int32_t gt_python_int(uint64_t object, uint32_t offset)
{
	return *(const volatile int32_t *)(object + offset);
}

/* A byte of a readable object. */
GT_PYTHON_UNFENCED static inline uint8_t gt_python_byte(uint64_t object, uint32_t offset)
{
	return *(const volatile uint8_t *)(object + offset);
}

#endif
