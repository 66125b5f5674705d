/* SPDX-License-Identifier: Apache-2.0
 *
 * Interned data: a name, a frame or a call stack is written once and referred to by a number. The
 * ids of core/intern.h and core/stack.h serve as numbers; other keys get one from the map. Drain
 * thread only; allocates when a string or stack is new.
 */
#include "writers/perfetto/perfetto.h"

#include <errno.h>

#include "core/hash.h"
#include "core/json/event_text.h"
#include "core/json/json.h"

#define FIRST_ROWS  1024u
#define FIRST_SLOTS 1024u
#define MAX_SLOTS   (1u << 22)

/* Longer text is cut: names are displayed. */
#define MAX_TEXT    ((size_t)64 << 10)

/* Iid of strings without an id of their own, above all ids. */
#define NO_NAME_IID 0x7fffffffu

int gt_perfetto_names_init(struct gt_perfetto_names *names)
{
	names->strings = gt_memory_map(FIRST_ROWS * sizeof(*names->strings));
	names->string_count = names->strings ? FIRST_ROWS : 0;
	names->stacks = gt_memory_map(FIRST_ROWS);
	names->stack_count = names->stacks ? FIRST_ROWS : 0;
	names->map.entries = gt_memory_map(FIRST_SLOTS * sizeof(*names->map.entries));
	names->map.slots = names->map.entries ? FIRST_SLOTS : 0;
	names->tracks = GT_PF_TRACK_OF_PROCESS;
	if (!names->strings || !names->stacks || !names->map.entries ||
	    gt_proto_init(&names->host, 16384) < 0 || gt_proto_init(&names->gpu, 16384) < 0)
		return -ENOMEM;
	return 0;
}

void gt_perfetto_names_fini(struct gt_perfetto_names *names)
{
	gt_memory_unmap(names->strings, names->string_count * sizeof(*names->strings));
	gt_memory_unmap(names->stacks, names->stack_count);
	gt_memory_unmap(names->map.entries, names->map.slots * sizeof(*names->map.entries));
	gt_proto_fini(&names->host);
	gt_proto_fini(&names->gpu);
}

/* ---- numbers for keys without an id ---- */

static struct gt_perfetto_entry *entry_of(const struct gt_perfetto_map *map,
					  const struct gt_perfetto_entry *key)
{
	uint64_t hash = gt_hash_pair(key->a, gt_hash_pair(key->b, (uint64_t)key->kind));

	for (uint32_t i = (uint32_t)hash;; i++) {
		struct gt_perfetto_entry *entry = &map->entries[i & (map->slots - 1)];

		if (!entry->kind ||
		    (entry->kind == key->kind && entry->a == key->a && entry->b == key->b))
			return entry;
	}
}

static bool make_room(struct gt_perfetto_map *map)
{
	struct gt_perfetto_map wider = {.slots = map->slots * 2};

	if (map->used < map->slots / 2)
		return true;
	if (wider.slots > MAX_SLOTS)
		return false;
	wider.entries = gt_memory_map(wider.slots * sizeof(*wider.entries));
	if (!wider.entries)
		return false;
	for (uint32_t i = 0; i < map->slots; i++)
		if (map->entries[i].kind)
			*entry_of(&wider, &map->entries[i]) = map->entries[i];
	gt_memory_unmap(map->entries, map->slots * sizeof(*map->entries));
	map->entries = wider.entries;
	map->slots = wider.slots;
	return true;
}

uint32_t gt_perfetto_number(struct gt_perfetto_names *names, enum gt_perfetto_key kind, uint64_t a,
			    uint64_t b, uint32_t *last, bool *ret_fresh)
{
	struct gt_perfetto_entry key = {.kind = kind, .a = a, .b = b};
	struct gt_perfetto_entry *entry = entry_of(&names->map, &key);

	*ret_fresh = entry->kind == 0;
	if (!*ret_fresh)
		return entry->number;
	key.number = ++*last;
	if (make_room(&names->map)) { /* otherwise the key gets a new number every time */
		*entry_of(&names->map, &key) = key;
		names->map.used++;
	}
	return key.number;
}

/* ---- strings ---- */

struct gt_perfetto_string *gt_perfetto_more_strings(struct gt_perfetto_names *names, uint32_t id)
{
	uint32_t wanted = names->string_count;
	void *rows;

	while (wanted <= id)
		wanted *= 2;
	if (wanted > names->string_count) {
		rows = gt_memory_grow(names->strings, names->string_count * sizeof(*names->strings),
				      wanted * sizeof(*names->strings));
		if (!rows)
			return NULL;
		names->strings = rows;
		names->string_count = wanted;
	}
	return &names->strings[id];
}

static bool is_clean(const char *text, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t step = 1;

	for (size_t i = 0; step && i < size; i += step)
		step = bytes[i] < 0x80 ? 1 : gt_json_utf8_length(bytes + i, size - i);
	return step != 0;
}

