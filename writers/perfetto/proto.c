/* SPDX-License-Identifier: Apache-2.0
 *
 * The rare parts of the encoder, see the header. Drain thread only.
 */
#include "writers/perfetto/proto.h"

#include <errno.h>

#include "core/guest/memory.h"

int gt_proto_init(struct gt_proto *proto, size_t capacity)
{
	*proto = (struct gt_proto){.data = gt_memory_map(capacity), .capacity = capacity};
	if (proto->data)
		return 0;
	proto->capacity = 0;
	return -ENOMEM;
}

void gt_proto_fini(struct gt_proto *proto)
{
	gt_memory_unmap(proto->data, proto->capacity);
	*proto = (struct gt_proto){0};
}

bool gt_proto_grow(struct gt_proto *proto, size_t size)
{
	size_t capacity = proto->capacity ? proto->capacity : 4096;
	uint8_t *data;

	while (capacity - proto->length < size)
		capacity *= 2;
	data = proto->failed ? NULL : gt_memory_grow(proto->data, proto->capacity, capacity);
	if (!data) {
		proto->failed = true;
		return false;
	}
	proto->data = data;
	proto->capacity = capacity;
	return true;
}

void gt_proto_double(struct gt_proto *proto, uint32_t field, double value)
{
	uint8_t *at;

	if (!gt_proto_room(proto, GT_PROTO_VARINT + sizeof(value)))
		return;
	at = gt_proto_put_tag(proto->data + proto->length, field, GT_PROTO_WIRE_64);
	memcpy(at, &value, sizeof(value)); /* the wire format is little-endian, as this machine */
	proto->length = (size_t)(at - proto->data) + sizeof(value);
}

void gt_proto_bytes(struct gt_proto *proto, uint32_t field, const void *data, size_t size)
{
	uint8_t *at;

	if (!gt_proto_room(proto, 2 * GT_PROTO_VARINT + size))
		return;
	at = gt_proto_put_tag(proto->data + proto->length, field, GT_PROTO_WIRE_BYTES);
	at = gt_proto_put_varint(at, size);
	memcpy(at, data, size);
	proto->length = (size_t)(at - proto->data) + size;
}

void gt_proto_end_long(struct gt_proto *proto, size_t begin)
{
	size_t size = proto->length - begin;
	uint8_t head[GT_PROTO_VARINT];
	size_t extra = (size_t)(gt_proto_put_varint(head, size) - head) - 1;

	if (proto->failed || !gt_proto_room(proto, extra))
		return;
	memmove(proto->data + begin + extra, proto->data + begin, size);
	memcpy(proto->data + begin - 1, head, extra + 1);
	proto->length += extra;
}
