/* SPDX-License-Identifier: Apache-2.0
 *
 * Well-formed UTF-8 (RFC 3629). Pure functions, any thread.
 */
#ifndef GT_READERS_UTF8_H
#define GT_READERS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Length of the character at @p; @left bytes, at least one, are readable. 0: malformed. */
size_t gt_utf8_length(const unsigned char *p, size_t left);

/* Length in bytes of the first @characters of @text, or of all of it if it has fewer. */
size_t gt_utf8_prefix(const char *text, size_t characters);

/* Whether @text is well-formed UTF-8. */
bool gt_utf8_is_valid(const char *text, size_t size);

#endif
