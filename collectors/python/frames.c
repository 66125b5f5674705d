/* SPDX-License-Identifier: Apache-2.0
 *
 * Names and lines of Python frames, see the header: two maps over one arena, from the number of a
 * code object to its strings and from a line of a code object to its frame.
 */
#include "collectors/python/frames.h"

#include <string.h>

#include "collectors/python/codes.h"
#include "collectors/python/lines.h"
#include "collectors/python/python.h"
#include "core/guest/memory.h"

#define FIRST_ENTRIES 1024u

/* UTF-8 needs at most four bytes a character. */
#define NAME_BYTES    (4u * 4096u)

struct python_entry {
	uint64_t word; /* without the entry bit; 0: empty */
	const struct gt_stack_frame *frame;
};

struct gt_python_frames {
	struct gt_intern *strings;
	struct gt_arena arena;
	size_t max_bytes;
	struct python_entry *entries;
	uint32_t size, used; /* size: a power of two, at most half of it used */
	char name[NAME_BYTES];
};

static struct python_entry *find_slot(struct python_entry *entries, uint32_t size, uint64_t word)
{
	uint32_t i = (uint32_t)(word * 0x9e3779b97f4a7c15u >> 32);

	while (entries[i & (size - 1)].word && entries[i & (size - 1)].word != word)
		i++;
	return &entries[i & (size - 1)];
}

struct gt_python_frames *gt_python_frames_new(struct gt_intern *strings, size_t max_bytes)
{
	struct gt_python_frames *frames = gt_memory_map(sizeof(*frames));

	if (!frames)
		return NULL;
	frames->strings = strings;
	frames->max_bytes = max_bytes;
	frames->size = FIRST_ENTRIES;
	frames->entries = gt_memory_map(frames->size * sizeof(frames->entries[0]));
	gt_arena_init(&frames->arena, max_bytes);
	frames->arena.survives = true;
	if (!frames->entries) {
		gt_python_frames_free(frames);
		return NULL;
	}
	return frames;
}

void gt_python_frames_free(struct gt_python_frames *frames)
{
	if (!frames)
		return;
	gt_arena_fini(&frames->arena);
	if (frames->entries)
		gt_memory_unmap(frames->entries, frames->size * sizeof(frames->entries[0]));
	gt_memory_unmap(frames, sizeof(*frames));
}

static bool make_room(struct gt_python_frames *frames)
{
	uint32_t size = frames->size * 2;
	struct python_entry *entries;

	if (frames->used < frames->size / 2)
		return true;
	if (size * sizeof(*entries) > frames->max_bytes)
		return false;
	entries = gt_memory_map(size * sizeof(*entries));
	if (!entries)
		return false;
	for (uint32_t i = 0; i < frames->size; i++)
		if (frames->entries[i].word)
			*find_slot(entries, size, frames->entries[i].word) = frames->entries[i];
	gt_memory_unmap(frames->entries, frames->size * sizeof(*entries));
	frames->entries = entries;
	frames->size = size;
	return true;
}

static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

static uint32_t char_at(const struct gt_python_text *text, uint32_t i)
{
	if (text->width == 1)
		return text->bytes[i];
	if (text->width == 2)
		return ((const uint16_t *)(const void *)text->bytes)[i];
	return ((const uint32_t *)(const void *)text->bytes)[i];
}

/* A byte of a file name that is not UTF-8 is a lone surrogate in Python (PEP 383): it becomes the
 * byte again. Any other invalid character becomes U+FFFD. */
static const struct gt_string *intern_text(struct gt_python_frames *frames,
					   const struct gt_python_text *text)
{
	size_t used = 0;

	for (uint32_t i = 0; i < text->count && used + 4 <= sizeof(frames->name); i++) {
		uint32_t c = char_at(text, i);

		if (c >= 0xdc80 && c <= 0xdcff)
			frames->name[used++] = (char)(c & 0xff);
		else if ((c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
			used += put_utf8(frames->name + used, 0xfffd);
		else
			used += put_utf8(frames->name + used, c);
	}
	return gt_intern_get(frames->strings, frames->name, used);
}

/* The shim that CPython puts below an __init__ called without C (from 3.12 on) is not a function of
 * the program: its file name is "__init__", too. */
static bool is_shim(const struct gt_python_code *code)
{
	return code->first_line == 0 && code->name.count == code->filename.count &&
	       code->name.width == code->filename.width &&
	       !memcmp(code->name.bytes, code->filename.bytes,
		       (size_t)code->name.count * code->name.width);
}

static const struct gt_stack_frame *make_frame(struct gt_python_frames *frames, uint64_t word)
{
	const struct gt_python_code *code = gt_python_codes_at(gt_python_code_of(word));
	int32_t offset = gt_python_offset_of(word);
	struct gt_stack_frame *frame;

	if (!code || is_shim(code))
		return NULL;
	frame = gt_arena_get(&frames->arena, sizeof(*frame));
	if (!frame)
		return NULL;
	if (!code->table || (offset >= 0 && (uint32_t)offset >= code->length))
		offset = -1; /* report the function's first line */
	*frame = (struct gt_stack_frame){
		.kind = GT_FRAME_PYTHON,
		.function = intern_text(frames, &code->name),
		.file = intern_text(frames, &code->filename),
		.line = gt_python_line(code->format, code->table, code->table_size,
				       code->first_line, offset),
	};
	return frame;
}

const struct gt_stack_frame *gt_python_frames_find(struct gt_python_frames *frames, uint64_t word)
{
	struct python_entry *entry;
	const struct gt_stack_frame *frame;

	word &= ~gt_python_pack(0, true, 0);
	if (!gt_python_code_of(word))
		return NULL;
	entry = find_slot(frames->entries, frames->size, word);
	if (entry->word)
		return entry->frame;
	if (!make_room(frames))
		return NULL;
	frame = make_frame(frames, word);
	if (!frame)
		return NULL;
	*find_slot(frames->entries, frames->size, word) =
		(struct python_entry){.word = word, .frame = frame};
	frames->used++;
	return frame;
}
