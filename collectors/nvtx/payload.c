/* SPDX-License-Identifier: Apache-2.0
 *
 * Registers schemas and copies payloads, see the header. Application threads.
 */
#include "collectors/nvtx/payload.h"

#include <stdatomic.h>
#include <string.h>

#include "collectors/nvtx/registry.h"
#include "collectors/nvtx/text.h"
#include "core/guest/peek.h"

#define PAGE        4096u

/* Strings copied with one payload, at most. */
#define STRINGS_MAX 8u

static _Atomic uint64_t last_schema;

static uint64_t new_id(void)
{
	return NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START +
	       atomic_fetch_add_explicit(&last_schema, 1, memory_order_relaxed);
}

/* A copy for the life of the process; "" without room or text. */
static const char *copy_label(const char *text)
{
	size_t length;
	bool cut;
	char *kept;

	if (!text)
		return "";
	length = gt_nvtx_text_length(text, GT_NVTX_LABEL_MAX, &cut);
	kept = gt_nvtx_registry_room(length + 1);
	if (!kept)
		return "";
	memcpy(kept, text, length);
	return kept;
}

static struct gt_nvtx_key key_of(enum gt_nvtx_kind kind, uint32_t domain, uint64_t id,
				 const char *name)
{
	struct gt_nvtx_key key = {
		.kind = kind, .domain = domain, .number = id, .text = name ? name : ""};
	bool cut;

	key.length = gt_nvtx_text_length(key.text, GT_NVTX_LABEL_MAX, &cut);
	return key;
}

static const void *find_body(enum gt_nvtx_kind kind, uint32_t domain, uint64_t id)
{
	struct gt_nvtx_key key = key_of(kind, domain, id, NULL);
	const struct gt_nvtx_object *object;

	if (id < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START)
		return NULL;
	object = gt_nvtx_find(&key);
	return object ? object->body : NULL;
}

const struct gt_nvtx_schema *gt_nvtx_schema_find(uint32_t domain, uint64_t id)
{
	return find_body(GT_NVTX_SCHEMA, domain, id);
}

const struct gt_nvtx_enum *gt_nvtx_enum_find(uint32_t domain, uint64_t id)
{
	return find_body(GT_NVTX_ENUM, domain, id);
}

static bool is_string_type(uint64_t type)
{
	return type >= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING &&
	       type <= NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32;
}

/* A string by pointer: no length, not embedded. Only byte strings are followed. */
static bool points_to_string(const struct gt_nvtx_entry *entry)
{
	if (entry->type != NVTX_PAYLOAD_ENTRY_TYPE_CSTRING &&
	    entry->type != NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8)
		return false;
	if (entry->flags & NVTX_PAYLOAD_ENTRY_FLAG_POINTER)
		return true;
	return !NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags) && !entry->detail;
}

bool gt_nvtx_is_pointer(const struct gt_nvtx_entry *entry)
{
	return entry->flags &
		       (NVTX_PAYLOAD_ENTRY_FLAG_POINTER | NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_BASE |
			NVTX_PAYLOAD_ENTRY_FLAG_OFFSET_FROM_HERE) ||
	       (is_string_type(entry->type) && !entry->detail &&
		!NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_TYPE(entry->flags));
}

/* Natural alignment of a value of that type. */
static size_t natural_alignment(uint32_t domain, uint64_t type)
{
	const struct gt_nvtx_schema *schema = gt_nvtx_schema_find(domain, type);
	const struct gt_nvtx_enum *e = gt_nvtx_enum_find(domain, type);

	if (schema)
		return schema->align;
	return e ? e->size : gt_nvtx_type_size(type);
}

size_t gt_nvtx_alignment(uint32_t domain, const struct gt_nvtx_schema *schema,
			 const struct gt_nvtx_entry *entry)
{
	size_t align =
		gt_nvtx_is_pointer(entry) ? sizeof(void *) : natural_alignment(domain, entry->type);

	if (schema->pack && align > schema->pack)
		align = schema->pack;
	return align && align <= 16 && !(align & (align - 1)) ? align : 1;
}

