/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of a module, read one after the other. Behind the end there are zeros, and is_broken.
 */
#ifndef GT_COLLECTORS_UNWIND_CFI_READER_H
#define GT_COLLECTORS_UNWIND_CFI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What is left to be read. */
struct gt_cfi_reader {
	const uint8_t *at, *end;
	uint64_t address; /* in the module, of @at */
	bool is_broken;
};

/* Whether there is a next byte. */
static inline bool gt_cfi_has(const struct gt_cfi_reader *reader)
{
	return !reader->is_broken && reader->at < reader->end;
}

/* The next @size bytes; NULL: there are fewer. */
static inline const uint8_t *gt_cfi_take(struct gt_cfi_reader *reader, uint64_t size)
{
	const uint8_t *taken = reader->at;

	if (reader->is_broken || size > (uint64_t)(reader->end - reader->at)) {
		reader->is_broken = true;
		return NULL;
	}
	reader->at += size;
	reader->address += size;
	return taken;
}

/* A little-endian number of @size bytes, 1 to 8. */
static inline uint64_t gt_cfi_unsigned(struct gt_cfi_reader *reader, size_t size)
{
	const uint8_t *bytes = gt_cfi_take(reader, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return value;
}

/* The same in two's complement. */
static inline int64_t gt_cfi_signed(struct gt_cfi_reader *reader, size_t size)
{
	unsigned int unused = 64 - 8 * (unsigned int)size;

	return (int64_t)(gt_cfi_unsigned(reader, size) << unused) >> unused;
}

/* A LEB128 number; *ret_sign: the value of its sign bit, 0 when it has all 64 bits. */
static inline uint64_t gt_cfi_leb(struct gt_cfi_reader *reader, uint64_t *ret_sign)
{
	uint64_t value = 0, byte = 0x80;
	unsigned int shift = 0;

	for (; byte & 0x80; shift += 7) {
		byte = gt_cfi_unsigned(reader, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
	}
	*ret_sign = shift < 64 ? (uint64_t)1 << (shift - 1) : 0;
	return value;
}

/* LEB128 without a sign. */
static inline uint64_t gt_cfi_uleb(struct gt_cfi_reader *reader)
{
	uint64_t sign;

	return gt_cfi_leb(reader, &sign);
}

/* LEB128 with a sign. */
static inline int64_t gt_cfi_sleb(struct gt_cfi_reader *reader)
{
	uint64_t sign, value = gt_cfi_leb(reader, &sign);

	return (int64_t)((value ^ sign) - sign);
}

#endif
