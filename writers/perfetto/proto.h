/* SPDX-License-Identifier: Apache-2.0
 *
 * Protocol-buffer wire format in a growing buffer: varints, strings, nested messages. A message's
 * length is known only at its end, so gt_proto_begin reserves one byte for it, and gt_proto_end
 * moves the content if one byte is not enough. Drain thread only; allocates only when a buffer
 * becomes larger than ever before.
 */
#ifndef GT_WRITERS_PERFETTO_PROTO_H
#define GT_WRITERS_PERFETTO_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A buffer of protobuf messages. */
struct gt_proto {
	uint8_t *data;
	size_t length;
	size_t capacity;
	bool failed; /* no memory: something is missing since the last gt_proto_cut */
};

/* An empty buffer with room for @capacity bytes. -ENOMEM. */
int gt_proto_init(struct gt_proto *proto, size_t capacity);
void gt_proto_fini(struct gt_proto *proto);

/* Makes room for @size more bytes, or sets failed. */
bool gt_proto_grow(struct gt_proto *proto, size_t size);

/* Drops everything after @length, and a failure that happened there. */
static inline void gt_proto_cut(struct gt_proto *proto, size_t length)
{
	proto->length = length;
	proto->failed = false;
}

/* Makes sure that @size more bytes fit. False: no memory. */
static inline bool gt_proto_room(struct gt_proto *proto, size_t size)
{
	return __builtin_expect(proto->capacity - proto->length >= size, 1) ||
	       gt_proto_grow(proto, size);
}

/* Bytes of the longest varint. */
#define GT_PROTO_VARINT 10u

/* A varint of any size, see gt_proto_put_varint(). */
static inline uint8_t *gt_proto_put_long_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Writes @value at @at, which has room for GT_PROTO_VARINT bytes. Returns the end. */
static inline uint8_t *gt_proto_put_varint(uint8_t *at, uint64_t value)
{
	if (value < 0x80) {
		*at = (uint8_t)value;
		return at + 1;
	}
	if (value < 0x4000) {
		at[0] = (uint8_t)(value | 0x80);
		at[1] = (uint8_t)(value >> 7);
		return at + 2;
	}
	if (value < 0x200000) { /* most times */
		uint32_t bytes = (uint32_t)((value & 0x7f) | (value << 1 & 0x7f00) |
					    (value << 2 & 0x7f0000)) |
				 0x8080;

		memcpy(at, &bytes, sizeof(bytes)); /* little-endian */
		return at + 3;
	}
	if (value < 0x10000000) { /* ids, after two million launches */
		uint32_t bytes = (uint32_t)((value & 0x7f) | (value << 1 & 0x7f00) |
					    (value << 2 & 0x7f0000) | (value << 3 & 0x7f000000)) |
				 0x808080;

		memcpy(at, &bytes, sizeof(bytes));
		return at + 4;
	}
	return gt_proto_put_long_varint(at, value);
}

/* Wire types in use. */
enum gt_proto_wire { GT_PROTO_WIRE_VARINT, GT_PROTO_WIRE_64 = 1, GT_PROTO_WIRE_BYTES = 2 };

/* Writes the tag of a field at @at. Returns the end. */
static inline uint8_t *gt_proto_put_tag(uint8_t *at, uint32_t field, enum gt_proto_wire wire)
{
	return gt_proto_put_varint(at, (uint64_t)field << 3 | wire);
}

/* Writes a field with a number at @at, which has room for both varints. Returns the end. */
static inline uint8_t *gt_proto_put_uint(uint8_t *at, uint32_t field, uint64_t value)
{
	return gt_proto_put_varint(gt_proto_put_tag(at, field, GT_PROTO_WIRE_VARINT), value);
}

/* Where to write what takes at most @size bytes, by the functions above: byte by byte into the
 * buffer, its length would be loaded and stored for each. gt_proto_written takes the end. NULL: no
 * memory. */
static inline uint8_t *gt_proto_reserve(struct gt_proto *proto, size_t size)
{
	return gt_proto_room(proto, size) ? proto->data + proto->length : NULL;
}

/* See gt_proto_reserve(). */
static inline void gt_proto_written(struct gt_proto *proto, const uint8_t *end)
{
	proto->length = (size_t)(end - proto->data);
}

/* A field with a number; a negative one is written as two's complement, in ten bytes. */
static inline void gt_proto_uint(struct gt_proto *proto, uint32_t field, uint64_t value)
{
	uint8_t *at;

	if (!gt_proto_room(proto, 2 * GT_PROTO_VARINT))
		return;
	at = gt_proto_put_tag(proto->data + proto->length, field, GT_PROTO_WIRE_VARINT);
	proto->length = (size_t)(gt_proto_put_varint(at, value) - proto->data);
}

/* The same for a signed number. */
static inline void gt_proto_int(struct gt_proto *proto, uint32_t field, int64_t value)
{
	gt_proto_uint(proto, field, (uint64_t)value);
}

/* A field with a double. */
void gt_proto_double(struct gt_proto *proto, uint32_t field, double value);

/* A field with @size bytes. */
void gt_proto_bytes(struct gt_proto *proto, uint32_t field, const void *data, size_t size);

/* One field with a zero-terminated text. */
static inline void gt_proto_cstr(struct gt_proto *proto, uint32_t field, const char *text)
{
	gt_proto_bytes(proto, field, text, strlen(text));
}

/* A message as a field: what is appended until gt_proto_end with the returned place is its
 * content. */
static inline size_t gt_proto_begin(struct gt_proto *proto, uint32_t field)
{
	uint8_t *at;

	if (!gt_proto_room(proto, GT_PROTO_VARINT + 1))
		return proto->length;
	at = gt_proto_put_tag(proto->data + proto->length, field, GT_PROTO_WIRE_BYTES);
	proto->length = (size_t)(at - proto->data) + 1;
	return proto->length;
}

/* The rare case of gt_proto_end. */
void gt_proto_end_long(struct gt_proto *proto, size_t begin);

/* Ends the message that was begun at @begin. */
static inline void gt_proto_end(struct gt_proto *proto, size_t begin)
{
	size_t size = proto->length - begin;

	if (__builtin_expect(size < 0x80 && !proto->failed, 1))
		proto->data[begin - 1] = (uint8_t)size;
	else
		gt_proto_end_long(proto, begin);
}

#endif
