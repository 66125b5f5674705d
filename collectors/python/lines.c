/* SPDX-License-Identifier: Apache-2.0
 *
 * Decoders of line tables, see the header. Sums have 64 bits, so that no malformed table overflows
 * them.
 */
#include "collectors/python/lines.h"

/* A line delta that means: no line. */
#define NO_LINE (-128)

/* Kinds of entries in a location table (the numbers are CPython's). */
enum location_kind {
	LOCATION_ONE_LINE0 = 10, /* line deltas of 0, 1, 2; two columns follow */
	LOCATION_ONE_LINE2 = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
	LOCATION_NONE = 15,
};

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs of an address delta and a line delta; a pair's line begins at its address. */
static uint32_t find_in_lnotab(const uint8_t *table, size_t size, int64_t line, int32_t offset)
{
	int64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > offset)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* Pairs of a length and a line delta: the line of that many bytes. */
static uint32_t find_in_linetable(const uint8_t *table, size_t size, int64_t line, int32_t offset)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != NO_LINE)
			line += delta;
		if (end > offset)
			return delta == NO_LINE ? 0 : as_line(line);
	}
	return 0;
}

/* Six bits a byte, lowest first; bit 6: more follow. Bit 0 of the result is the sign. */
static int64_t read_signed(const uint8_t *at, const uint8_t *end)
{
	uint64_t value = 0;
	unsigned int shift = 0;

	while (at < end && shift < 36) {
		value |= (uint64_t)(*at & 63) << shift;
		shift += 6;
		if (!(*at++ & 64))
			break;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t read_line_delta(unsigned int kind, const uint8_t *at, const uint8_t *end)
{
	if (kind == LOCATION_NO_COLUMNS || kind == LOCATION_LONG)
		return read_signed(at, end);
	if (kind >= LOCATION_ONE_LINE0 && kind <= LOCATION_ONE_LINE2)
		return kind - LOCATION_ONE_LINE0;
	return 0;
}

/* Only the first byte of an entry has bit 7: four bits of kind, three bits of length in units of
 * two bytes, minus one. */
static uint32_t find_in_locations(const uint8_t *table, size_t size, int64_t line, int32_t offset)
{
	const uint8_t *at = table, *const table_end = table + size;
	int64_t end = 0;

	while (at < table_end) {
		unsigned int kind = *at >> 3 & 15;

		end += ((*at & 7) + 1) * 2;
		at++;
		line += read_line_delta(kind, at, table_end);
		if (end > offset)
			return kind == LOCATION_NONE ? 0 : as_line(line);
		while (at < table_end && !(*at & 128))
			at++;
	}
	return 0;
}

uint32_t gt_python_line(enum gt_python_table format, const uint8_t *table, size_t size,
			int32_t first_line, int32_t offset)
{
	if (offset < 0)
		return as_line(first_line);
	switch (format) {
	case GT_PYTHON_LNOTAB:
		return find_in_lnotab(table, size, first_line, offset);
	case GT_PYTHON_LINETABLE:
		return find_in_linetable(table, size, first_line, offset);
	case GT_PYTHON_LOCATIONS:
		return find_in_locations(table, size, first_line, offset);
	case GT_PYTHON_TABLE_COUNT_:
		break;
	}
	return 0;
}
