/* SPDX-License-Identifier: Apache-2.0
 *
 * See utf8.h.
 */
#include "readers/utf8.h"

#include <stdint.h>
#include <string.h>

size_t gt_utf8_length(const unsigned char *p, size_t left)
{
	size_t n = p[0] < 0x80       ? 1
		   : p[0] >> 5 == 6  ? 2
		   : p[0] >> 4 == 14 ? 3
		   : p[0] >> 3 == 30 ? 4
				     : 0;
	uint32_t code;

	if (!n || n > left)
		return 0;
	code = n == 1 ? p[0] : p[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if (p[i] >> 6 != 2)
			return 0;
		code = code << 6 | (p[i] & 0x3f);
	}
	if ((n == 2 && code < 0x80) || (n == 3 && code < 0x800) || (n == 4 && code < 0x10000))
		return 0;
	return code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? 0 : n;
}

/* Skips whole words of ASCII at @p. Returns the number of bytes. */
static size_t skip_ascii(const char *p, size_t left)
{
	size_t n = 0;
	uint64_t word;

	for (; left - n >= sizeof(word); n += sizeof(word)) {
		memcpy(&word, p + n, sizeof(word));
		if (word & 0x8080808080808080u)
			break;
	}
	return n;
}

bool gt_utf8_is_valid(const char *text, size_t size)
{
	for (size_t i = 0, n; i < size; i += n) {
		n = skip_ascii(text + i, size - i);
		if (!n)
			n = gt_utf8_length((const unsigned char *)text + i, size - i);
		if (!n)
			return false;
	}
	return true;
}

size_t gt_utf8_prefix(const char *text, size_t characters)
{
	size_t at = 0, left = strlen(text);

	for (; left && characters; characters--) {
		size_t n = gt_utf8_length((const unsigned char *)text + at, left);

		if (!n)
			break;
		at += n;
		left -= n;
	}
	return at;
}
