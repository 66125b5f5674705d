/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines for people, broken where a terminal ends. Pure but for @out, any thread.
 */
#ifndef GT_READERS_WRAP_H
#define GT_READERS_WRAP_H

#include <stddef.h>
#include <stdio.h>

/* A line as printf() makes it, shown as gt_show() does, with its end. What is wider than @columns
 * characters (0: any number) goes on below, behind @indent blanks; it is broken at blanks, and in a
 * word that is wider than a whole line. */
void gt_wrap_line(FILE *out, size_t columns, size_t indent, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Each line of @text, which can be shown as it is, in the same way; what goes on below stands two
 * characters right of where its line begins. */
void gt_wrap_text(FILE *out, size_t columns, const char *text);

/* Characters, not bytes, of a UTF-8 text. */
size_t gt_wrap_width(const char *text, size_t size);

#endif
