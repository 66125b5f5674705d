/* SPDX-License-Identifier: Apache-2.0
 *
 * The tables of offsets, see the header. Rows come from each version's headers, for release builds
 * on 64-bit machines; tests/python/test_layout.py compares them.
 */
#include "collectors/python/layout.h"

#include <stddef.h>
#include <string.h>

#define NONE         GT_PYTHON_NO_FIELD

/* A compact string has two more fields than an ASCII string: a length and a pointer. */
#define COMPACT_MORE 16

#define COMMON_OBJECT                                                                              \
	.object_type = 8, .bytes_size = 16, .bytes_data = 32, .string_length = 16,                 \
	.string_state = 32

#define FRAME_OBJECT                                                                               \
	.entry = GT_PYTHON_ENTRY_ALWAYS, .thread_frame = 24, .cframe_frame = NONE,                 \
	.thread_id = 176, .frame_size = 112, .frame_previous = 24, .frame_code = 32,               \
	.frame_entry = NONE, .frame_owner = NONE, .code_size = 176, .code_filename = 104,          \
	.code_name = 112, .code_first_line = 40, .code_table = 120, .code_bytes = 48,              \
	.code_adaptive = NONE, .string_ascii = 48, .string_compact = 72, COMMON_OBJECT

static const struct gt_python_layout layouts[] = {
	{.version = 0x0308,
	 .table = GT_PYTHON_LNOTAB,
	 .frame_instruction = 104,
	 .instruction_unit = 1,
	 FRAME_OBJECT},
	{.version = 0x0309,
	 .table = GT_PYTHON_LNOTAB,
	 .frame_instruction = 104,
	 .instruction_unit = 1,
	 FRAME_OBJECT},
	{.version = 0x030a,
	 .table = GT_PYTHON_LINETABLE,
	 .frame_instruction = 96,
	 .instruction_unit = 2,
	 FRAME_OBJECT},
	{.version = 0x030b,
	 .table = GT_PYTHON_LOCATIONS,
	 .entry = GT_PYTHON_ENTRY_FLAG,
	 .thread_frame = 56,
	 .cframe_frame = 8,
	 .thread_id = 152,
	 .frame_size = 72,
	 .frame_previous = 48,
	 .frame_code = 32,
	 .frame_instruction = 56,
	 .frame_entry = 68,
	 .frame_owner = 69,
	 .code_size = 192,
	 .code_filename = 112,
	 .code_name = 128,
	 .code_first_line = 72,
	 .code_table = 136,
	 .code_bytes = NONE,
	 .code_adaptive = 184,
	 .string_ascii = 48,
	 .string_compact = 72,
	 COMMON_OBJECT},
	{.version = 0x030c,
	 .table = GT_PYTHON_LOCATIONS,
	 .entry = GT_PYTHON_ENTRY_OWNER,
	 .thread_frame = 56,
	 .cframe_frame = 0,
	 .thread_id = 136,
	 .frame_size = 72,
	 .frame_previous = 8,
	 .frame_code = 0,
	 .frame_instruction = 56,
	 .frame_entry = NONE,
	 .frame_owner = 70,
	 .code_size = 200,
	 .code_filename = 112,
	 .code_name = 128,
	 .code_first_line = 68,
	 .code_table = 136,
	 .code_bytes = NONE,
	 .code_adaptive = 192,
	 .string_ascii = 40,
	 .string_compact = 56,
	 COMMON_OBJECT},
};

/* Words of _Py_DebugOffsets, in order of its fields: word 0 is the cookie, 1 the version. */
#define COOKIE             "xdebugpy"
#define WORD_VERSION       1
#define WORD_FREE_THREADED 2

/* One offset: source and destination. */
struct debug_field {
	uint8_t word;
	uint8_t to; /* in struct gt_python_layout */
};

#define FIELD(number, name)                                                                        \
	{                                                                                          \
		.word = (number), .to = offsetof(struct gt_python_layout, name)                    \
	}

#define DEBUG_FIELDS 19

