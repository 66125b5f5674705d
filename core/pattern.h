/* SPDX-License-Identifier: Apache-2.0
 *
 * Names with places for what is known when the program runs:
 *
 *   %q{NAME}  the environment variable NAME     %h  the host, up to its first dot     %%  a %
 *
 * The pattern is the user's, what is put in is not: of a value only [A-Za-z0-9._-] stays, all other
 * bytes become "_", dots at its beginning go, it is cut at 64 bytes, and nothing reads "unset". So
 * a value never adds a folder, leads out of one, or hides a name. Any other % stands for itself. No
 * allocation; any thread.
 */
#ifndef GT_CORE_PATTERN_H
#define GT_CORE_PATTERN_H

#include <stddef.h>

#define GT_PATTERN_VALUE 64 /* most bytes that a value has in a name */

/* As getenv. */
typedef const char *(*gt_pattern_lookup)(const char *name);

/* @pattern with its places filled in. -ENAMETOOLONG: over @size, *ret_name is cut then. */
int gt_pattern_expand(const char *pattern, gt_pattern_lookup lookup, char *ret_name, size_t size);

/* @value as it stands in a name (NULL: not set); @ret_name has GT_PATTERN_VALUE + 1 bytes. */
void gt_pattern_clean(const char *value, char *ret_name);

#endif
