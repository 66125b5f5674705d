/* SPDX-License-Identifier: Apache-2.0
 *
 * Text for people: names and paths are somebody else's words. What a terminal or a page would act
 * on (gt_text_control(): control characters, line breaks, marks that turn the direction of what
 * follows) and what is no UTF-8 never gets through as it is. Pure but for @out, any thread.
 */
#ifndef GT_READERS_SHOW_H
#define GT_READERS_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* On a terminal, or part of a line: '?' stands for what is left out. */
void gt_show(const char *text, FILE *out);

/* A line as printf() makes it, shown as gt_show() does, with its end. */
void gt_show_line(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A JSON string with its quotes: escapes. */
void gt_show_json(const char *text, FILE *out);

/* Text of an XML or HTML element or quoted attribute: blanks. */
void gt_show_xml(const char *text, FILE *out);

/* Text of a Markdown table: blanks. */
void gt_show_markdown(const char *text, FILE *out);

/* One cell of CSV of @size bytes, in quotes where it needs them or if @quoted: '?'. What a
 * spreadsheet would take for a formula gets an apostrophe in front of it; numbers do not. */
void gt_show_csv(const char *text, size_t size, bool quoted, FILE *out);

/* The ending of a noun after its count: "" or "s". */
static inline const char *gt_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

#endif
