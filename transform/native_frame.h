/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a native frame, without and with a source position. Pure, any thread.
 */
#ifndef GT_TRANSFORM_NATIVE_FRAME_H
#define GT_TRANSFORM_NATIVE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transform/source.h"

/* "function (/path+0x12)" or "/path+0x12". */
struct gt_native_frame {
	const char *text;    /* the whole */
	size_t function_len; /* its first bytes; 0: without a name */
	const char *path;    /* path_len bytes of it */
	size_t path_len;
	uint64_t offset; /* in the module */
};

/* Fills *ret_frame, which points into @text. False: it is no such frame, or of code that tells
 * nothing of a program (gt_frame_is_machinery): with its lines the C library's would be the nearest
 * of a program that has none. */
bool gt_native_frame_parse(const char *text, struct gt_native_frame *ret_frame);

/* The frame with a position: "function (file.cu:42)", with the folders of the file if @whole. To be
 * freed; NULL: no memory. */
char *gt_native_frame_at(const struct gt_native_frame *frame, const struct gt_source_line *line,
			 bool whole);

#endif