static void copy_entry(struct gt_nvtx_entry *to, const nvtxPayloadSchemaEntry_t *from)
{
	*to = (struct gt_nvtx_entry){
		.flags = from->flags,
		.type = from->type,
		.detail = from->arrayOrUnionDetail,
		.offset = from->offset,
		.name = copy_label(from->name),
	};
}

static uint32_t bounded(size_t count)
{
	return count > GT_NVTX_ENTRIES_MAX ? GT_NVTX_ENTRIES_MAX : (uint32_t)count;
}

static struct gt_nvtx_schema *copy_schema(uint32_t domain, const nvtxPayloadSchemaAttr_t *a)
{
	uint32_t count = bounded(a->numEntries);
	struct gt_nvtx_schema *schema =
		gt_nvtx_registry_room(sizeof(*schema) + count * sizeof(schema->entries[0]));

	if (!schema)
		return NULL;
	schema->count = count;
	schema->type = a->type;
	if (a->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_FLAGS)
		schema->flags = a->flags;
	if (a->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE)
		schema->static_size = a->payloadStaticSize;
	if (a->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT)
		schema->pack = a->packAlign;
	schema->align = 1;
	for (uint32_t i = 0; i < count; i++) {
		struct gt_nvtx_entry *entry = &schema->entries[i];
		size_t align;

		copy_entry(entry, &a->entries[i]);
		schema->has_pointers |= points_to_string(entry);
		align = gt_nvtx_alignment(domain, schema, entry);
		if (align > schema->align)
			schema->align = align;
	}
	return schema;
}

/* Registers a body under the program's id or a new one. If registered twice, the first one
 * stays. */
static uint64_t add(enum gt_nvtx_kind kind, uint32_t domain, uint64_t id, const char *name,
		    const void *body)
{
	struct gt_nvtx_key key = key_of(kind, domain, id ? id : new_id(), name);

	return body && gt_nvtx_add(&key, body) ? key.number : 0;
}

uint64_t gt_nvtx_schema_add(uint32_t domain, const nvtxPayloadSchemaAttr_t *a)
{
	const uint64_t needed = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
				NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
				NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
	uint64_t id;

	if (!a || (a->fieldMask & needed) != needed || !a->entries || !a->numEntries)
		return 0;
	id = a->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID ? a->schemaId : 0;
	if (id && gt_nvtx_schema_find(domain, id))
		return id;
	return add(GT_NVTX_SCHEMA, domain, id,
		   a->fieldMask & NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME ? a->name : NULL,
		   copy_schema(domain, a));
}

static struct gt_nvtx_enum *copy_enum(const nvtxPayloadEnumAttr_t *a)
{
	uint32_t count = bounded(a->numEntries);
	struct gt_nvtx_enum *copy =
		gt_nvtx_registry_room(sizeof(*copy) + count * sizeof(copy->entries[0]));

	if (!copy)
		return NULL;
	copy->count = count;
	copy->size = a->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SIZE ? a->sizeOfEnum : 4;
	for (uint32_t i = 0; i < count; i++) {
		copy->entries[i].name = copy_label(a->entries[i].name);
		copy->entries[i].value = a->entries[i].value;
		copy->entries[i].is_flag = a->entries[i].isFlag != 0;
	}
	return copy;
}

uint64_t gt_nvtx_enum_add(uint32_t domain, const nvtxPayloadEnumAttr_t *a)
{
	const uint64_t needed =
		NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_ENUM_ATTR_FIELD_NUM_ENTRIES;
	uint64_t id;

	if (!a || (a->fieldMask & needed) != needed || !a->entries || !a->numEntries)
		return 0;
	id = a->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID ? a->schemaId : 0;
	if (id && gt_nvtx_enum_find(domain, id))
		return id;
	return add(GT_NVTX_ENUM, domain, id,
		   a->fieldMask & NVTX_PAYLOAD_ENUM_ATTR_FIELD_NAME ? a->name : NULL, copy_enum(a));
}

/* ---- copying ---- */

/* How many of @size bytes at @at are on the page of the first one. */
static size_t on_first_page(const void *at, size_t size)
{
	size_t rest = PAGE - ((uintptr_t)at & (PAGE - 1));

	return size < rest ? size : rest;
}