static const struct {
	uint16_t version;
	struct debug_field fields[DEBUG_FIELDS];
} debug_tables[] = {
	{0x030d,
	 {FIELD(23, thread_frame), FIELD(24, thread_id), FIELD(28, frame_size),
	  FIELD(29, frame_previous), FIELD(30, frame_code), FIELD(31, frame_instruction),
	  FIELD(33, frame_owner), FIELD(34, code_size), FIELD(35, code_filename),
	  FIELD(37, code_name), FIELD(38, code_table), FIELD(39, code_first_line),
	  FIELD(43, code_adaptive), FIELD(45, object_type), FIELD(65, bytes_size),
	  FIELD(66, bytes_data), FIELD(68, string_state), FIELD(69, string_length),
	  FIELD(70, string_ascii)}},
	{0x030e,
	 {FIELD(26, thread_frame), FIELD(27, thread_id), FIELD(31, frame_size),
	  FIELD(32, frame_previous), FIELD(33, frame_code), FIELD(34, frame_instruction),
	  FIELD(36, frame_owner), FIELD(39, code_size), FIELD(40, code_filename),
	  FIELD(42, code_name), FIELD(43, code_table), FIELD(44, code_first_line),
	  FIELD(48, code_adaptive), FIELD(51, object_type), FIELD(75, bytes_size),
	  FIELD(76, bytes_data), FIELD(78, string_state), FIELD(79, string_length),
	  FIELD(80, string_ascii)}},
};

/* No structure that we read is larger. */
#define OFFSET_MAX 4096

/* in the order of struct gt_python_layout, for a version that describes itself; f_code may be None
 * there */
static const struct gt_python_layout described = {
	.table = GT_PYTHON_LOCATIONS,
	.entry = GT_PYTHON_ENTRY_OWNER,
	.cframe_frame = NONE,
	.frame_entry = NONE,
	.code_bytes = NONE,
};

static const char *read_offsets(const struct debug_field *fields, const uint64_t *words,
				struct gt_python_layout *layout)
{
	for (int i = 0; i < DEBUG_FIELDS; i++) {
		uint64_t offset = words[fields[i].word];

		if (offset > OFFSET_MAX)
			return "its debug offsets make no sense";
		memcpy((char *)layout + fields[i].to, &(uint16_t){(uint16_t)offset},
		       sizeof(uint16_t));
	}
	layout->string_compact = layout->string_ascii + COMPACT_MORE;
	return NULL;
}

/* Whether the fields are inside their structures and aligned. */
static bool is_sane(const struct gt_python_layout *l)
{
	uint16_t words = l->thread_frame | l->thread_id | l->frame_previous | l->frame_code |
			 l->frame_instruction | l->code_filename | l->code_name | l->code_table |
			 l->object_type | l->bytes_size | l->string_length;

	return words % 8 == 0 && l->code_first_line % 4 == 0 &&
	       l->frame_previous + 8 <= l->frame_size && l->frame_code + 8 <= l->frame_size &&
	       l->frame_instruction + 8 <= l->frame_size && l->frame_owner < l->frame_size &&
	       l->code_filename + 8 <= l->code_size && l->code_name + 8 <= l->code_size &&
	       l->code_table + 8 <= l->code_size && l->code_first_line + 4 <= l->code_size &&
	       l->code_adaptive <= l->code_size && l->bytes_size < l->bytes_data;
}

static const char *read_debug_offsets(uint32_t hex, const uint64_t *words,
				      struct gt_python_layout *ret_layout)
{
	struct gt_python_layout layout = described;
	const char *why;

	if (memcmp(words, COOKIE, sizeof(words[0])) || words[WORD_VERSION] != hex)
		return "its debug offsets are not where they should be";
	if (words[WORD_FREE_THREADED])
		return "it is a free-threaded build";
	for (size_t i = 0; i < sizeof(debug_tables) / sizeof(debug_tables[0]); i++) {
		if (debug_tables[i].version != hex >> 16)
			continue;
		layout.version = debug_tables[i].version;
		why = read_offsets(debug_tables[i].fields, words, &layout);
		if (why || !is_sane(&layout))
			return why ? why : "its debug offsets make no sense";
		*ret_layout = layout;
		return NULL;
	}
	return "this version is not known";
}

const char *gt_python_layout_find(uint32_t hex, const uint64_t *debug_offsets,
				  struct gt_python_layout *ret_layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != hex >> 16)
			continue;
		*ret_layout = layouts[i];
		return NULL;
	}
	if (hex >> 16 < 0x030d || !debug_offsets)
		return "this version is not known";
	return read_debug_offsets(hex, debug_offsets, ret_layout);
}
