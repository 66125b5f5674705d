/* SPDX-License-Identifier: Apache-2.0
 *
 * See packed.h. RFC 1951 and 1952 describe the bytes.
 */
#include "writers/packed.h"

#include <errno.h>
#include <string.h>

#include "core/guest/memory.h"
#include "writers/deflate.h"

#define PIECE        ((size_t)256 << 10) /* is compressed at once */
#define HEAD_MOST    65535u
#define BEGIN_SIZE   10u
#define STORED_SIZE  5u  /* before the bytes of a stored block */
#define TRAILER_SIZE 8u  /* CRC and size */
#define SMALL        64u /* is stored rather than compressed */
#define END_ROOM     (STORED_SIZE + SMALL + TRAILER_SIZE)
#define POLYNOMIAL   0xedb88320u
#define UNKNOWN      UINT64_MAX /* size of the file after an error */

struct gt_packed {
	struct gt_packed_file file;
	struct gt_packed_place place;
	size_t head;
	uint32_t head_crc;
	uint32_t rest_crc;  /* of all behind the head */
	uint64_t rest_size; /* of that */
	uint64_t size;      /* of the file */
	struct gt_deflate *deflate;
	size_t used, room; /* of out */
	uint8_t out[];
};

static size_t out_room(void)
{
	return BEGIN_SIZE + gt_deflate_most(PIECE) + END_ROOM;
}

size_t gt_packed_bytes(void)
{
	return sizeof(struct gt_packed) + out_room() + gt_deflate_bytes();
}

struct gt_packed *gt_packed_new(const struct gt_packed_file *file)
{
	struct gt_deflate *deflate = gt_deflate_new();
	struct gt_packed *packed = deflate ? gt_memory_map(sizeof(*packed) + out_room()) : NULL;

	if (!packed) {
		gt_deflate_free(deflate);
		return NULL;
	}
	packed->file = *file;
	packed->deflate = deflate;
	packed->room = out_room();
	return packed;
}

void gt_packed_free(struct gt_packed *packed)
{
	if (!packed)
		return;
	gt_deflate_free(packed->deflate);
	gt_memory_unmap(packed, sizeof(*packed) + packed->room);
}

struct gt_packed_place gt_packed_place(const struct gt_packed *packed)
{
	return packed->place;
}

/* ---- the CRC of two parts ---- */

/* Product of two polynomials modulo that of the CRC; the highest bit is that of x^0. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
		if (a & bit)
			product ^= b;
		b = b & 1 ? b >> 1 ^ POLYNOMIAL : b >> 1;
	}
	return product;
}

/* The part of @crc in the CRC of a text that goes on for @bytes. */
static uint32_t shift(uint32_t crc, uint64_t bytes)
{
	uint32_t square = 1u << (31 - 8); /* x^8 */

	for (; bytes; bytes >>= 1) {
		if (bytes & 1)
			crc = multiply(crc, square);
		square = multiply(square, square);
	}
	return crc;
}

/* ---- the parts of the file, each appended to what is to be written ---- */

static void put(struct gt_packed *packed, const void *data, size_t size)
{
	memcpy(packed->out + packed->used, data, size);
	packed->used += size;
}

static void put_number(struct gt_packed *packed, uint32_t number, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++, number >>= 8)
		packed->out[packed->used++] = (uint8_t)number;
}

/* Made by nobody in particular at no time. */
static void put_begin(struct gt_packed *packed)
{
	static const uint8_t begin[BEGIN_SIZE] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 3};

	put(packed, begin, sizeof(begin));
}

static void put_stored_head(struct gt_packed *packed, size_t size, bool is_last)
{
	put_number(packed, is_last, 1);
	put_number(packed, (uint32_t)size, 2);
	put_number(packed, ~(uint32_t)size, 2);
}

static void put_trailer(struct gt_packed *packed)
{
	put_number(packed, shift(packed->head_crc, packed->rest_size) ^ packed->rest_crc, 4);
	put_number(packed, (uint32_t)(packed->head + packed->rest_size), 4);
}

