/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads protocol-buffer wire format from memory, field by field, never beyond its end: every length
 * is checked before it is used. Pure functions, any thread.
 */
#ifndef GT_READERS_PERFETTO_WIRE_H
#define GT_READERS_PERFETTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A cursor in a message. */
struct gt_wire {
	const uint8_t *at, *end;
	bool bad; /* malformed: no more fields */
};

/* A field of a message. */
struct gt_wire_field {
	uint32_t number;
	uint64_t value;      /* varint and fixed sizes; bits of a double */
	const uint8_t *data; /* length-delimited, else NULL */
	size_t size;
};

/* A cursor at the start of @size bytes. */
static inline struct gt_wire gt_wire_of(const void *data, size_t size)
{
	const uint8_t *bytes = data;

	return (struct gt_wire){.at = bytes, .end = bytes + size};
}

/* A cursor in the content of a field; if it is not a message, an empty one that is bad. */
static inline struct gt_wire gt_wire_inside(const struct gt_wire_field *field)
{
	return (struct gt_wire){.at = field->data,
				.end = field->data ? field->data + field->size : NULL,
				.bad = !field->data};
}

/* Reads a varint and advances *at past it. False: not complete before @end, or too long. */
bool gt_wire_varint(const uint8_t **at, const uint8_t *end, uint64_t *ret_value);

/* Reads the next field. False at the end, or if the rest is malformed. */
bool gt_wire_next(struct gt_wire *wire, struct gt_wire_field *ret_field);

#endif
