/* SPDX-License-Identifier: Apache-2.0
 *
 * First sight of pages, see the header: the kernel is asked where a load might crash.
 */
#include "collectors/python/read.h"

#include "core/guest/peek.h"

#define PAGE_BYTES  ((uint64_t)1 << GT_PYTHON_PAGE_BITS)

/* User addresses: the lower half, without the first page. */
#define ADDRESS_MAX ((uint64_t)1 << 56)

_Alignas(64) _Atomic uint64_t gt_python_pages[GT_PYTHON_PAGE_SETS][GT_PYTHON_PAGE_WAYS];

bool gt_python_read_copy(uint64_t address, void *ret_bytes, size_t size)
{
	return address <= ADDRESS_MAX && gt_peek_copy(ret_bytes, address, size) == size;
}

/* A full set drops one of its pages, which will be tested again. */
static void remember(uint64_t page)
{
	_Atomic uint64_t *set = gt_python_pages[(page ^ page >> 11) % GT_PYTHON_PAGE_SETS];

	for (int i = 0; i < GT_PYTHON_PAGE_WAYS; i++) {
		uint64_t empty = 0;

		if (atomic_compare_exchange_strong_explicit(
			    &set[i], &empty, page, memory_order_relaxed, memory_order_relaxed) ||
		    empty == page)
			return;
	}
	atomic_store_explicit(&set[page % GT_PYTHON_PAGE_WAYS], page, memory_order_relaxed);
}

bool gt_python_read_probe(uint64_t address, uint64_t size)
{
	uint64_t first = address >> GT_PYTHON_PAGE_BITS;
	uint64_t last = (address + size - 1) >> GT_PYTHON_PAGE_BITS;

	if (address < PAGE_BYTES || address > ADDRESS_MAX || size > ADDRESS_MAX)
		return false;
	for (uint64_t page = first; page <= last; page++) {
		if (gt_python_page_is_known(page))
			continue;
		if (!gt_peek_is_readable((const void *)(page << GT_PYTHON_PAGE_BITS)))
			return false;
		remember(page);
	}
	return true;
}