/* Text with malformed pieces replaced, as in JSON. */
static void replace_broken(struct gt_proto *data, uint32_t field, const char *text, size_t size)
{
	size_t at = gt_proto_begin(data, field);
	size_t step;

	for (size_t i = 0; i < size && gt_proto_room(data, 4); i += step ? step : 1) {
		step = gt_json_utf8_length((const unsigned char *)text + i, size - i);
		memcpy(data->data + data->length, step ? text + i : "\xef\xbf\xbd",
		       step ? step : 3);
		data->length += step ? step : 3;
	}
	gt_proto_end(data, at);
}

void gt_perfetto_put_clean(struct gt_proto *data, uint32_t field, const char *text, size_t size)
{
	size = gt_json_text_prefix(text, size, MAX_TEXT);
	if (is_clean(text, size))
		gt_proto_bytes(data, field, text, size);
	else
		replace_broken(data, field, text, size);
}

void gt_perfetto_put_text(struct gt_proto *data, uint32_t table, uint64_t iid, const char *text,
			  size_t size)
{
	size_t at = gt_proto_begin(data, table);

	gt_proto_uint(data, GT_PF_IID, iid);
	gt_perfetto_put_clean(data, GT_PF_TEXT, text, size);
	gt_proto_end(data, at);
}

/* True when the string is not in the table yet. */
static bool first_in(struct gt_perfetto *pf, const struct gt_string *string,
		     enum gt_perfetto_table table)
{
	struct gt_perfetto_string *row = gt_perfetto_string(&pf->names, string);

	if (!row)
		return true;
	if (row->written & table)
		return false;
	row->written |= (uint8_t)table;
	return true;
}

static uint64_t put_string(struct gt_perfetto *pf, struct gt_proto *data,
			   const struct gt_string *string, enum gt_perfetto_table table,
			   uint32_t field)
{
	if (!string || !string->length) {
		gt_perfetto_put_text(data, field, NO_NAME_IID, "(no name)", 9);
		return NO_NAME_IID;
	}
	if (first_in(pf, string, table))
		gt_perfetto_put_text(data, field, string->id, string->text, string->length);
	return string->id;
}

uint64_t gt_perfetto_new_name(struct gt_perfetto *pf, const struct gt_string *string)
{
	return put_string(pf, &pf->names.host, string, GT_PERFETTO_NAME, GT_PF_EVENT_NAMES);
}

uint64_t gt_perfetto_value(struct gt_perfetto *pf, const struct gt_string *string, bool on_gpu)
{
	return put_string(pf, on_gpu ? &pf->names.gpu : &pf->names.host, string,
			  on_gpu ? GT_PERFETTO_GPU_VALUE : GT_PERFETTO_HOST_VALUE, GT_PF_STRINGS);
}

