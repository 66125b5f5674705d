/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose code a frame is, the user's or a library's by its path, module or function (user_code.def),
 * and which frames of a stack "launched by" shows. Pure, any thread.
 */
#ifndef GT_CORE_JSON_CODE_OWNER_H
#define GT_CORE_JSON_CODE_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A part of a frame, not terminated; len 0: not known. */
struct gt_code_text {
	const char *at;
	size_t len;
};

/* What is known of a frame's code. The module counts where the source file is not known. */
struct gt_code {
	struct gt_code_text file, module, function;
	bool nameless; /* function is the address that stands for it */
	uint32_t line; /* 0: not known */
};

/* Whether the user did not write it. */
bool gt_code_is_library(const struct gt_code *code);

/* "std::enable_if<true>::type app::run<int>(float*)" -> from "app" on. */
struct gt_code_text gt_code_qualified(struct gt_code_text function);

/* Whether NVTX ranges of that domain are a library's. */
bool gt_code_is_library_domain(const char *domain);

/* How much a frame tells in one line. */
enum gt_line_class {
	GT_LINE_NAMELESS, /* a library's address */
	GT_LINE_TEMPLATE, /* the instance of a library's template, without a source line */
	GT_LINE_INTERNAL, /* its other C++ functions without one */
	GT_LINE_NAMED,    /* a library's function with a source line, or of C */
	GT_LINE_USER,     /* the user's */
	GT_LINE_USER_AT,  /* the user's, with a source line */
};

/* Of a frame; pure, any thread. */
enum gt_line_class gt_code_line_class(const struct gt_code *code);

/* Limits of a stack in one line; what is left out stands as " < ..." at its end. */
#define GT_LINE_FRAMES 8u
#define GT_LINE_GAP    3u   /* " < " */
#define GT_LINE_LOOK   256u /* frames that are looked at */

/* A frame of a stack and the length of its text. */
struct gt_line_frame {
	enum gt_line_class class;
	size_t length;
};

/* How long a line is. */
struct gt_line_limits {
	size_t frames; /* at most GT_LINE_FRAMES */
	size_t inner;  /* named ones inside the innermost one of the user's */
	size_t bytes;
};

extern const struct gt_line_limits gt_line_long;  /* once for each stack in the file */
extern const struct gt_line_limits gt_line_short; /* on each slice */

/*
 * Chooses the frames to show, innermost first: the innermost one of the user's, some inside it
 * that are named, and the user's outer ones; where none is the user's, up to 3 of the class that
 * tells most. Returns their number. Only the first one, if no other, may be longer than the line.
 */
size_t gt_line_choose(const struct gt_line_limits *limits, const struct gt_line_frame *frames,
		      size_t count, size_t ret_chosen[GT_LINE_FRAMES]);

#endif
