/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of code objects, see the header. A slot is claimed by storing the finished copy with
 * one compare-and-swap; its identity follows. A thread that finds a copy without identity reads it
 * from the copy.
 */
#include "collectors/python/codes.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/guest/memory.h"

#define SLOTS           (2 * GT_PYTHON_CODES_MAX)

/* Address space for the copies; pages are touched as needed. */
#define COPIES_BYTES    ((size_t)32 << 20)

/* Longer names are cut, longer tables left out. */
#define NAME_MAX_CHARS  4096u
#define TABLE_MAX_BYTES (256u << 10)

/* Offset of a type's flags, the same in all versions, and their values. */
#define TYPE_FLAGS      168
#define BYTES_SUBCLASS  (UINT64_C(1) << 27)
#define STRING_SUBCLASS (UINT64_C(1) << 28)

/* Code objects that are found by their address first: a power of two. */
#define RECENT          8192u

struct python_slot {
	_Atomic uint64_t identity; /* 0: empty, or not written yet */
	struct gt_python_code *_Atomic code;
};

static struct {
	struct python_slot *slots;
	uint8_t *copies;
	const struct gt_python_code *_Atomic recent[RECENT]; /* by the original's address */
	_Atomic size_t copies_used;
	_Atomic uint64_t seen, refused;
} codes;

int gt_python_codes_start(void)
{
	if (!codes.slots)
		codes.slots = gt_memory_map(SLOTS * sizeof(codes.slots[0]));
	if (!codes.copies)
		codes.copies = gt_memory_map(COPIES_BYTES);
	return codes.slots && codes.copies ? 0 : -ENOMEM;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
	return x ^ x >> 29;
}

/* Room for a copy of an object's head: all fields that are read. */
#define HEAD_BYTES 512u

/* Copies the first @size bytes of @object, which then cannot disappear. */
static bool copy_head(uint64_t object, size_t size, uint8_t ret_head[HEAD_BYTES])
{
	return object % sizeof(uint64_t) == 0 && size <= HEAD_BYTES &&
	       gt_python_read_copy(object, ret_head, size);
}

/* As copy_head, of an object that must be of the type whose address is @type. */
static bool copy_typed(const struct gt_python_layout *layout, uint64_t object, size_t size,
		       uint64_t type, uint8_t ret_head[HEAD_BYTES])
{
	return copy_head(object, size, ret_head) &&
	       gt_python_word((uint64_t)ret_head, layout->object_type) == type;
}

/* As copy_typed; also accepts an object of a derived type, which has @flag: a program may compile
 * its source with a file name of its own type. */
static bool copy_derived(const struct gt_python_layout *layout, uint64_t object, size_t size,
			 uint64_t type, uint64_t flag, uint8_t ret_head[HEAD_BYTES])
{
	uint64_t own, flags;

	if (!copy_head(object, size, ret_head))
		return false;
	own = gt_python_word((uint64_t)ret_head, layout->object_type);
	return own == type ||
	       (gt_python_read_copy(own + TYPE_FLAGS, &flags, sizeof(flags)) && (flags & flag));
}

/* Hashes @size readable bytes. Terms are independent of each other, for speed. */
static uint64_t hash_bytes(uint64_t at, uint32_t size)
{
	uint64_t sum = 0, factor = 0x9e3779b97f4a7c15u;

	if (size < 8) {
		for (uint32_t i = 0; i < size; i++)
			sum = sum << 8 | gt_python_byte(at, i);
		return sum * factor;
	}
	for (uint32_t i = 0; i + 8 <= size; i += 8, factor += 0x9e3779b97f4a7c16u) {
		uint64_t x = gt_python_word(at, i) * factor;

		sum += x ^ x >> 32;
	}
	return sum + gt_python_word(at, size - 8) * factor;
}

/* Hash of the line table: source that was recompiled to the same address with the same names has
 * another table. Both ends of a long table. */
