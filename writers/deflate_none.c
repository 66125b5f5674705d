/* SPDX-License-Identifier: Apache-2.0
 *
 * In place of deflate_isal.c in a build without ISA-L.
 */
#include "writers/deflate.h"

bool gt_deflate_is_there(void)
{
	return false;
}

struct gt_deflate *gt_deflate_new(void)
{
	return NULL;
}

void gt_deflate_free(struct gt_deflate *deflate)
{
	(void)deflate;
}

size_t gt_deflate_bytes(void)
{
	return 0;
}

size_t gt_deflate_most(size_t size)
{
	return size;
}

size_t gt_deflate_run(struct gt_deflate *deflate, const void *data, size_t size, void *out,
		      size_t room)
{
	(void)deflate, (void)data, (void)size, (void)out, (void)room;
	return 0;
}

uint32_t gt_deflate_crc(uint32_t crc, const void *data, size_t size)
{
	(void)data, (void)size;
	return crc;
}
