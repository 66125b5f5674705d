/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading the spool of a process that is gone. Whatever its bytes are, nothing outside them is
 * touched: each address is checked before it is followed. Recovery only (pipeline/replay.c).
 */
#ifndef GT_CORE_SPOOL_VIEW_H
#define GT_CORE_SPOOL_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "core/spool.h"

struct gt_string;

/* A spool that another process left, as a private copy. */
struct gt_spool_view {
	const uint8_t *data; /* a private copy of the file: nobody changes it while it is read */
	size_t size;
	uint64_t base; /* where data[0] lay in the traced process */
};

/* -EBADMSG: not the spool of this format. Its text is terminated from here on. */
int gt_spool_view_init(struct gt_spool_view *view, const void *data, size_t size);

/* The header, checked by _init. */
const struct gt_spool_header *gt_spool_view_header(const struct gt_spool_view *view);

/* The @size bytes that lay at @address, which is a multiple of 8. NULL: not all of them are
 * here. */
const void *gt_spool_view_at(const struct gt_spool_view *view, uint64_t address, uint64_t size);

/* The same of a root. */
const void *gt_spool_view_root(const struct gt_spool_view *view, enum gt_spool_root root,
			       size_t size);

/* A pointer as it stands in the spool, which means nothing in this process. */
static inline uint64_t gt_spool_address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* A bool in the spool, which may hold any byte. */
static inline int gt_spool_bool(const void *byte)
{
	return *(const uint8_t *)byte != 0;
}

/* The interned string that lay at @pointer, whole and zero-terminated. NULL: it is not here. */
const struct gt_string *gt_spool_view_string(const struct gt_spool_view *view,
					     const struct gt_string *pointer);

#endif