static uint64_t hash_table(const struct gt_python_runtime *runtime, uint64_t table)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint64_t data = table + layout->bytes_data, size, part, end;

	if (!gt_python_can_read(table, layout->bytes_data))
		return 0;
	size = gt_python_word(table, layout->bytes_size);
	if (size == 0 || size > TABLE_MAX_BYTES)
		return size;
	part = size < GT_PYTHON_TABLE_ENDS ? size : GT_PYTHON_TABLE_ENDS;
	end = data + size - part;
	if (!gt_python_can_read(data, part) || !gt_python_can_read(end, part))
		return size;
	return size + hash_bytes(data, (uint32_t)part) +
	       (part < size ? 3 * hash_bytes(end, (uint32_t)part) : 0);
}

/* hash_table for a table that may disappear at any moment. */
static uint64_t hash_table_copy(const struct gt_python_runtime *runtime, uint64_t table)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint64_t data = table + layout->bytes_data, size, part;
	uint8_t head[HEAD_BYTES], ends[2][GT_PYTHON_TABLE_ENDS];

	if (!copy_head(table, layout->bytes_data, head))
		return 0;
	size = gt_python_word((uint64_t)head, layout->bytes_size);
	if (size == 0 || size > TABLE_MAX_BYTES)
		return size;
	part = size < GT_PYTHON_TABLE_ENDS ? size : GT_PYTHON_TABLE_ENDS;
	if (!gt_python_read_copy(data, ends[0], part) ||
	    !gt_python_read_copy(data + size - part, ends[1], part))
		return size;
	return size + hash_bytes((uint64_t)ends[0], (uint32_t)part) +
	       (part < size ? 3 * hash_bytes((uint64_t)ends[1], (uint32_t)part) : 0);
}

/* Hash of what distinguishes the code object at @object (its fields are at @head) from others that
 * were or will be at its address. Never 0. Terms are independent of each other. */
static inline __attribute__((always_inline)) uint64_t make_identity(
	const struct gt_python_layout *layout, uint64_t object, uint64_t head, uint64_t table,
	uint64_t table_hash)
{
	uint64_t identity = mix(object) + 3 * mix(table + table_hash) +
			    5 * mix(gt_python_word(head, layout->code_name)) +
			    7 * mix(gt_python_word(head, layout->code_filename)) +
			    (uint32_t)gt_python_int(head, layout->code_first_line);

	identity = mix(identity);
	return identity ? identity : 1;
}

/* 0: not a code object. */
static uint64_t identify(const struct gt_python_runtime *runtime, uint64_t object)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint64_t table;

	if (object % sizeof(uint64_t) || !gt_python_can_read(object, layout->code_size) ||
	    gt_python_word(object, layout->object_type) != runtime->code_type)
		return 0;
	table = gt_python_word(object, layout->code_table);
	return make_identity(layout, object, object, table, hash_table(runtime, table));
}

/* The same for an object that may disappear at any moment. */
static uint64_t identify_copy(const struct gt_python_runtime *runtime, uint64_t object)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint8_t head[HEAD_BYTES];
	uint64_t table;

	if (!copy_typed(layout, object, layout->code_size, runtime->code_type, head))
		return 0;
	table = gt_python_word((uint64_t)head, layout->code_table);
	return make_identity(layout, object, (uint64_t)head, table,
			     hash_table_copy(runtime, table));
}

/* Room among the copies; never freed. */
static void *allocate(size_t size)
{
	size_t at;

	size = (size + 7) & ~(size_t)7;
	at = atomic_fetch_add_explicit(&codes.copies_used, size, memory_order_relaxed);
	if (at + size > COPIES_BYTES) {
		atomic_fetch_sub_explicit(&codes.copies_used, size, memory_order_relaxed);
		return NULL;
	}
	return codes.copies + at;
}

static const uint8_t *copy_bytes(uint64_t from, size_t size)
{
	uint8_t *to = allocate(size ? size : 1);

	if (!to || (size && !gt_python_read_copy(from, to, size)))
		return NULL;
	return to;
}

/* state: interned 2 bits, kind 3, compact 1, ascii 1. In a type derived from str the characters do
 * not follow the object: a pointer to them is where those of a compact string would begin. */
