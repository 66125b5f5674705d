/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the spool of a process that is gone. Its bytes are untrusted: each address is checked
 * before it is followed. Recovery only (pipeline/replay.c).
 */
#ifndef GT_CORE_SPOOL_VIEW_H
#define GT_CORE_SPOOL_VIEW_H

#include <stddef.h>
#include <stdint.h>

#include "core/spool.h"

struct gt_string;

/* The spool of another process, as a private copy. */
struct gt_spool_view {
	const uint8_t *data; /* a private copy of the file: nobody changes it meanwhile */
	size_t size;
	uint64_t base; /* address of data[0] in the traced process */
};

/* -EBADMSG: not a spool of this format. Terminates the header's texts. */
int gt_spool_view_init(struct gt_spool_view *view, const void *data, size_t size);

/* The header, already checked. */
const struct gt_spool_header *gt_spool_view_header(const struct gt_spool_view *view);

/* The @size bytes that were at @address, a multiple of 8. NULL: not all of them are here. */
const void *gt_spool_view_at(const struct gt_spool_view *view, uint64_t address, uint64_t size);

/* The structure of a root, likewise. */
const void *gt_spool_view_root(const struct gt_spool_view *view, enum gt_spool_root root,
			       size_t size);

/* A pointer stored in the spool, as a number: it is not valid in this process. */
static inline uint64_t gt_spool_address(const void *pointer)
{
	return (uint64_t)(uintptr_t)pointer;
}

/* A bool in the spool, whose byte may hold any value. */
static inline int gt_spool_bool(const void *byte)
{
	return *(const uint8_t *)byte != 0;
}

/* The interned string at @pointer, whole and zero-terminated. NULL: not here. */
const struct gt_string *gt_spool_view_string(const struct gt_spool_view *view,
					     const struct gt_string *pointer);

#endif