/* ---- call stacks ---- */

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Perfetto needs the bytes. False: not a build id. */
static bool put_build_id(struct gt_proto *data, const struct gt_string *build_id)
{
	uint8_t bytes[64];
	uint32_t count = build_id ? build_id->length / 2 : 0;
	size_t at;

	if (count == 0 || count > sizeof(bytes) || build_id->length % 2)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		int high = digit_of(build_id->text[2 * i]),
		    low = digit_of(build_id->text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	at = gt_proto_begin(data, GT_PF_BUILD_IDS);
	gt_proto_uint(data, GT_PF_IID, build_id->id);
	gt_proto_bytes(data, GT_PF_TEXT, bytes, count);
	gt_proto_end(data, at);
	return true;
}

/* The mapping of a module has the number of the string that is its path. */
static uint64_t put_module(struct gt_perfetto *pf, const struct gt_string *module,
			   const struct gt_string *build_id)
{
	struct gt_proto *data = &pf->names.host;
	bool has_build_id;
	size_t at;

	if (!first_in(pf, module, GT_PERFETTO_MODULE))
		return module->id;
	gt_perfetto_put_text(data, GT_PF_MAPPING_PATHS, module->id, module->text, module->length);
	has_build_id = put_build_id(data, build_id);
	at = gt_proto_begin(data, GT_PF_MAPPINGS);
	gt_proto_uint(data, GT_PF_IID, module->id);
	if (has_build_id)
		gt_proto_uint(data, GT_PF_MAPPING_BUILD_ID, build_id->id);
	gt_proto_uint(data, GT_PF_MAPPING_PATH, module->id);
	gt_proto_end(data, at);
	return module->id;
}

static uint32_t frame_kind(const struct gt_stack_frame *frame)
{
	if (frame->kind == GT_FRAME_PYTHON)
		return GT_PF_KIND_INTERPRETED;
	return frame->kind == GT_FRAME_JIT ? GT_PF_KIND_JIT : GT_PF_KIND_NATIVE;
}

static void put_frame(struct gt_perfetto *pf, const struct gt_stack_frame *frame, uint64_t iid)
{
	struct gt_proto *data = &pf->names.host;
	uint64_t function = 0, module = 0, source = 0;
	size_t at;

	if (frame->function)
		function = put_string(pf, data, frame->function, GT_PERFETTO_FUNCTION,
				      GT_PF_FUNCTIONS);
	if (frame->module)
		module = put_module(pf, frame->module, frame->build_id);
	if (frame->file)
		source = put_string(pf, data, frame->file, GT_PERFETTO_SOURCE, GT_PF_SOURCES);
	at = gt_proto_begin(data, GT_PF_FRAMES);
	gt_proto_uint(data, GT_PF_IID, iid);
	if (function)
		gt_proto_uint(data, GT_PF_FRAME_FUNCTION, function);
	if (module)
		gt_proto_uint(data, GT_PF_FRAME_MAPPING, module);
	gt_proto_uint(data, GT_PF_FRAME_PC, frame->offset);
	if (source)
		gt_proto_uint(data, GT_PF_FRAME_SOURCE, source);
	if (frame->line)
		gt_proto_uint(data, GT_PF_FRAME_LINE, frame->line);
	gt_proto_uint(data, GT_PF_FRAME_KIND, frame_kind(frame));
	gt_proto_end(data, at);
}

uint64_t gt_perfetto_frame(struct gt_perfetto *pf, const struct gt_stack_frame *frame)
{
	bool fresh;
	uint32_t iid = gt_perfetto_number(&pf->names, GT_PERFETTO_FRAME, (uintptr_t)frame, 0,
					  &pf->names.frames, &fresh);

	if (fresh)
		put_frame(pf, frame, iid);
	return iid;
}

/* Perfetto needs the outermost frame first. */
static void put_stack(struct gt_perfetto *pf, const struct gt_stack *stack)
{
	struct gt_proto *data = &pf->names.host;
	uint64_t iids[256];
	uint32_t count = stack->count < 256 ? stack->count : 256;
	size_t at;

	for (uint32_t i = 0; i < count; i++)
		iids[i] = gt_perfetto_frame(pf, stack->frames[i]);
	at = gt_proto_begin(data, GT_PF_CALLSTACKS);
	gt_proto_uint(data, GT_PF_IID, stack->id);
	while (count)
		gt_proto_uint(data, GT_PF_CALLSTACK_FRAME, iids[--count]);
	gt_proto_end(data, at);
}

static bool first_stack(struct gt_perfetto_names *names, const struct gt_stack *stack, uint8_t part)
{
	uint32_t wanted = names->stack_count;
	void *rows;

	while (wanted <= stack->id)
		wanted *= 2;
	if (wanted > names->stack_count) {
		rows = gt_memory_grow(names->stacks, names->stack_count, wanted);
		if (!rows)
			return true;
		names->stacks = rows;
		names->stack_count = wanted;
	}
	if (names->stacks[stack->id] & part)
		return false;
	names->stacks[stack->id] |= part;
	return true;
}

uint64_t gt_perfetto_new_stack(struct gt_perfetto *pf, const struct gt_stack *stack)
{
	if (!stack)
		return 0;
	if (first_stack(&pf->names, stack, GT_PERFETTO_STACK_FRAMES)) {
		put_stack(pf, stack);
		gt_ledger_add(&pf->file.output.batch_ledger, GT_LEDGER_STACKS_WRITTEN, 1);
	}
	return stack->id;
}

/* ---- call stacks in one line ---- */

uint64_t gt_perfetto_stack_line(struct gt_perfetto *pf, const struct gt_stack *stack)
{
	struct gt_json line;

	if (!stack || !first_stack(&pf->names, stack, GT_PERFETTO_STACK_LINE))
		return stack ? GT_PF_LINE_IID + stack->id : 0;
	if (gt_json_init(&line, 1024) < 0)
		return 0;
	gt_stack_line(&line, &gt_line_long, stack);
	gt_perfetto_put_text(&pf->names.gpu, GT_PF_STRINGS, GT_PF_LINE_IID + stack->id, line.text,
			     line.length);
	gt_json_fini(&line);
	return GT_PF_LINE_IID + stack->id;
}

/* ---- into the batch ---- */

/* The lengths are known: nothing moves. */
static void put_data(struct gt_perfetto *pf, struct gt_proto *data, uint32_t sequence)
{
	struct gt_proto *batch = &pf->file.batch;
	uint8_t head[4 * GT_PROTO_VARINT], *end = head, *at;

	if (data->failed)
		batch->failed = true;
	if (!data->length)
		return;
	end = gt_proto_put_uint(end, GT_PF_SEQUENCE, gt_perfetto_sequence(pf, sequence));
	end = gt_proto_put_tag(end, GT_PF_INTERNED, GT_PROTO_WIRE_BYTES);
	end = gt_proto_put_varint(end, data->length);
	at = gt_proto_reserve(batch, 2 * GT_PROTO_VARINT + sizeof(head) + data->length);
	if (at) {
		at = gt_proto_put_tag(at, GT_PF_PACKET, GT_PROTO_WIRE_BYTES);
		at = gt_proto_put_varint(at, (size_t)(end - head) + data->length);
		memcpy(at, head, sizeof(head));
		at += end - head;
		memcpy(at, data->data, data->length);
		gt_proto_written(batch, at + data->length);
	}
	gt_proto_cut(data, 0);
}

void gt_perfetto_put_pending(struct gt_perfetto *pf)
{
	put_data(pf, &pf->names.host, GT_PF_SEQUENCE_HOST);
	put_data(pf, &pf->names.gpu, GT_PF_SEQUENCE_GPU);
}
