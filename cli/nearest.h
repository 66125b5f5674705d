/* SPDX-License-Identifier: Apache-2.0
 *
 * "Did you mean": the word of a list that a mistyped one is nearest to. Any thread.
 */
#ifndef GT_CLI_NEAREST_H
#define GT_CLI_NEAREST_H

#include <stddef.h>

/* The nearest of @count @words to @word by edits (a swap of neighbours is one), or NULL when none
 * is near enough to be meant: more than a third of its letters differ. */
const char *gt_nearest(const char *word, const char *const *words, size_t count);

#endif