static bool copy_string(const struct gt_python_runtime *runtime, uint64_t object,
			struct gt_python_text *ret_text)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint8_t head[HEAD_BYTES];
	uint32_t state, kind;
	uint64_t length, text;

	/* a string of one letter may be the last thing on its page: string_ascii */
	if (!copy_derived(layout, object, layout->string_ascii, runtime->string_type,
			  STRING_SUBCLASS, head))
		return false;
	state = (uint32_t)gt_python_int((uint64_t)head, layout->string_state);
	length = gt_python_word((uint64_t)head, layout->string_length);
	kind = state >> 2 & 7;
	if (kind != 1 && kind != 2 && kind != 4)
		return false;
	text = object + (state >> 6 & 1 ? layout->string_ascii : layout->string_compact);
	if (!(state >> 5 & 1) &&
	    !gt_python_read_copy(object + layout->string_compact, &text, sizeof(text)))
		return false;
	*ret_text = (struct gt_python_text){
		.count = length < NAME_MAX_CHARS ? (uint32_t)length : NAME_MAX_CHARS,
		.width = kind,
	};
	ret_text->bytes = copy_bytes(text, (size_t)ret_text->count * kind);
	return ret_text->bytes != NULL;
}

/* A table that is too long or unreadable is left out: then every line is the function's first. */
static bool copy_table(const struct gt_python_runtime *runtime, uint64_t object,
		       struct gt_python_code *code)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint8_t head[HEAD_BYTES];
	uint64_t size;

	if (!copy_derived(layout, object, layout->bytes_data, runtime->bytes_type, BYTES_SUBCLASS,
			  head))
		return false;
	size = gt_python_word((uint64_t)head, layout->bytes_size);
	if (size > TABLE_MAX_BYTES)
		return true;
	code->table = copy_bytes(object + layout->bytes_data, size);
	code->table_size = code->table ? (uint32_t)size : 0;
	return code->table != NULL;
}

/* Size of the instructions in bytes; if they are inside the object, it counts units of two. */
static uint32_t read_length(const struct gt_python_runtime *runtime, uint64_t code_head)
{
	const struct gt_python_layout *layout = &runtime->layout;
	uint8_t head[HEAD_BYTES];
	uint64_t length;

	if (layout->code_bytes == GT_PYTHON_NO_FIELD)
		length = gt_python_word(code_head, layout->bytes_size) * 2;
	else if (copy_typed(layout, gt_python_word(code_head, layout->code_bytes),
			    layout->bytes_data, runtime->bytes_type, head))
		length = gt_python_word((uint64_t)head, layout->bytes_size);
	else
		return 0;
	return length < INT32_MAX ? (uint32_t)length : 0;
}

static struct gt_python_code *copy_code(const struct gt_python_runtime *runtime, uint64_t object,
					uint64_t identity)
{
	const struct gt_python_layout *layout = &runtime->layout;
	struct gt_python_code *code = allocate(sizeof(*code));
	uint8_t bytes[HEAD_BYTES];
	uint64_t head = (uint64_t)bytes;

	if (!code || !copy_head(object, layout->code_size, bytes))
		return NULL;
	code->identity = identity;
	code->object = object;
	code->table_object = gt_python_word(head, layout->code_table);
	code->name_object = gt_python_word(head, layout->code_name);
	code->filename_object = gt_python_word(head, layout->code_filename);
	code->format = layout->table;
	code->first_line = gt_python_int(head, layout->code_first_line);
	code->length = read_length(runtime, head);
	if (!copy_string(runtime, code->name_object, &code->name) ||
	    !copy_string(runtime, code->filename_object, &code->filename) ||
	    !copy_table(runtime, code->table_object, code))
		return NULL;
	return code;
}

/* Stores @code in the first free slot of its row. A slot in which another thread stored the same
 * object serves as well. */
static uint32_t publish(struct gt_python_code *code)
{
	for (uint32_t i = 0; i < SLOTS; i++) {
		uint32_t at = (uint32_t)(code->identity + i) % SLOTS;
		struct python_slot *slot = &codes.slots[at];
		struct gt_python_code *there = NULL;

		code->number = at + 1;
		/* release: the copy is whole before it can be found */
		if (atomic_compare_exchange_strong_explicit(&slot->code, &there, code,
							    memory_order_acq_rel,
							    memory_order_acquire)) {
			atomic_store_explicit(&slot->identity, code->identity,
					      memory_order_release);
			atomic_fetch_add_explicit(&codes.seen, 1, memory_order_relaxed);
			return at + 1;
		}
		if (there->identity == code->identity)
			return at + 1;
	}
	return 0;
}

