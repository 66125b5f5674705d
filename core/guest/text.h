/* SPDX-License-Identifier: Apache-2.0
 *
 * Formatting without stdio, locale or allocation. Any thread, async-signal-safe.
 */
#ifndef GT_CORE_GUEST_TEXT_H
#define GT_CORE_GUEST_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal digits of @value at @out (20 bytes are always enough). Returns how many. */
size_t gt_text_decimal(char *out, uint64_t value);

/* Lower-case hexadecimal digits of @value (16 are always enough). Returns how many. */
size_t gt_text_hex(char *out, uint64_t value);

/* @value with up to 9 significant digits, as in JSON ("0.25", "1.5e-7"); "nan", "inf", "-inf" are
 * not JSON. 24 bytes are always enough. Returns how many. */
size_t gt_text_real(char *out, double value);

/* @code_point as UTF-8, 1 to 4 bytes; an invalid one becomes U+FFFD. Returns how many. */
size_t gt_text_utf8(char *out, uint32_t code_point);

/*
 * The subset of snprintf that the tracer needs: %s %d %u %ld %lu %lx %x %c %%, no widths. Always
 * zero-terminates when @size > 0. Returns the length written (cut, not what it would have been).
 */
size_t gt_text_format(char *out, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
size_t gt_text_vformat(char *out, size_t size, const char *format, va_list args);

/* Length of the character at @text if a terminal or an editor would act on it instead of showing
 * it: a control character (C0, DEL; C1 in UTF-8), a line separator, or a mark that turns the
 * direction of text (Unicode's Bidi_Control); 0: none. */
size_t gt_text_control(const char *text);

/* Replaces each byte of control characters in @text (@size bytes, zero-terminated) by @mark. */
static inline void gt_text_clean(char *text, size_t size, char mark)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] >= ' ' && text[i] < 0x7f)
			continue;
		for (size_t n = gt_text_control(text + i); n; n--)
			text[i + n - 1] = mark;
	}
}

/* Parses an unsigned decimal; *ret_end is the first byte after it. -EINVAL: no digit; -ERANGE: over
 * uint64. */
int gt_text_parse_u64(const char *text, const char **ret_end, uint64_t *ret_value);

/* Parses a size, "4096", "4K", "4M", "4G", "4MiB", "4MB": all binary. Likewise; -ERANGE: over
 * 2^63. */
int gt_text_parse_size(const char *text, const char **ret_end, uint64_t *ret_value);

#endif
