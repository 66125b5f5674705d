/* SPDX-License-Identifier: Apache-2.0
 *
 * A word of a command that is printed for people to copy: a path may hold blanks, quotes, control
 * characters. Pure, any thread.
 */
#ifndef GT_READERS_SHELL_WORD_H
#define GT_READERS_SHELL_WORD_H

/* @word as bash, zsh and ksh read it, in quotes only where it needs them; a file called "-x"
 * becomes
 * "./-x". free(); NULL: no memory. */
char *gt_shell_word(const char *word);

#endif