static uint32_t refuse(void)
{
	atomic_fetch_add_explicit(&codes.refused, 1, memory_order_relaxed);
	return 0;
}

static uint32_t add_new(const struct gt_python_runtime *runtime, uint64_t object, uint64_t identity)
{
	struct gt_python_code *code;

	if (atomic_load_explicit(&codes.seen, memory_order_relaxed) >= GT_PYTHON_CODES_MAX)
		return refuse();
	code = copy_code(runtime, object, identity);
	return code ? publish(code) : refuse();
}

static inline __attribute__((always_inline)) uint32_t find_number(
	const struct gt_python_runtime *runtime, uint64_t object, uint64_t identity)
{
	if (!identity)
		return refuse();
	for (uint32_t i = 0;; i++) {
		uint32_t at = (uint32_t)(identity + i) % SLOTS;
		/* pairs with the release in publish: the copy is there when its identity is */
		uint64_t there =
			atomic_load_explicit(&codes.slots[at].identity, memory_order_acquire);

		if (__builtin_expect(there == identity, 1))
			return at + 1;
		if (there == 0)
			return add_new(runtime, object, identity);
	}
}

bool gt_python_code_has_ends(const struct gt_python_code *code, const uint8_t *table)
{
	uint32_t rest = code->table_size - GT_PYTHON_TABLE_ENDS;

	return gt_python_same(code->table, table, GT_PYTHON_TABLE_ENDS) &&
	       gt_python_same(code->table + rest, table + rest, GT_PYTHON_TABLE_ENDS);
}

static const struct gt_python_code *_Atomic *recent_of(uint64_t object)
{
	return &codes.recent[(object >> 4 ^ object >> 17) % RECENT];
}

uint32_t gt_python_codes_number(const struct gt_python_runtime *runtime, uint64_t object)
{
	const struct gt_python_code *_Atomic *recent = recent_of(object);
	/* pairs with the release below: the copy is whole */
	const struct gt_python_code *code = atomic_load_explicit(recent, memory_order_acquire);
	struct gt_python_offsets offsets = gt_python_offsets_of(&runtime->layout);
	uint32_t number;

	if (__builtin_expect(
		    code && code->object == object && code->table &&
			    gt_python_code_is_unchanged(&offsets, runtime->code_type, code),
		    1))
		return code->number;
	number = find_number(runtime, object, identify(runtime, object));
	if (number)
		atomic_store_explicit(recent, gt_python_codes_at(number), memory_order_release);
	return number;
}

uint32_t gt_python_codes_number_elsewhere(const struct gt_python_runtime *runtime, uint64_t object)
{
	return find_number(runtime, object, identify_copy(runtime, object));
}

uint32_t gt_python_codes_number_of_copy(const struct gt_python_runtime *runtime, uint64_t object,
					const void *head)
{
	const struct gt_python_code *_Atomic *recent = recent_of(object);
	const struct gt_python_code *code = atomic_load_explicit(recent, memory_order_acquire);
	struct gt_python_offsets offsets = gt_python_offsets_of(&runtime->layout);
	uint32_t number;

	if (code && code->object == object &&
	    gt_python_code_has(&offsets, runtime->code_type, (uint64_t)head, code))
		return code->number;
	number = gt_python_codes_number_elsewhere(runtime, object);
	if (number)
		atomic_store_explicit(recent, gt_python_codes_at(number), memory_order_release);
	return number;
}

const struct gt_python_code *gt_python_codes_at(uint32_t number)
{
	if (number == 0 || number > SLOTS || !codes.slots)
		return NULL;
	return atomic_load_explicit(&codes.slots[number - 1].code, memory_order_acquire);
}

struct gt_python_code_counts gt_python_codes_count(void)
{
	return (struct gt_python_code_counts){
		.seen = atomic_load_explicit(&codes.seen, memory_order_relaxed),
		.refused = atomic_load_explicit(&codes.refused, memory_order_relaxed),
	};
}