/* Reads memory whose start is valid but whose size is only the program's claim: the first page is
 * read directly. */
static size_t read_checked(void *out, const void *from, size_t size)
{
	size_t first = on_first_page(from, size);
	size_t n = first < size ? gt_peek_copy(out, (uintptr_t)from, size) : 0;

	if (n > first)
		return n;
	memcpy(out, from, first);
	return first;
}

/* Copies the bytes of one payload. The schema's size is trusted, a larger stated size is not. */
static size_t copy_bytes(const struct gt_nvtx_schema *schema, const nvtxPayloadData_t *payload,
			 char *out, size_t room)
{
	size_t known = schema ? schema->static_size : gt_nvtx_type_size(payload->schemaId);
	size_t size = payload->size;

	if (is_string_type(payload->schemaId) && size == SIZE_MAX) {
		size = strnlen(payload->payload, room);
		known = size;
	}
	if (known && size > known)
		size = known;
	if (size == SIZE_MAX) /* unknown */
		return 0;
	if (size > room)
		size = room;
	if (known) {
		memcpy(out, payload->payload, size);
		return size;
	}
	return read_checked(out, payload->payload, size);
}

/* The pointer comes from untrusted bytes. */
static size_t put_string(char *out, size_t room, uint16_t place, const char *text)
{
	uint16_t head[2] = {place, 0};
	size_t n;

	if (room < sizeof(head) + GT_NVTX_STRING_MAX)
		return 0;
	n = gt_peek_copy(out + sizeof(head), (uintptr_t)text, GT_NVTX_STRING_MAX);
	if (!n)
		return 0;
	head[1] = (uint16_t)strnlen(out + sizeof(head), n);
	memcpy(out, head, sizeof(head));
	return sizeof(head) + head[1];
}

/* Copies the strings that entries point to. Entries of such a schema must state their offset. */
static size_t copy_strings(const struct gt_nvtx_schema *schema, const char *bytes, size_t size,
			   char *out, size_t room)
{
	size_t used = 0;
	uint32_t strings = 0;

	for (uint32_t i = 0; i < schema->count && strings < STRINGS_MAX; i++) {
		const struct gt_nvtx_entry *entry = &schema->entries[i];
		const char *text;

		if (!points_to_string(entry) || (i && !entry->offset) ||
		    entry->offset > UINT16_MAX || entry->offset + sizeof(text) > size)
			continue;
		memcpy(&text, bytes + entry->offset, sizeof(text));
		if (!text)
			continue;
		used += put_string(out + used, room - used, (uint16_t)entry->offset, text);
		strings++;
	}
	return used;
}

static size_t copy_payload(uint32_t domain, const nvtxPayloadData_t *payload, char *out,
			   size_t room)
{
	const struct gt_nvtx_schema *schema = gt_nvtx_schema_find(domain, payload->schemaId);
	struct gt_nvtx_blob blob = {.schema = payload->schemaId};
	size_t used = sizeof(blob), most;

	if (room < sizeof(blob) + 8 || !payload->payload ||
	    payload->schemaId == NVTX_TYPE_PAYLOAD_SCHEMA_REFERENCED)
		return 0;
	most = room - sizeof(blob) < GT_NVTX_BLOB_MAX ? room - sizeof(blob) : GT_NVTX_BLOB_MAX;
	blob.size = (uint32_t)copy_bytes(schema, payload, out + used, most);
	used = (used + blob.size + 7) & ~(size_t)7;
	if (schema && schema->has_pointers && used < room)
		blob.strings = (uint32_t)copy_strings(schema, out + sizeof(blob), blob.size,
						      out + used, room - used);
	memcpy(out, &blob, sizeof(blob));
	return (used + blob.strings + 7) & ~(size_t)7;
}

size_t gt_nvtx_payload_copy(uint32_t domain, const nvtxPayloadData_t *payloads, size_t count,
			    char *out, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < count && i < 16 && used < room; i++)
		used += copy_payload(domain, &payloads[i], out + used, room - used);
	return used;
}
