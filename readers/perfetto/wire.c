/* SPDX-License-Identifier: Apache-2.0
 *
 * See wire.h. Groups, which are obsolete, are refused. Pure functions, any thread.
 */
#include "readers/perfetto/wire.h"

#include <string.h>

bool gt_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_value)
{
	const uint8_t *p = *at;
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70 && p < end; shift += 7, p++) {
		value |= shift < 64 ? (uint64_t)(*p & 0x7f) << shift : 0;
		if (*p < 0x80) {
			*at = p + 1;
			*ret_value = value;
			return true;
		}
	}
	return false;
}

/* Reads a little-endian number of @size bytes. */
static bool fixed(struct gt_wire *wire, size_t size, uint64_t *ret_value)
{
	uint64_t value = 0;

	if ((size_t)(wire->end - wire->at) < size)
		return false;
	memcpy(&value, wire->at, size);
	wire->at += size;
	*ret_value = value;
	return true;
}

static bool bytes(struct gt_wire *wire, struct gt_wire_field *field)
{
	uint64_t size;

	if (!gt_wire_varint(&wire->at, wire->end, &size) || size > (uint64_t)(wire->end - wire->at))
		return false;
	field->data = wire->at;
	field->size = (size_t)size;
	wire->at += size;
	return true;
}

static bool value(struct gt_wire *wire, unsigned int type, struct gt_wire_field *field)
{
	switch (type) {
	case 0:
		return gt_wire_varint(&wire->at, wire->end, &field->value);
	case 1:
		return fixed(wire, 8, &field->value);
	case 2:
		return bytes(wire, field);
	case 5:
		return fixed(wire, 4, &field->value);
	default:
		return false;
	}
}

bool gt_wire_next(struct gt_wire *wire, struct gt_wire_field *ret_field)
{
	struct gt_wire_field field = {0};
	uint64_t tag;

	if (wire->bad || wire->at >= wire->end)
		return false;
	if (!gt_wire_varint(&wire->at, wire->end, &tag) || tag >> 3 == 0 || tag >> 35 ||
	    !value(wire, tag & 7, &field)) {
		wire->bad = true;
		return false;
	}
	field.number = (uint32_t)(tag >> 3);
	*ret_field = field;
	return true;
}
