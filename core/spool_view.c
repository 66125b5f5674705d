/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked access to the bytes of a spool, see the header.
 */
#include "core/spool_view.h"

#include <errno.h>
#include <string.h>

#include "core/intern.h"

int gt_spool_view_init(struct gt_spool_view *view, const void *data, size_t size)
{
	const struct gt_spool_header *header = data;

	*view = (struct gt_spool_view){.data = data, .size = size};
	if (size < sizeof(*header) ||
	    memcmp(header->magic, GT_SPOOL_MAGIC, sizeof(header->magic)) ||
	    header->version != GT_SPOOL_VERSION)
		return -EBADMSG;
	if (header->boot_id[sizeof(header->boot_id) - 1] ||
	    header->build_id[sizeof(header->build_id) - 1] ||
	    header->folder[sizeof(header->folder) - 1] || header->trace[sizeof(header->trace) - 1])
		return -EBADMSG;
	view->base = header->base;
	return 0;
}

const struct gt_spool_header *gt_spool_view_header(const struct gt_spool_view *view)
{
	return (const struct gt_spool_header *)(const void *)view->data;
}

const void *gt_spool_view_at(const struct gt_spool_view *view, uint64_t address, uint64_t size)
{
	uint64_t offset = address - view->base;

	if (address < view->base || offset % 8 || offset > view->size || size > view->size - offset)
		return NULL;
	return view->data + offset;
}

const void *gt_spool_view_root(const struct gt_spool_view *view, enum gt_spool_root root,
			       size_t size)
{
	return gt_spool_view_at(view, gt_spool_view_header(view)->roots[root], size);
}

const struct gt_string *gt_spool_view_string(const struct gt_spool_view *view,
					     const struct gt_string *pointer)
{
	uint64_t address = gt_spool_address(pointer);
	const struct gt_string *string = gt_spool_view_at(view, address, sizeof(*string));

	if (string)
		string = gt_spool_view_at(view, address,
					  sizeof(*string) + (uint64_t)string->length + 1);
	return string && !string->text[string->length] ? string : NULL;
}