static int put_deflated(struct gt_packed *packed, const void *data, size_t size)
{
	size_t n = gt_deflate_run(packed->deflate, data, size, packed->out + packed->used,
				  packed->room - END_ROOM - packed->used);

	packed->used += n;
	return n ? 0 : -EIO;
}

/* ---- writing ---- */

/* Writes what was put at @at. */
static int write_out(struct gt_packed *packed, uint64_t *at)
{
	const struct gt_packed_file *file = &packed->file;
	int error = file->write(file->context, *at, packed->out, packed->used);

	if (error)
		packed->size = UNKNOWN;
	*at += packed->used;
	packed->used = 0;
	return error;
}

/* In pieces of which all but the last are written. */
static int deflate(struct gt_packed *packed, const uint8_t *data, size_t size, uint64_t *at)
{
	int error = 0;

	while (size && !error) {
		size_t piece = size < PIECE ? size : PIECE;

		if (packed->used + gt_deflate_most(piece) + END_ROOM > packed->room)
			error = write_out(packed, at);
		if (!error)
			error = put_deflated(packed, data, piece);
		data += piece;
		size -= piece;
	}
	return error;
}

/* Behind @place, of which all else in the file is: @size bytes that will be replaced, and the end.
 */
static int end(struct gt_packed *packed, const struct gt_packed_place *place, const uint8_t *data,
	       size_t size, uint64_t at)
{
	size_t stored = size <= SMALL ? size : 0;
	int error = stored == size ? 0 : deflate(packed, data, size, &at);

	if (error)
		return error;
	packed->rest_crc = gt_deflate_crc(place->crc, data, size);
	packed->rest_size = place->offset + size - packed->head;
	put_stored_head(packed, stored, true);
	put(packed, data, stored);
	put_trailer(packed);
	error = write_out(packed, &at);
	if (!error && at < packed->size)
		error = packed->file.truncate(packed->file.context, at);
	packed->size = at;
	return error;
}

int gt_packed_begin(struct gt_packed *packed, const void *data, size_t head, size_t size)
{
	struct gt_packed_place place = {.offset = head, .stored = BEGIN_SIZE + STORED_SIZE + head};
	int error;

	if (head > HEAD_MOST || packed->place.stored)
		return -EINVAL;
	packed->used = 0;
	packed->head = head;
	packed->head_crc = gt_deflate_crc(0, data, head);
	put_begin(packed);
	put_stored_head(packed, head, false);
	put(packed, data, head);
	error = end(packed, &place, (const uint8_t *)data + head, size - head, 0);
	if (!error)
		packed->place = place;
	return error;
}

int gt_packed_write(struct gt_packed *packed, const void *data, size_t kept, size_t size)
{
	struct gt_packed_place place = packed->place;
	uint64_t at = place.stored;
	int error;

	packed->used = 0;
	if (!at)
		put_begin(packed);
	error = deflate(packed, data, kept, &at);
	if (error)
		return error;
	place.offset += kept;
	place.stored = at + packed->used;
	place.crc = gt_deflate_crc(place.crc, data, kept);
	error = end(packed, &place, (const uint8_t *)data + kept, size - kept, at);
	if (!error)
		packed->place = place;
	return error;
}

/* A kill in between leaves a member without its trailer, which is cut, and not a wrong one. */
int gt_packed_rewrite(struct gt_packed *packed, const void *data, size_t head)
{
	const struct gt_packed_file *file = &packed->file;
	uint64_t at = packed->size - TRAILER_SIZE;
	int error, failed;

	if (!packed->place.stored || packed->size == UNKNOWN || head != packed->head)
		return -EINVAL;
	error = file->truncate(file->context, at);
	if (error)
		return error;
	error = file->write(file->context, BEGIN_SIZE + STORED_SIZE, data, head);
	if (!error)
		packed->head_crc = gt_deflate_crc(0, data, head);
	packed->used = 0;
	put_trailer(packed);
	failed = write_out(packed, &at);
	return error ? error : failed;
}

int gt_packed_go_back(struct gt_packed *packed, const struct gt_packed_place *place)
{
	if (!place->stored)
		return -EINVAL;
	packed->place = *place;
	packed->used = 0;
	return end(packed, place, NULL, 0, place->stored);
}
