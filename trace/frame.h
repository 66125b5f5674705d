/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts that stand for code: frames of call stacks taken apart, C++ names made short enough for
 * a table. Pure, any thread.
 */
#ifndef GT_TRACE_FRAME_H
#define GT_TRACE_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/code_name/code_name.h"

/* In front of the frames of a forward stack where they stand for what its backward pass launched
 * (trace/user_code.h). */
#define GT_FRAME_BACKWARD "backward of "

/* In front of what stands aside in a text: it goes first where there is no room. */
#define GT_FRAME_ASIDE    "; last launch "

/* "backward of ", or "" for any other frame. */
const char *gt_frame_backward(const char *text);

struct gt_frame { /* pieces of the frame's text, not terminated; len 0: not known */
	const char *function, *file, *module;
	size_t function_len, file_len, module_len;
	long line; /* 0: not known */
};

/*
 * Understands "function (module)", "function (module+0x1a2b)", "function (file.cu:42)",
 * "module+0x1a2b" (gputrace) and "file.py(12): function" (Kineto).
 */
void gt_frame_parse(const char *text, struct gt_frame *ret_frame);

/* Whether code of the module @path stands between a program and its calls and tells nothing of it:
 * libc, libffi, Python's ctypes, and gputrace's own wrappers. */
bool gt_frame_is_machinery(const char *path);

/* A frame for people: "function (module)" without the module's folder and the offset in it, so that
 * all calls out of a function are one; with a source line as it is. Returns the length. */
size_t gt_frame_print(const char *text, char *out, size_t size);

/*
 * Shortens a demangled name for @width characters (0: no limit) by what its parts mean
 * (code_name.h); what is still longer loses its middle. Behind a frame's stays its place, without
 * the folder; of a stack each frame, and what is too long loses its outermost frames.
 * @out holds @size bytes, terminated. Other names come out as they are.
 */
void gt_frame_shorten(const char *name, size_t width, char *out, size_t size);

/* Whether a text is more than one frame: "f (a.cu:1) < g (b.cu:2)". */
bool gt_frame_is_stack(const char *text);

/* The same of one name whose parts (of gt_frame_parts) were told apart from others. */
void gt_frame_shorten_parts(struct gt_code_name *parts, const char *name, size_t width, char *out,
			    size_t size);

/* The parts of a name or frame without its place. NULL: no memory. */
struct gt_code_name *gt_frame_parts(const char *name);

/* Whether @text (@length bytes) is a form that the name may get, whatever of it was left out. */
bool gt_frame_fits(const char *name, const char *text, size_t length);

/* The same for stacks that have their first @common frames in common: where the width does not
 * allow all, of those only the innermost is kept, and the first that they do not have in common,
 * even if it is too long. */
void gt_frame_shorten_branch(const char *stack, size_t common, size_t width, char *out,
			     size_t size);

/* A text with frames in it, for @width characters: what is longer loses the folders of its places,
 * words between frames, what stands aside, then its middle. */
void gt_frame_fit(const char *text, size_t width, char *out, size_t size);

/* A place of idle time, "f (a.cu:1), after a call in g up to a call in h", whose names may have
 * kilobytes: each of more than 96 bytes loses what means little. */
void gt_frame_shorten_place(const char *where, char *out, size_t size);

/* What a kernel or function does: its name without parameters, and of its template arguments only
 * functors. */
void gt_frame_essence(const char *name, char *out, size_t size);

/* How many frames two stacks have in common, from the innermost on. */
size_t gt_frame_common(const char *a, const char *b);

/* A stack with all template arguments: for those that the short form makes equal. */
void gt_frame_shorten_less(const char *name, size_t width, char *out, size_t size);

/* Whether two frames' texts are of the same function. Their places in it may differ. */
bool gt_frame_same_function(const char *a, const char *b);

#endif
