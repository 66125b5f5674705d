/* SPDX-License-Identifier: Apache-2.0
 *
 * Well-formed UTF-8 (RFC 3629). Pure functions, any thread.
 */
#ifndef GT_READERS_UTF8_H
#define GT_READERS_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the character at @p, of which @left can be read, at least one; 0: it is none. */
size_t gt_utf8_length(const unsigned char *p, size_t left);

/* Bytes of the first @characters of @text that are whole, or of all of it when it has fewer. */
size_t gt_utf8_prefix(const char *text, size_t characters);

/* Nothing but characters. */
bool gt_utf8_is_valid(const char *text, size_t size);

#endif
