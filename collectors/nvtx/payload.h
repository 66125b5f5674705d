/* SPDX-License-Identifier: Apache-2.0
 *
 * Payloads: binary data that the program attaches to a range, and the schemas that describe them.
 * Schemas are copied deeply when registered. Payloads are copied at the call, with hard limits and
 * without trusting the size that the program states; the drain thread turns them into text.
 */
#ifndef GT_COLLECTORS_NVTX_PAYLOAD_H
#define GT_COLLECTORS_NVTX_PAYLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/nvtx/number.h"

#define GT_NVTX_PAYLOAD_MAX 768u /* bytes of all payloads of a record */
#define GT_NVTX_BLOB_MAX    512u /* bytes of one payload */
#define GT_NVTX_ENTRIES_MAX 256u /* of a schema or an enumeration */
#define GT_NVTX_STRING_MAX  120u /* of a string that a payload points to */
#define GT_NVTX_LABEL_MAX   120u /* names of entries */

/* A stored entry of a payload schema. */
struct gt_nvtx_entry {
	uint64_t flags;   /* NVTX_PAYLOAD_ENTRY_FLAG_* */
	uint64_t type;    /* NVTX_PAYLOAD_ENTRY_TYPE_* or the id of a schema */
	uint64_t detail;  /* length, or index of the entry that holds it */
	uint64_t offset;  /* 0 after the first entry: by alignment */
	const char *name; /* never NULL */
};

/* Body of a GT_NVTX_SCHEMA. */
struct gt_nvtx_schema {
	uint64_t type, flags;
	size_t static_size; /* 0: not stated */
	size_t pack;        /* 0: natural alignment */
	uint32_t count;
	bool has_pointers; /* to strings, which are copied as well */
	size_t align;      /* of its widest entry, 1 .. 16 */
	struct gt_nvtx_entry entries[];
};

/* Body of a GT_NVTX_ENUM. */
struct gt_nvtx_enum {
	size_t size;
	uint32_t count;
	struct {
		const char *name;
		uint64_t value;
		bool is_flag;
	} entries[];
};

/* Body of a GT_NVTX_COUNTER. */
struct gt_nvtx_counter {
	uint64_t schema; /* id of a schema, or a number type */
};

/* Header of one payload in a record; followed by @size bytes, padding to 8, the strings. */
struct gt_nvtx_blob {
	uint64_t schema;
	uint32_t size;
	uint32_t strings; /* bytes: for each { u16 place in the payload, u16 length, text } */
};

/* Registers a schema or enumeration; returns its id, 0: refused. Application threads. */
uint64_t gt_nvtx_schema_add(uint32_t domain, const nvtxPayloadSchemaAttr_t *attributes);
uint64_t gt_nvtx_enum_add(uint32_t domain, const nvtxPayloadEnumAttr_t *attributes);

/* NULL: not registered. Any thread. */
const struct gt_nvtx_schema *gt_nvtx_schema_find(uint32_t domain, uint64_t id);
const struct gt_nvtx_enum *gt_nvtx_enum_find(uint32_t domain, uint64_t id);

/* Whether an entry is a pointer or an offset in the payload. Any thread. */
bool gt_nvtx_is_pointer(const struct gt_nvtx_entry *entry);

/* The alignment, 1 .. 16, of an entry of @schema. Any thread. */
size_t gt_nvtx_alignment(uint32_t domain, const struct gt_nvtx_schema *schema,
			 const struct gt_nvtx_entry *entry);

/* Copies payloads to @out as blobs. Returns the bytes used, a multiple of 8, at most @room.
 * Application threads. A system call only for strings that a payload points to, and for a payload
 * of unknown schema that crosses a page, whose stated size cannot be trusted. */
size_t gt_nvtx_payload_copy(uint32_t domain, const nvtxPayloadData_t *payloads, size_t count,
			    char *out, size_t room);

/* ---- decode.c, drain thread ---- */

/*
 * The blobs at @data as text "name=value name=value", zero-terminated, in @out. A string that the
 * schema marks as the event's message goes to @message instead. Any bytes are handled: what has no
 * text is shown as hex, what does not fit is cut.
 */
struct gt_nvtx_decoded {
	char text[96];
	char message[GT_NVTX_STRING_MAX + 1];
	const char *schema_name; /* of the first payload, or NULL */
	bool has_times;          /* RANGE_BEGIN / RANGE_END or TIMESTAMP entries: */
	int64_t begin, end;
};

/* Decodes a payload of @domain into @out as text. Drain thread. */
void gt_nvtx_decode(uint32_t domain, const char *data, size_t size,
		    struct gt_nvtx_decoded *ret_decoded);

/* Passes every top-level number of the blobs at @data to @each, and values of enumerations. */
void gt_nvtx_decode_numbers(uint32_t domain, const char *data, size_t size,
			    void (*each)(void *context, const struct gt_nvtx_number *number),
			    void *context);

#endif
