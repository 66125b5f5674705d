/* SPDX-License-Identifier: Apache-2.0
 *
 * Names by pattern: * is any text, ? any byte. Any thread; no allocation, no locale.
 */
#ifndef GT_CORE_WINDOW_GLOB_H
#define GT_CORE_WINDOW_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the whole of @text matches @pattern. Time: the product of their lengths at worst. */
static inline bool gt_glob_has(const char *pattern, size_t pattern_length, const char *text,
			       size_t length)
{
	const char *end = text + length, *last = pattern + pattern_length;
	const char *star = NULL, *tried = NULL;

	while (text < end) {
		if (pattern < last && *pattern == '*') {
			star = pattern++;
			tried = text;
		} else if (pattern < last && (*pattern == '?' || *pattern == *text)) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++tried;
		} else {
			return false;
		}
	}
	while (pattern < last && *pattern == '*')
		pattern++;
	return pattern == last;
}

#endif
