/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets into CPython's structures that make up a stack. 3.8 to 3.12 are known by version; 3.13
 * and later publish their offsets (_Py_DebugOffsets at the start of _PyRuntime). Any thread; pure
 * functions.
 */
#ifndef GT_COLLECTORS_PYTHON_LAYOUT_H
#define GT_COLLECTORS_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

/* A field that this version does not have. */
#define GT_PYTHON_NO_FIELD    UINT16_MAX

/* Words of the longest known _Py_DebugOffsets. */
#define GT_PYTHON_DEBUG_WORDS 100

/* How a code object maps instructions to lines. */
enum gt_python_table {
	GT_PYTHON_LNOTAB,    /* to 3.9 */
	GT_PYTHON_LINETABLE, /* 3.10, PEP 626 */
	GT_PYTHON_LOCATIONS, /* from 3.11 on */
	GT_PYTHON_TABLE_COUNT_
};

/* How to recognize the Python frame with which an evaluation loop in C was entered. */
enum gt_python_entry {
	GT_PYTHON_ENTRY_ALWAYS, /* to 3.10: one loop per frame */
	GT_PYTHON_ENTRY_FLAG,   /* 3.11: a flag in the frame */
	GT_PYTHON_ENTRY_OWNER,  /* from 3.12 on: followed by a frame of the loop itself */
};

/* Offsets of CPython's structures in one version. */
struct gt_python_layout {
	uint16_t version; /* 0x030b */
	enum gt_python_table table;
	enum gt_python_entry entry;
	/* PyThreadState */
	uint16_t thread_frame; /* the innermost frame, or (3.11, 3.12) its _PyCFrame */
	uint16_t cframe_frame; /* _PyCFrame; NO_FIELD: there is none */
	uint16_t thread_id;    /* pthread_self() of its thread */
	/* PyFrameObject, _PyInterpreterFrame */
	uint16_t frame_size;
	uint16_t frame_previous;
	uint16_t frame_code;
	uint16_t frame_instruction; /* 3.8 to 3.10: an int in units; later: a pointer into the
				     * code */
	uint16_t instruction_unit;  /* bytes; 0: it is a pointer */
	uint16_t frame_entry;       /* bool is_entry */
	uint16_t frame_owner;       /* char */
	/* PyCodeObject */
	uint16_t code_size;
	uint16_t code_filename;
	uint16_t code_name; /* the qualified name, as far as the version has it there */
	uint16_t code_first_line;
	uint16_t code_table;    /* bytes object */
	uint16_t code_bytes;    /* co_code, a bytes object; NO_FIELD: the code is inline: */
	uint16_t code_adaptive; /* the first instruction */
	/* PyObject, PyBytesObject, PyASCIIObject, PyCompactUnicodeObject */
	uint16_t object_type;
	uint16_t bytes_size, bytes_data;
	uint16_t string_length, string_state, string_ascii, string_compact;
};

/* What is compared of a frame and of its code object at each capture. */
struct gt_python_offsets {
	uint16_t code, instruction, previous;
	uint16_t kind; /* a byte that tells entries and loops, or any other byte */
	uint16_t type, table, name, filename, first_line;
	uint16_t bytes_size, bytes_data;
};

/* Those of a layout. */
static inline struct gt_python_offsets gt_python_offsets_of(const struct gt_python_layout *layout)
{
	return (struct gt_python_offsets){
		.code = layout->frame_code,
		.instruction = layout->frame_instruction,
		.previous = layout->frame_previous,
		.kind = layout->entry == GT_PYTHON_ENTRY_FLAG    ? layout->frame_entry
			: layout->entry == GT_PYTHON_ENTRY_OWNER ? layout->frame_owner
								 : layout->frame_code,
		.type = layout->object_type,
		.table = layout->code_table,
		.name = layout->code_name,
		.filename = layout->code_filename,
		.first_line = layout->code_first_line,
		.bytes_size = layout->bytes_size,
		.bytes_data = layout->bytes_data,
	};
}

/* The layout of the version @hex (PY_VERSION_HEX). @debug_offsets: the first GT_PYTHON_DEBUG_WORDS
 * words of _PyRuntime, used from 3.13 on. NULL on success, else a short reason. */
const char *gt_python_layout_find(uint32_t hex, const uint64_t *debug_offsets,
				  struct gt_python_layout *ret_layout);

#endif
