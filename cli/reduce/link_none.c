/* SPDX-License-Identifier: Apache-2.0
 *
 * See link.h: of a build without MPI, one process.
 */
#include <stdlib.h>

#include "cli/reduce/link.h"

bool gt_link_start(void)
{
	return false;
}

void gt_link_end(void)
{
}

size_t gt_link_rank(void)
{
	return 0;
}

size_t gt_link_size(void)
{
	return 1;
}

void gt_link_send(size_t to, const void *bytes, size_t size)
{
	(void)to;
	(void)bytes;
	(void)size;
}

void gt_link_abort(void)
{
	abort();
}

void *gt_link_receive(size_t from, size_t *ret_size)
{
	(void)from;
	*ret_size = 0;
	return NULL;
}
