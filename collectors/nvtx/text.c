/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounded lengths and wide characters, see the header.
 */
#include "collectors/nvtx/text.h"

#include <string.h>

#include "core/guest/text.h"

#define UTF8_MAX 4u

size_t gt_nvtx_text_length(const char *text, size_t max, bool *ret_cut)
{
	size_t length = strnlen(text, max + 1);

	*ret_cut = length > max;
	if (!*ret_cut)
		return length;
	length = max;
	for (size_t back = 0; back < UTF8_MAX - 1 && length; back++) {
		if (((unsigned char)text[length] & 0xc0) != 0x80) /* begins a character */
			return length;
		length--;
	}
	return ((unsigned char)text[length] & 0xc0) == 0x80 ? max : length;
}

size_t gt_nvtx_text_from_wide(const wchar_t *text, char *out, size_t max, bool *ret_cut)
{
	size_t length = 0;

	*ret_cut = false;
	for (; *text; text++) {
		char bytes[UTF8_MAX];
		size_t n = gt_text_utf8(bytes, (uint32_t)*text);

		if (length + n > max) {
			*ret_cut = true;
			break;
		}
		memcpy(out + length, bytes, n);
		length += n;
	}
	return length;
}
