/* SPDX-License-Identifier: Apache-2.0
 *
 * See deflate.h.
 */
#include "writers/deflate.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include "core/guest/memory.h"

#define LEVEL       1
#define STORED_SIZE 65535u /* of a block that does not become smaller */
#define STORED_HEAD 5u

struct gt_deflate {
	struct isal_zstream stream;
	uint8_t level[ISAL_DEF_LVL1_DEFAULT];
};

bool gt_deflate_is_there(void)
{
	return true;
}

struct gt_deflate *gt_deflate_new(void)
{
	return gt_memory_map(sizeof(struct gt_deflate));
}

void gt_deflate_free(struct gt_deflate *deflate)
{
	gt_memory_unmap(deflate, sizeof(*deflate));
}

size_t gt_deflate_bytes(void)
{
	return sizeof(struct gt_deflate);
}

size_t gt_deflate_most(size_t size)
{
	return size + (size / STORED_SIZE + 2) * STORED_HEAD;
}

size_t gt_deflate_run(struct gt_deflate *deflate, const void *data, size_t size, void *out,
		      size_t room)
{
	struct isal_zstream *stream = &deflate->stream;

	isal_deflate_stateless_init(stream);
	stream->level = LEVEL;
	stream->level_buf = deflate->level;
	stream->level_buf_size = sizeof(deflate->level);
	stream->flush = FULL_FLUSH;
	stream->end_of_stream = 0;
	stream->next_in = (uint8_t *)(uintptr_t)data;
	stream->avail_in = (uint32_t)size;
	stream->next_out = out;
	stream->avail_out = (uint32_t)room;
	if (isal_deflate_stateless(stream) != COMP_OK || stream->avail_in)
		return 0;
	return room - stream->avail_out;
}

uint32_t gt_deflate_crc(uint32_t crc, const void *data, size_t size)
{
	return crc32_gzip_refl(crc, data, size);
}
