/* SPDX-License-Identifier: Apache-2.0
 *
 * File names with % expressions that are expanded when the program runs:
 *
 *   %q{NAME}  the environment variable NAME     %h  the host, up to its first dot     %%  a %
 *
 * The pattern is trusted, the values are not: bytes other than [A-Za-z0-9._-] become "_", leading
 * dots are removed, the value is cut at 64 bytes, and an empty one becomes "unset". So a value
 * never adds a folder, leads out of one, or hides a name. Any other % is literal. No allocation;
 * any thread.
 */
#ifndef GT_CORE_PATTERN_H
#define GT_CORE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

#define GT_PATTERN_VALUE 64 /* bytes of a value, at most */

/* As getenv. */
typedef const char *(*gt_pattern_lookup)(const char *name);

/* Expands @pattern. -ENAMETOOLONG: longer than @size, *ret_name is cut. */
int gt_pattern_expand(const char *pattern, gt_pattern_lookup lookup, char *ret_name, size_t size);

/* The name of the first variable in @pattern that is not set or empty, in @ret_name, cut at @size.
 * False: each has a value. */
bool gt_pattern_unset(const char *pattern, gt_pattern_lookup lookup, char *ret_name, size_t size);

/* The pattern that expands to @name. -ENAMETOOLONG: longer than @size, *ret_pattern is cut. */
int gt_pattern_escape(const char *name, char *ret_pattern, size_t size);

/* @value as it appears in a name (NULL: not set); @ret_name has GT_PATTERN_VALUE + 1 bytes. */
void gt_pattern_clean(const char *value, char *ret_name);

#endif
