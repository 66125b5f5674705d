/* SPDX-License-Identifier: Apache-2.0
 *
 * --help, man page and completion of a command, made from its table of options. Single-threaded.
 */
#ifndef GT_CLI_HELP_H
#define GT_CLI_HELP_H

#include <stdio.h>

#include "cli/cmdline.h"

/* The help, as wide as the terminal. */
void gt_help_print(const struct gt_cmdline_spec *spec, FILE *out);

/* The man page gputrace-<command>(1). */
void gt_help_print_man(const struct gt_cmdline_spec *spec, FILE *out);

/* What a completion offers, a word and its meaning a line, with a tab between: "--format=csv" for
 * each value that is listed, "--top=" where the value is free. */
void gt_help_print_words(const struct gt_cmdline_spec *spec, FILE *out);

/* Words of @text from column @indent on, wrapped at the terminal's width; then a new line. */
void gt_help_wrap(const char *text, int indent, FILE *out);

/* @left, then @text from column @indent on; on a narrow terminal below it. */
void gt_help_row(const char *left, int indent, const char *text, FILE *out);

/* One option: "  -o, --output=DIR  @text", the text from column 26 on. @argument: NULL for a
 * switch, "[=HZ]" where it may be left out. */
void gt_help_option(const char *name, const char *argument, const char *text, FILE *out);

/* @text as roff takes it. */
void gt_help_roff(const char *text, FILE *out);

#endif
